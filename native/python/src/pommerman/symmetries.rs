//! The symmetries of the board, for data augmentation.

use super::value_error;
use moemcts_pommerman::planes::NUM_PLANES;
use moemcts_pommerman::symmetry;
use numpy::{PyArray1, PyArray4, PyArrayMethods, PyReadonlyArray4, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// The planes `[N, 23, n, n]` of the images of states under a symmetry, 0 to 7.
#[pyfunction]
pub fn pommerman_transform<'py>(
    py: Python<'py>,
    number: usize,
    planes: PyReadonlyArray4<'py, f32>,
) -> PyResult<Bound<'py, PyArray4<f32>>> {
    check_symmetry(number)?;
    let shape: [usize; 4] = planes.shape().try_into()?;
    let [_, num_planes, rows, columns] = shape;
    if num_planes != NUM_PLANES || rows != columns || !matches!(rows, 8 | 11) {
        return Err(value_error(format!("expected planes [N, {NUM_PLANES}, n, n] with n = 8 or 11, got {shape:?}")));
    }
    let values = planes.as_slice()?;
    let mut out = vec![0.0; values.len()];
    let cells = NUM_PLANES * rows * rows;
    py.detach(|| {
        for (from, to) in values.chunks_exact(cells).zip(out.chunks_exact_mut(cells)) {
            symmetry::planes(number, rows as u8, from, to);
        }
    });
    PyArray1::from_vec(py, out).reshape(shape)
}

/// The image of each action under a symmetry, 0 to 7.
#[pyfunction]
pub fn pommerman_transform_actions(number: usize) -> PyResult<Vec<u32>> {
    check_symmetry(number)?;
    Ok(symmetry::actions(number).map(u32::from).to_vec())
}

pub(crate) fn check_symmetry(number: usize) -> PyResult<()> {
    match number {
        0..symmetry::NUM_SYMMETRIES => Ok(()),
        _ => Err(value_error(format!("expected a symmetry below {}, got {number}", symmetry::NUM_SYMMETRIES))),
    }
}
