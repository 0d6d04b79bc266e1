//! Alpha-beta search on views of the chess family.

use crate::chess::ChessViews;
use crate::interruption::Interruption;
use moemcts_chess::alpha_beta::{search, Limits};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::time::Duration;

#[pymethods]
impl ChessViews {
    /// Returns, for each view, the action, its score in centipawns for the side to move, the depth reached and the
    /// nodes.
    #[pyo3(signature = (*, depth=None, nodes=None, seconds=None))]
    fn alpha_beta(
        &self,
        py: Python<'_>,
        depth: Option<u32>,
        nodes: Option<u64>,
        seconds: Option<f64>,
    ) -> PyResult<Vec<(u32, i32, u32, u64)>> {
        let is_invalid = seconds.is_some_and(|seconds| !seconds.is_finite() || seconds < 0.0);
        if depth == Some(0) || nodes == Some(0) || is_invalid || (depth, nodes, seconds) == (None, None, None) {
            return Err(PyValueError::new_err(format!(
                "expected a limit above 0: depth, nodes or seconds, got depth={depth:?}, nodes={nodes:?}, \
                 seconds={seconds:?}"
            )));
        }
        let limits = Limits {
            depth: depth.unwrap_or(u32::MAX),
            nodes: nodes.unwrap_or(u64::MAX),
            time: seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        };
        let interruption = Interruption::default();
        let results: Option<Vec<_>> = py.detach(|| {
            let views = self.0.iter().take_while(|_| !interruption.should_stop());
            views.map(|(state, _)| search(state, &limits, &|| interruption.should_stop())).collect()
        });
        interruption.check()?;
        let results = results.ok_or_else(|| PyValueError::new_err("expected positions in which the game goes on"))?;
        Ok(results.into_iter().map(|result| (result.action, result.score, result.depth, result.nodes)).collect())
    }
}
