//! Transfer of evaluations from Python's arrays into the trees.

use super::{SearchCore, SearchOf};
use crate::game::{parse_rows, search_error, Binding};
use moemcts_tree::{SearchError, State};
use numpy::ndarray::Dimension;
use numpy::{
    PyArrayMethods, PyReadonlyArray, PyReadonlyArray2, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Batch size from which the interpreter is released while evaluations are backed up, so that another batch can be
/// evaluated meanwhile; releasing and reacquiring it takes a microsecond.
const MIN_ROWS_TO_DETACH: usize = 128;

type Evaluations<'py> = (PyReadonlyArray2<'py, f32>, PyReadonlyArrayDyn<'py, f32>);

/// Returns logits and value as arrays; raises ValueError describing what was passed otherwise.
pub fn arrays<'py>(logits: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<Evaluations<'py>> {
    let type_error = |what: &str, object: &Bound<'_, PyAny>| {
        PyValueError::new_err(format!("expected {what} as an aligned float32 array, got {}", describe(object)))
    };
    let logits = match logits.extract::<PyReadonlyArray2<'py, f32>>() {
        Ok(logits) if is_aligned(&logits) => logits,
        _ => return Err(type_error("logits [N, A]", logits)),
    };
    let value = match value.extract::<PyReadonlyArrayDyn<'py, f32>>() {
        Ok(value) if (1..=2).contains(&value.ndim()) && is_aligned(&value) => value,
        _ => return Err(type_error("value [N] or [N, P]", value)),
    };
    Ok((logits, value))
}

/// Returns whether the numbers lie at multiples of their size, unlike fields of packed records, which `as_array` would
/// read from other places.
fn is_aligned<D: Dimension>(array: &PyReadonlyArray<'_, f32, D>) -> bool {
    let is_multiple = |bytes: usize| bytes.is_multiple_of(size_of::<f32>());
    is_multiple(array.data() as usize) && array.strides().iter().all(|stride| is_multiple(stride.unsigned_abs()))
}

/// Describes an object briefly: the elements of an array would fill pages without telling its type.
fn describe(object: &Bound<'_, PyAny>) -> String {
    match object.cast::<PyUntypedArray>() {
        Ok(array) => format!("{} {:?}", array.dtype(), array.shape()),
        Err(_) => object.get_type().to_string(),
    }
}

impl<B: Binding> SearchCore<B> {
    pub fn backup(
        &mut self,
        py: Python<'_>,
        evaluations: Evaluations<'_>,
        rows: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()>
    where
        SearchOf<B>: Send,
        <B::State as State>::Error: Send,
    {
        let (logits, value) = (evaluations.0.as_array(), evaluations.1.as_array());
        let rows = rows.map(parse_pending_rows).transpose()?.unwrap_or_else(|| self.selected.clone().collect());
        if logits.nrows() != rows.len() || value.shape().first() != Some(&rows.len()) {
            return Err(PyValueError::new_err(format!(
                "expected logits and value for {} views, got shapes {:?} and {:?}",
                rows.len(),
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
        if value.ndim() == 2 && value.len() != rows.len() * self.num_players {
            return Err(PyValueError::new_err(format!(
                "expected value [{n}] or [{n}, {players}], got shape {shape:?}",
                n = rows.len(),
                players = self.num_players,
                shape = value.shape()
            )));
        }
        // A value for the viewer only becomes a row of one column.
        let value = value
            .to_shape((rows.len(), value.len() / rows.len().max(1)))
            .map_err(|e| PyValueError::new_err(e.to_string()))?;
        let num_values = value.ncols().min(self.num_players);
        let (search, num_rows) = (&mut self.search, rows.len());
        let add_evaluations = || -> Result<(), SearchError<<B::State as State>::Error>> {
            let mut values = Vec::with_capacity(num_values);
            for (i, row) in rows.into_iter().enumerate() {
                values.clear();
                values.extend((0..num_values).map(|k| value[[i, k]]));
                // Only the logits of legal moves are read, in place.
                match logits.row(i).to_slice() {
                    Some(logits) => search.add_evaluation(row, |action| logits[action as usize], &values)?,
                    None => search.add_evaluation(row, |action| logits[[i, action as usize]], &values)?,
                }
            }
            Ok(())
        };
        let result =
            if B::IS_NATIVE && num_rows >= MIN_ROWS_TO_DETACH { py.detach(add_evaluations) } else { add_evaluations() };
        result.map_err(search_error)
    }
}

/// Returns row numbers given as an array or a list; raises ValueError for negative numbers.
fn parse_pending_rows(object: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let row = |number: i64| {
        usize::try_from(number)
            .map_err(|_| PyValueError::new_err(format!("row {number} waits for no evaluation, numbers are from 0 on")))
    };
    parse_rows(object)?.into_iter().map(row).collect()
}
