//! The roots of a search: new trees, or kept trees that are continued.

use super::Core;
use crate::game::{search_error, Binding};
use crate::kept_tree::{KeptTree, Outside};
use moemcts_tree::{Action, Player, Players, Rng, Tree, CHANCE};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::time::Instant;

/// Number of nodes from which a tree is freed in a background thread: that takes as long as a fast move.
const LARGE: usize = 10_000;

/// The agents of the players of one tree that are not searched.
#[derive(FromPyObject)]
pub struct Others<'py> {
    #[pyo3(item(0))]
    modelled: Vec<(Player, Bound<'py, PyAny>)>,
    #[pyo3(item(1))]
    outside: Vec<(Player, Bound<'py, PyAny>)>,
}

/// Those agents as the tree stores them, and the players that are searched.
struct Opponents<A> {
    searched: Players,
    /// In the order of players, as in a tree.
    modelled: Vec<(Player, A)>,
    outside: Outside,
}

impl<B: Binding> Core<B> {
    pub fn reset(
        &mut self,
        roots: &Bound<'_, PyAny>,
        seeds: Vec<u64>,
        others: Vec<Others<'_>>,
        kept: Option<Vec<Option<PyRef<'_, KeptTree>>>>,
        root_actions: Option<Vec<Option<Vec<Action>>>>,
    ) -> PyResult<()> {
        let started = Instant::now();
        let py = roots.py();
        let roots = self.binding.pairs(roots)?;
        let num_roots = roots.len();
        let kept = kept.unwrap_or_else(|| (0..num_roots).map(|_| None).collect());
        let root_actions = root_actions.unwrap_or_else(|| vec![None; num_roots]);
        let given = [seeds.len(), others.len(), kept.len(), root_actions.len()];
        if given != [num_roots; 4] {
            return Err(PyValueError::new_err(format!(
                "expected seeds, opponents, kept trees and root actions for {num_roots} roots, got {given:?}"
            )));
        }
        self.viewers = roots.iter().map(|(_, player)| *player).collect();
        let mut trees = Vec::with_capacity(num_roots);
        let mut outside = Vec::with_capacity(num_roots);
        let mut cleared = self.search.take().into_iter();
        let beside = others.into_iter().zip(kept).zip(root_actions);
        for (((state, player), seed), ((others, kept), actions)) in roots.into_iter().zip(seeds).zip(beside) {
            let opponents = self.opponents(others)?;
            outside.push(opponents.outside.clone());
            // The root of a kept tree has all actions, and that of a Gumbel search needs untried ones.
            let grown = match kept.filter(|_| actions.is_none() && self.search.config.gumbel.is_none()) {
                Some(kept) => self.regrow(py, &kept, &state, player, seed, &opponents)?,
                None => None,
            };
            trees.push(match grown {
                Some(tree) => tree,
                None => {
                    let mut tree = self.plant(cleared.next(), state, player, Rng::new(seed), opponents)?;
                    if let Some(actions) = actions {
                        tree.restrict(player, &actions, &self.search.config).map_err(search_error)?;
                    }
                    tree
                }
            });
        }
        self.search.config.limits.simulations = self.simulations;
        self.search.reset(trees, started);
        self.outside = outside;
        self.selected = 0..0;
        Ok(())
    }

    fn opponents(&self, others: Others<'_>) -> PyResult<Opponents<B::Agent>> {
        let outside = Outside::new(&others.outside);
        let answered = others.outside.iter().map(|(player, _)| *player).collect();
        let agents = others.modelled.into_iter().map(|(player, agent)| Ok((player, self.binding.agent(&agent)?)));
        let mut modelled = agents.collect::<PyResult<Vec<_>>>()?;
        modelled.sort_by_key(|(player, _)| *player);
        let players = modelled.iter().map(|(player, _)| *player).collect();
        let searched = Players::all(self.num_players).without(players).without(answered);
        Ok(Opponents { searched, modelled, outside })
    }

    fn plant(
        &self,
        ground: Option<Tree<B::State, B::Agent>>,
        state: B::State,
        player: Player,
        rng: Rng,
        opponents: Opponents<B::Agent>,
    ) -> PyResult<Tree<B::State, B::Agent>> {
        let Opponents { searched, modelled, .. } = opponents;
        let mut tree = ground.unwrap_or_default();
        // Without a searched player at the root, it would be played past with the agents' replies.
        let active = crate::game::active_players(&state)?;
        let is_searched = player < self.num_players && active.and(searched).contains(player);
        if !active.contains(CHANCE) && !is_searched {
            return Err(PyValueError::new_err(format!(
                "expected a root where player {player} is active and searched, got active players {:?}",
                crate::game::numbered(active)
            )));
        }
        tree.plant(state, self.num_players, searched, modelled, rng, &self.search.config).map_err(search_error)?;
        Ok(tree)
    }

    /// Returns the kept tree rerooted at the position, if it fits this search and contains the position; the seed
    /// determines all further sampling.
    fn regrow(
        &self,
        py: Python<'_>,
        kept: &KeptTree,
        state: &B::State,
        player: Player,
        seed: u64,
        opponents: &Opponents<B::Agent>,
    ) -> PyResult<Option<Tree<B::State, B::Agent>>> {
        let Some(mut grown) = kept.take() else { return Ok(None) };
        let levels = 2 * self.num_players as u32;
        let terms = self.terms(self.binding.rules_key(state), opponents.outside.clone());
        let is_of_this_search = *kept.terms() == terms;
        let is_found = match grown.downcast_mut::<Tree<B::State, B::Agent>>() {
            Some(tree)
                if is_of_this_search && tree.searched == opponents.searched && tree.is_against(&opponents.modelled) =>
            {
                let mut reroot = || tree.reroot(state, levels);
                let is_there = if B::IS_NATIVE { py.detach(reroot) } else { reroot() };
                tree.rng = Rng::new(seed);
                is_there.map_err(Into::into)? && tree.seats_of(0).any(|seat| seat.player() == player)
            }
            _ => false,
        };
        if is_found {
            return Ok(grown.downcast().ok().map(|tree| *tree));
        }
        if B::IS_NATIVE && kept.num_nodes() >= LARGE {
            // If no thread can be spawned, the tree is freed here.
            drop(std::thread::Builder::new().spawn(move || drop(grown)));
        }
        Ok(None)
    }
}
