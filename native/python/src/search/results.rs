//! Results of a search as Python dictionaries and lists.

use super::SearchCore;
use crate::game::{parse_row, Binding};
use moemcts_tree::tree::{Line, Status};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

impl<B: Binding> SearchCore<B> {
    /// Returns the fields of `moemcts.search.SearchResult`, one dictionary per root.
    pub fn results<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for (tree, &viewer) in self.search.trees.iter().zip(&self.viewers) {
            let root = &tree.nodes[0];
            let result = PyDict::new(py);
            result.set_item("player", viewer)?;
            let seat = tree.seats_of(0).find(|seat| seat.player() == viewer);
            if let (Some(seat), Some(arms)) = (seat, tree.arms(viewer, &self.search.config)) {
                let proofs = || arms.iter().map(|arm| arm.proof);
                result.set_item("actions", PyArray1::from_iter(py, arms.iter().map(|arm| i64::from(arm.action))))?;
                result.set_item("visits", PyArray1::from_iter(py, arms.iter().map(|arm| i64::from(arm.visits))))?;
                result.set_item("value_sums", PyArray1::from_iter(py, arms.iter().map(|arm| arm.value_sum)))?;
                let noise = if self.search.config.gumbel.is_some() { arms.as_slice() } else { &[] };
                result.set_item("noise", PyArray1::from_iter(py, noise.iter().map(|arm| arm.noise)))?;
                result.set_item("priors", PyArray1::from_iter(py, arms.iter().map(|arm| arm.prior)))?;
                result.set_item("proven", PyArray1::from_iter(py, proofs().map(|proof| proof.is_some())))?;
                let proof_plies = proofs().map(|proof| proof.map_or(0, |(_, plies)| i64::from(plies)));
                result.set_item("proof_plies", PyArray1::from_iter(py, proof_plies))?;
                let proof_values = proofs().map(|proof| proof.map_or(0.0, |(value, _)| f64::from(value)));
                result.set_item("proof_values", PyArray1::from_iter(py, proof_values))?;
                let mean = seat.value_sum / f64::from(root.visits.max(1));
                let is_proven = root.status == Status::Proven;
                result.set_item("value", if is_proven { f64::from(tree.values[viewer]) } else { mean })?;
            }
            result.set_item("evaluation", PyArray1::from_slice(py, &tree.values[..self.num_players]))?;
            result.set_item("plies_left", tree.plies_left())?;
            result.set_item("is_foreseen", tree.is_foreseen())?;
            result.set_item("num_nodes", tree.nodes.len())?;
            result.set_item("num_simulations", tree.simulations)?;
            result.set_item("mean_depth", tree.depth_sum as f64 / f64::from(tree.simulations.max(1)))?;
            result.set_item("max_depth", tree.max_depth)?;
            result.set_item("principal_variation", tree.principal_variation())?;
            list.append(result)?;
        }
        Ok(list)
    }

    /// Returns the most visited line through each action of a root, in the order of `results`.
    pub fn lines(&self, tree: i64) -> PyResult<Vec<Line>> {
        let tree = parse_row(tree, self.search.trees.len())?;
        Ok(self.search.trees[tree].lines(self.viewers[tree]))
    }
}
