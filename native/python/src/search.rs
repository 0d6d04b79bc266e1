//! The implementation of the search classes, the same for every game.

mod evaluations;
mod results;
mod roots;

pub use evaluations::arrays;
pub use roots::Others;

use crate::game::{search_error, Binding};
use crate::kept_tree::{KeptTree, Outside, Terms};
use crate::options::{config, option};
use crate::playouts::checked;
use crate::signals::Signals;
use moemcts_tree::{Player, Search, Tree};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::Range;
use std::sync::OnceLock;

pub struct Core<B: Binding> {
    binding: B,
    num_players: usize,
    is_parallel: bool,
    /// Descents per tree, unless overridden by `limit` until the next reset.
    simulations: u32,
    search: Search<B::State, B::Agent>,
    viewers: Vec<Player>,
    /// The external agents of each tree.
    outside: Vec<Outside>,
    selected: Range<usize>,
}

impl<B: Binding> Core<B> {
    pub fn new(binding: B, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let num_players = checked(option(options, "num_players")?)?;
        let config = config(options)?;
        Ok(Self {
            binding,
            num_players,
            is_parallel: B::IS_NATIVE && option::<usize>(options, "num_threads")? > 1,
            simulations: config.limits.simulations,
            search: Search::new(config),
            viewers: Vec::new(),
            outside: Vec::new(),
            selected: 0..0,
        })
    }

    /// Returns the views to evaluate; there are none when the search is over or waits only for replies.
    pub fn select<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>
    where
        SearchOf<B>: Send,
    {
        let search = &mut self.search;
        let signals = Signals::default();
        let stop = || signals.came();
        let selected = match (self.is_parallel && has_threads(), B::IS_NATIVE) {
            (true, _) => py.detach(|| search.select_parallel(&stop)),
            (false, true) => py.detach(|| search.select(&stop)),
            (false, false) => search.select(&stop),
        };
        self.selected = selected.map_err(|error| signals.error(error))?;
        let pairs = self
            .selected
            .clone()
            .filter_map(|row| self.search.row(row))
            .map(|row| (self.state(row.tree, row.node), row.player))
            .collect();
        self.binding.views(py, pairs).inspect_err(|_| self.search.fail())
    }

    pub fn rows(&self) -> (usize, usize) {
        (self.selected.start, self.selected.end)
    }

    pub fn awaiting<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Vec<u32>)> {
        let mut pairs = Vec::new();
        let mut trees = Vec::new();
        for leaf in &self.search.awaiting {
            for player in leaf.players.iter() {
                pairs.push((self.state(leaf.tree, leaf.node), player));
                trees.push(leaf.tree);
            }
        }
        Ok((self.binding.views(py, pairs)?, trees))
    }

    pub fn reply(&mut self, actions: Vec<u32>) -> PyResult<()> {
        self.search.reply(&actions).map_err(search_error)
    }

    pub fn fail(&mut self) {
        self.search.fail();
    }

    /// Sets the limit on the descents of each tree since the last reset.
    pub fn limit(&mut self, simulations: u32) {
        self.search.config.limits.simulations = simulations;
    }

    pub fn counts(&self) -> (u64, u64) {
        (self.search.num_batches, self.search.num_rows)
    }

    /// Returns the trees of the roots in order; the search is empty afterwards.
    pub fn keep(&mut self) -> Vec<KeptTree>
    where
        Tree<B::State, B::Agent>: Send,
    {
        self.viewers.clear();
        self.selected = 0..0;
        let trees = self.search.take().into_iter().zip(std::mem::take(&mut self.outside));
        trees.map(|(tree, outside)| self.kept(tree, outside)).collect()
    }

    fn kept(&self, tree: Tree<B::State, B::Agent>, outside: Outside) -> KeptTree
    where
        Tree<B::State, B::Agent>: Send,
    {
        let rules_key = tree.states.first().map_or(0, |root| self.binding.rules_key(root));
        KeptTree::new(tree, self.terms(rules_key, outside), B::IS_NATIVE)
    }

    fn terms(&self, rules_key: u64, outside: Outside) -> Terms {
        Terms::of(&self.search.config, rules_key, outside)
    }

    fn state(&self, tree: u32, node: u32) -> B::State {
        self.search.trees[tree as usize].states[node as usize].clone()
    }
}

/// Returns whether the thread pool belongs to this process: threads do not survive a fork.
fn has_threads() -> bool {
    static OWNER: OnceLock<u32> = OnceLock::new();
    *OWNER.get_or_init(std::process::id) == std::process::id()
}

type SearchOf<B> = Search<<B as Binding>::State, <B as Binding>::Agent>;
