//! Transfer of evaluations from Python's arrays into the trees.

use super::{Core, SearchOf};
use crate::game::{rows, search_error, Binding};
use moemcts_tree::{SearchError, State};
use numpy::{PyReadonlyArray2, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Batch size from which the interpreter is released while evaluations are backed up, so that another batch can be
/// evaluated meanwhile; releasing and reacquiring it takes a microsecond.
const WORTH_LEAVING: usize = 128;

type Evaluations<'py> = (PyReadonlyArray2<'py, f32>, PyReadonlyArrayDyn<'py, f32>);

/// Returns logits and value as arrays; raises ValueError describing what was passed otherwise.
pub fn arrays<'py>(logits: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<Evaluations<'py>> {
    let wrong = |what: &str, object: &Bound<'_, PyAny>| {
        PyValueError::new_err(format!("expected {what} as a float32 array, got {}", kind(object)))
    };
    let logits = logits.extract().map_err(|_| wrong("logits [N, A]", logits))?;
    let value = match value.extract::<PyReadonlyArrayDyn<'py, f32>>() {
        Ok(value) if (1..=2).contains(&value.as_array().ndim()) => value,
        _ => return Err(wrong("value [N] or [N, P]", value)),
    };
    Ok((logits, value))
}

/// Describes an object briefly: the elements of an array would fill pages without telling its type.
fn kind(object: &Bound<'_, PyAny>) -> String {
    match object.cast::<PyUntypedArray>() {
        Ok(array) => format!("{} {:?}", array.dtype(), array.shape()),
        Err(_) => object.get_type().to_string(),
    }
}

impl<B: Binding> Core<B> {
    pub fn backup(
        &mut self,
        py: Python<'_>,
        evaluations: Evaluations<'_>,
        given: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()>
    where
        SearchOf<B>: Send,
        <B::State as State>::Error: Send,
    {
        let (logits, value) = (evaluations.0.as_array(), evaluations.1.as_array());
        let given = given.map(waiting).transpose()?.unwrap_or_else(|| self.selected.clone().collect());
        if logits.nrows() != given.len() || value.shape().first() != Some(&given.len()) {
            return Err(PyValueError::new_err(format!(
                "expected logits and value for {} views, got shapes {:?} and {:?}",
                given.len(),
                logits.shape(),
                value.shape()
            )));
        }
        if logits.ncols() != self.search.config.num_actions {
            return Err(PyValueError::new_err(format!(
                "expected logits of {} actions, got {}",
                self.search.config.num_actions,
                logits.ncols()
            )));
        }
        if value.ndim() == 2 && value.len() != given.len() * self.num_players {
            return Err(PyValueError::new_err(format!(
                "expected value [{n}] or [{n}, {players}], got shape {shape:?}",
                n = given.len(),
                players = self.num_players,
                shape = value.shape()
            )));
        }
        // A value for the viewer only becomes a row of one column.
        let value = value
            .to_shape((given.len(), value.len() / given.len().max(1)))
            .map_err(|e| PyValueError::new_err(e.to_string()))?;
        let num_values = value.ncols().min(self.num_players);
        let (search, num_rows) = (&mut self.search, given.len());
        let receive = || -> Result<(), SearchError<<B::State as State>::Error>> {
            let mut values = Vec::with_capacity(num_values);
            for (i, row) in given.into_iter().enumerate() {
                values.clear();
                values.extend((0..num_values).map(|k| value[[i, k]]));
                // Only the logits of legal moves are read, in place.
                match logits.row(i).to_slice() {
                    Some(logits) => search.receive(row, |action| logits[action as usize], &values)?,
                    None => search.receive(row, |action| logits[[i, action as usize]], &values)?,
                }
            }
            Ok(())
        };
        let received = if B::IS_NATIVE && num_rows >= WORTH_LEAVING { py.detach(receive) } else { receive() };
        received.map_err(search_error)
    }
}

/// Returns row numbers given as an array or a list; raises ValueError for negative numbers.
fn waiting(object: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let row = |number: i64| {
        usize::try_from(number)
            .map_err(|_| PyValueError::new_err(format!("row {number} waits for no evaluation, numbers are from 0 on")))
    };
    rows(object)?.into_iter().map(row).collect()
}
