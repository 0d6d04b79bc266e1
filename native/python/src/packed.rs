//! Gathers rows of packed positions from several arrays into one.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

/// The bytes of several rows, and their offsets.
type Gathered<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<i64>>);

/// Returns rows of packed positions as bytes and offsets: row `i` is row `rows[i]` of part `parts[i]`.
///
/// A part is its data and its offsets. Releases the interpreter, as parts may be on a disk.
#[pyfunction]
pub fn gather_rows<'py>(
    py: Python<'py>,
    data: Vec<PyReadonlyArray1<'py, u8>>,
    offsets: Vec<PyReadonlyArray1<'py, i64>>,
    parts: PyReadonlyArray1<'py, i64>,
    rows: PyReadonlyArray1<'py, i64>,
) -> PyResult<Gathered<'py>> {
    let data = data.iter().map(PyReadonlyArray1::as_slice).collect::<Result<Vec<_>, _>>()?;
    let offsets = offsets.iter().map(PyReadonlyArray1::as_slice).collect::<Result<Vec<_>, _>>()?;
    let (parts, rows) = (parts.as_slice()?, rows.as_slice()?);
    if parts.len() != rows.len() || data.len() != offsets.len() {
        return Err(PyValueError::new_err("expected one part per row, and offsets for each part's data"));
    }
    let (bytes, starts) = py.detach(|| gather(&data, &offsets, parts, rows)).map_err(PyIndexError::new_err)?;
    Ok((PyArray1::from_vec(py, bytes), PyArray1::from_vec(py, starts)))
}

fn gather(data: &[&[u8]], offsets: &[&[i64]], parts: &[i64], rows: &[i64]) -> Result<(Vec<u8>, Vec<i64>), String> {
    let mut pieces = Vec::with_capacity(rows.len());
    let mut starts = Vec::with_capacity(rows.len() + 1);
    starts.push(0);
    let mut total = 0;
    for (&part, &row) in parts.iter().zip(rows) {
        let piece = find_row(data, offsets, part, row)
            .ok_or_else(|| format!("expected a row of a part, got row {row} of part {part}"))?;
        total += piece.len();
        pieces.push(piece);
        starts.push(total as i64);
    }
    let mut bytes = Vec::with_capacity(total);
    for piece in pieces {
        bytes.extend_from_slice(piece);
    }
    Ok((bytes, starts))
}

fn find_row<'a>(data: &[&'a [u8]], offsets: &[&[i64]], part: i64, row: i64) -> Option<&'a [u8]> {
    let part = usize::try_from(part).ok()?;
    let row = usize::try_from(row).ok()?;
    let part_offsets = offsets.get(part)?;
    let first = usize::try_from(*part_offsets.get(row)?).ok()?;
    let last = usize::try_from(*part_offsets.get(row + 1)?).ok()?;
    data.get(part)?.get(first..last)
}

#[cfg(test)]
mod tests {
    use super::gather;

    const DATA: [&[u8]; 2] = [b"abc", b"defg"];
    const OFFSETS: [&[i64]; 2] = [&[0, 1, 3], &[0, 0, 4]];

    #[test]
    fn rows_come_in_the_order_asked_for() {
        let found = gather(&DATA, &OFFSETS, &[1, 0, 0, 1], &[1, 1, 0, 0]).unwrap();
        assert_eq!(found, (b"defgbca".to_vec(), vec![0, 4, 6, 7, 7]));
    }

    #[test]
    fn what_is_no_row_is_an_error() {
        for (part, row) in [(2, 0), (0, 2), (-1, 0), (0, -1)] {
            assert!(gather(&DATA, &OFFSETS, &[part], &[row]).is_err());
        }
        assert!(gather(&DATA, &[&[0, 9], &[2, 1]], &[0], &[0]).is_err());
        assert!(gather(&DATA, &[&[0, 9], &[2, 1]], &[1], &[0]).is_err());
    }
}
