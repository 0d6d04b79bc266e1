//! Syzygy endgame tablebases of the chess family.

use std::path::PathBuf;

use moemcts_chess::{Rules, Tables};
use numpy::PyArray1;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::chess::{ChessRules, ChessState, ChessViews};

/// The Syzygy tables of one variant in one or more folders.
#[pyclass(frozen, module = "moemcts._core")]
pub struct ChessTables {
    tables: Tables,
    num_files: usize,
    rules: Rules,
    folders: Vec<PathBuf>,
}

#[pymethods]
impl ChessTables {
    /// Raises ValueError if the variant has no tables, OSError naming a folder that cannot be read.
    #[new]
    fn new(rules: &ChessRules, folders: Vec<PathBuf>) -> PyResult<Self> {
        let variant = rules.0.variant;
        let mut tables = Tables::of(variant)
            .ok_or_else(|| PyValueError::new_err(format!("there are no Syzygy tables for {}", variant.name)))?;
        let mut num_files = 0;
        for folder in &folders {
            num_files +=
                tables.add(folder).map_err(|error| PyOSError::new_err(format!("{}: {error}", folder.display())))?;
        }
        Ok(Self { tables, num_files, rules: rules.0, folders })
    }

    fn __getnewargs__(&self) -> (ChessRules, &[PathBuf]) {
        (ChessRules(self.rules), &self.folders)
    }

    /// The number of table files of the variant.
    #[getter]
    fn num_files(&self) -> usize {
        self.num_files
    }

    /// The largest number of pieces of any table.
    #[getter]
    fn max_pieces(&self) -> usize {
        self.tables.max_pieces()
    }

    /// Returns the result for each viewer, 1, 0 or -1, or NaN if the tables do not determine it, `[N]`.
    fn values<'py>(&self, py: Python<'py>, views: &ChessViews) -> Bound<'py, PyArray1<f32>> {
        let values: Vec<f32> = py.detach(|| {
            let value_for = |(state, player): &(moemcts_chess::Chess, usize)| {
                let value = self.tables.value(state)?;
                let is_to_move = moemcts_chess::state::player(state.turn()) == *player;
                Some(if is_to_move { value } else { -value })
            };
            views.0.iter().map(|view| value_for(view).unwrap_or(f32::NAN)).collect()
        });
        PyArray1::from_vec(py, values)
    }

    /// Returns (action, wdl from -2 to 2, plies to a capture or pawn move) of each legal move, best first.
    ///
    /// None if a table is missing.
    fn ranked(&self, py: Python<'_>, state: &ChessState) -> Option<Vec<(u32, i8, i32)>> {
        let ranked = py.detach(|| self.tables.ranked(&state.0))?;
        Some(ranked.into_iter().map(|entry| (state.0.action(entry.action), entry.wdl, entry.dtz)).collect())
    }
}
