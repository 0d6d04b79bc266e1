//! Cross-entropy of policies on the CPU, on arrays that share the memory of PyTorch tensors.

use moemcts_learn::{Bf16, Losses, Number, Policies, Targets};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Logits `[N, A]` as float32, or as the bits of bfloat16.
#[derive(FromPyObject)]
pub enum Logits<'py> {
    Single(PyReadonlyArray2<'py, f32>),
    Brain(PyReadonlyArray2<'py, Bf16>),
}

/// The output array of a gradient, `[N, A]` with the dtype of the logits.
#[derive(FromPyObject)]
pub enum Gradient<'py> {
    Single(PyReadwriteArray2<'py, f32>),
    Brain(PyReadwriteArray2<'py, Bf16>),
}

/// One number per row, `[N]`.
type Column<'py> = Bound<'py, PyArray1<f32>>;
/// One action per row, `[N]`.
type Actions<'py> = Bound<'py, PyArray1<i64>>;
/// The offsets of the rows, `[N + 1]`, their actions, and the target probabilities of these.
type Shares<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, f32>);

/// Returns for each row: `-log p(action)` weighted by the target probabilities, the first action with the largest
/// logit, the first with the largest target probability, the largest logit, and log-sum-exp of the logits minus the
/// largest.
#[pyfunction]
pub fn cross_entropy<'py>(
    py: Python<'py>,
    logits: Logits<'py>,
    targets: Shares<'py>,
    num_threads: usize,
) -> PyResult<(Column<'py>, Actions<'py>, Actions<'py>, Column<'py>, Column<'py>)> {
    let losses = match &logits {
        Logits::Single(logits) => losses(py, logits, &targets, num_threads)?,
        Logits::Brain(logits) => losses(py, logits, &targets, num_threads)?,
    };
    let column = |numbers| PyArray1::from_vec(py, numbers);
    let actions = |numbers| PyArray1::from_vec(py, numbers);
    let (best, target_actions) = (actions(losses.best), actions(losses.target_actions));
    Ok((column(losses.losses), best, target_actions, column(losses.largest), column(losses.log_sums)))
}

/// Writes the gradient of the sum over rows of `factors` times the cross-entropy into `out`; `sums` are the last two
/// columns of `cross_entropy`.
#[pyfunction]
pub fn cross_entropy_gradient<'py>(
    py: Python<'py>,
    logits: Logits<'py>,
    targets: Shares<'py>,
    sums: (PyReadonlyArray1<'py, f32>, PyReadonlyArray1<'py, f32>),
    factors: PyReadonlyArray1<'py, f32>,
    out: Gradient<'py>,
    num_threads: usize,
) -> PyResult<()> {
    let (largest, log_sums, factors) = (sums.0.as_slice()?, sums.1.as_slice()?, factors.as_slice()?);
    match (&logits, out) {
        (Logits::Single(logits), Gradient::Single(mut out)) => {
            let (policies, out) = (policies(logits, &targets)?, out.as_slice_mut()?);
            py.detach(|| moemcts_learn::gradient(policies, largest, log_sums, factors, out, num_threads))
        }
        (Logits::Brain(logits), Gradient::Brain(mut out)) => {
            let (policies, out) = (policies(logits, &targets)?, out.as_slice_mut()?);
            py.detach(|| moemcts_learn::gradient(policies, largest, log_sums, factors, out, num_threads))
        }
        _ => Err("expected a gradient of as many bits as the logits".to_owned()),
    }
    .map_err(PyValueError::new_err)
}

fn losses<'py, T: Number + numpy::Element>(
    py: Python<'py>,
    logits: &PyReadonlyArray2<'py, T>,
    targets: &Shares<'py>,
    num_threads: usize,
) -> PyResult<Losses> {
    let policies = policies(logits, targets)?;
    Ok(py.detach(|| moemcts_learn::losses(policies, num_threads)))
}

fn policies<'a, T: Number + numpy::Element>(
    logits: &'a PyReadonlyArray2<'_, T>,
    (offsets, actions, shares): &'a Shares<'_>,
) -> PyResult<Policies<'a, T>> {
    let (numbers, num_actions) = (logits.as_slice()?, logits.shape()[1]);
    Targets::new(offsets.as_slice()?, actions.as_slice()?, shares.as_slice()?)
        .and_then(|targets| Policies::new(numbers, targets, num_actions))
        .map_err(PyValueError::new_err)
}
