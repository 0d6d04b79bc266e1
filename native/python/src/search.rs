//! The implementation of the search classes, the same for every game.

mod evaluations;
mod results;
mod roots;

pub use evaluations::arrays;
pub use roots::OtherAgents;

use crate::game::{search_error, Binding};
use crate::interruption::Interruption;
use crate::kept_tree::{ExternalAgents, KeptTree, ReuseConditions};
use crate::options::{config, option};
use crate::playouts::check_num_players;
use moemcts_tree::{Player, Search, Tree};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::Range;
use std::sync::OnceLock;

pub struct SearchCore<B: Binding> {
    binding: B,
    num_players: usize,
    is_parallel: bool,
    /// Descents per tree, unless overridden by `limit` until the next reset.
    simulations: u32,
    search: Search<B::State, B::Agent>,
    viewers: Vec<Player>,
    /// The external agents of each tree.
    external_agents: Vec<ExternalAgents>,
    selected: Range<usize>,
}

impl<B: Binding> SearchCore<B> {
    pub fn new(binding: B, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let num_players = check_num_players(option(options, "num_players")?)?;
        let config = config(options)?;
        Ok(Self {
            binding,
            num_players,
            is_parallel: B::IS_NATIVE && option::<usize>(options, "num_threads")? > 1,
            simulations: config.limits.simulations,
            search: Search::new(config),
            viewers: Vec::new(),
            external_agents: Vec::new(),
            selected: 0..0,
        })
    }

    /// Returns the views to evaluate; there are none when the search is over or waits only for replies.
    pub fn select<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>
    where
        SearchOf<B>: Send,
    {
        let search = &mut self.search;
        let interruption = Interruption::default();
        let stop = || interruption.should_stop();
        let selected = match (self.is_parallel && owns_thread_pool(), B::IS_NATIVE) {
            (true, _) => py.detach(|| search.select_parallel(&stop)),
            (false, true) => py.detach(|| search.select(&stop)),
            (false, false) => search.select(&stop),
        };
        self.selected = selected.map_err(|error| interruption.to_exception(error))?;
        let pairs = self
            .selected
            .clone()
            .filter_map(|row| self.search.row(row))
            .map(|row| (self.state(row.tree, row.node), row.player))
            .collect();
        self.binding.new_views(py, pairs).inspect_err(|_| self.search.fail())
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
        Ok((self.binding.new_views(py, pairs)?, trees))
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
        let trees = self.search.take_trees().into_iter().zip(std::mem::take(&mut self.external_agents));
        trees.map(|(tree, external_agents)| self.keep_tree(tree, external_agents)).collect()
    }

    fn keep_tree(&self, tree: Tree<B::State, B::Agent>, external_agents: ExternalAgents) -> KeptTree
    where
        Tree<B::State, B::Agent>: Send,
    {
        let rules_key = tree.states.first().map_or(0, |root| self.binding.rules_key(root));
        KeptTree::new(tree, self.conditions(rules_key, external_agents), B::IS_NATIVE)
    }

    fn conditions(&self, rules_key: u64, external_agents: ExternalAgents) -> ReuseConditions {
        ReuseConditions::of(&self.search.config, rules_key, external_agents)
    }

    fn state(&self, tree: u32, node: u32) -> B::State {
        self.search.trees[tree as usize].states[node as usize].clone()
    }
}

/// Returns whether the thread pool belongs to this process: threads do not survive a fork.
fn owns_thread_pool() -> bool {
    static OWNER_ID: OnceLock<u32> = OnceLock::new();
    *OWNER_ID.get_or_init(std::process::id) == std::process::id()
}

type SearchOf<B> = Search<<B as Binding>::State, <B as Binding>::Agent>;
