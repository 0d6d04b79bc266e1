//! The roots of a search: new trees, or kept trees that are continued.

use super::SearchCore;
use crate::game::{search_error, Binding};
use crate::kept_tree::{ExternalAgents, KeptTree};
use moemcts_tree::{Action, Player, Players, Rng, Tree, CHANCE};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::time::Instant;

/// Number of nodes from which a tree is freed in a background thread: that takes as long as a fast move.
const MIN_NODES_TO_FREE_IN_BACKGROUND: usize = 10_000;

/// The agents of the players of one tree that are not searched.
#[derive(FromPyObject)]
pub struct OtherAgents<'py> {
    #[pyo3(item(0))]
    modelled: Vec<(Player, Bound<'py, PyAny>)>,
    #[pyo3(item(1))]
    external_agents: Vec<(Player, Bound<'py, PyAny>)>,
}

/// Those agents as the tree stores them, and the players that are searched.
struct Opponents<A> {
    searched: Players,
    /// In the order of players, as in a tree.
    modelled: Vec<(Player, A)>,
    external_agents: ExternalAgents,
}

impl<B: Binding> SearchCore<B> {
    pub fn reset(
        &mut self,
        roots: &Bound<'_, PyAny>,
        seeds: Vec<u64>,
        others: Vec<OtherAgents<'_>>,
        kept: Option<Vec<Option<PyRef<'_, KeptTree>>>>,
        root_actions: Option<Vec<Option<Vec<Action>>>>,
    ) -> PyResult<()> {
        let started = Instant::now();
        let py = roots.py();
        let roots = self.binding.extract_views(roots)?;
        let num_roots = roots.len();
        let kept = kept.unwrap_or_else(|| (0..num_roots).map(|_| None).collect());
        let root_actions = root_actions.unwrap_or_else(|| vec![None; num_roots]);
        let lengths = [seeds.len(), others.len(), kept.len(), root_actions.len()];
        if lengths != [num_roots; 4] {
            return Err(PyValueError::new_err(format!(
                "expected seeds, opponents, kept trees and root actions for {num_roots} roots, got {lengths:?}"
            )));
        }
        self.viewers = roots.iter().map(|(_, player)| *player).collect();
        let mut trees = Vec::with_capacity(num_roots);
        let mut external_agents = Vec::with_capacity(num_roots);
        let mut old_trees = self.search.take_trees().into_iter();
        let settings = others.into_iter().zip(kept).zip(root_actions);
        for (((state, player), seed), ((others, kept), actions)) in roots.into_iter().zip(seeds).zip(settings) {
            let opponents = self.opponents(others)?;
            external_agents.push(opponents.external_agents.clone());
            // The root of a kept tree has all actions, and that of a Gumbel search needs untried ones.
            let kept_tree = match kept.filter(|_| actions.is_none() && self.search.config.gumbel.is_none()) {
                Some(kept) => self.continue_tree(py, &kept, &state, player, seed, &opponents)?,
                None => None,
            };
            trees.push(match kept_tree {
                Some(tree) => tree,
                None => {
                    let mut tree = self.new_tree(old_trees.next(), state, player, Rng::new(seed), opponents)?;
                    if let Some(actions) = actions {
                        tree.restrict(player, &actions, &self.search.config).map_err(search_error)?;
                    }
                    tree
                }
            });
        }
        self.search.config.limits.simulations = self.simulations;
        self.search.reset(trees, started);
        self.external_agents = external_agents;
        self.selected = 0..0;
        Ok(())
    }

    fn opponents(&self, others: OtherAgents<'_>) -> PyResult<Opponents<B::Agent>> {
        let external_agents = ExternalAgents::new(&others.external_agents);
        let external_players = others.external_agents.iter().map(|(player, _)| *player).collect();
        let agents =
            others.modelled.into_iter().map(|(player, agent)| Ok((player, self.binding.extract_agent(&agent)?)));
        let mut modelled = agents.collect::<PyResult<Vec<_>>>()?;
        modelled.sort_by_key(|(player, _)| *player);
        let players = modelled.iter().map(|(player, _)| *player).collect();
        let searched = Players::all(self.num_players).without(players).without(external_players);
        Ok(Opponents { searched, modelled, external_agents })
    }

    fn new_tree(
        &self,
        reused: Option<Tree<B::State, B::Agent>>,
        state: B::State,
        player: Player,
        rng: Rng,
        opponents: Opponents<B::Agent>,
    ) -> PyResult<Tree<B::State, B::Agent>> {
        let Opponents { searched, modelled, .. } = opponents;
        let mut tree = reused.unwrap_or_default();
        // Without a searched player at the root, it would be played past with the agents' replies.
        let active = crate::game::active_players(&state)?;
        let is_searched = player < self.num_players && active.and(searched).contains(player);
        if !active.contains(CHANCE) && !is_searched {
            return Err(PyValueError::new_err(format!(
                "expected a root where player {player} is active and searched, got active players {:?}",
                crate::game::player_numbers(active)
            )));
        }
        tree.reset(state, self.num_players, searched, modelled, rng, &self.search.config).map_err(search_error)?;
        Ok(tree)
    }

    /// Returns the kept tree rerooted at the position, if it fits this search and contains the position; the seed
    /// determines all further sampling.
    fn continue_tree(
        &self,
        py: Python<'_>,
        kept: &KeptTree,
        state: &B::State,
        player: Player,
        seed: u64,
        opponents: &Opponents<B::Agent>,
    ) -> PyResult<Option<Tree<B::State, B::Agent>>> {
        let Some(mut kept_tree) = kept.take() else { return Ok(None) };
        let levels = 2 * self.num_players as u32;
        let conditions = self.conditions(self.binding.rules_key(state), opponents.external_agents.clone());
        let is_of_this_search = *kept.conditions() == conditions;
        let is_found = match kept_tree.downcast_mut::<Tree<B::State, B::Agent>>() {
            Some(tree)
                if is_of_this_search
                    && tree.searched == opponents.searched
                    && tree.has_same_agents(&opponents.modelled) =>
            {
                let mut reroot = || tree.reroot(state, levels);
                let is_rerooted = if B::IS_NATIVE { py.detach(reroot) } else { reroot() };
                tree.rng = Rng::new(seed);
                is_rerooted.map_err(Into::into)? && tree.seats_of(0).any(|seat| seat.player() == player)
            }
            _ => false,
        };
        if is_found {
            return Ok(kept_tree.downcast().ok().map(|tree| *tree));
        }
        if B::IS_NATIVE && kept.num_nodes() >= MIN_NODES_TO_FREE_IN_BACKGROUND {
            // If no thread can be spawned, the tree is freed here.
            drop(std::thread::Builder::new().spawn(move || drop(kept_tree)));
        }
        Ok(None)
    }
}
