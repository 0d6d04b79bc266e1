//! The search class, the same for every game.

use crate::game::{rows, search_error, Binding};
use crate::kept_tree::{KeptTree, Outside, Terms};
use crate::options::{config, option};
use crate::playouts::checked;
use crate::signals::Signals;
use moemcts_tree::tree::{Line, Status};
use moemcts_tree::{Action, Player, Players, Rng, Search, SearchError, State, Tree, CHANCE};
use numpy::{PyArray1, PyReadonlyArray2, PyReadonlyArrayDyn};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::ops::Range;
use std::sync::OnceLock;
use std::time::Instant;

/// Nodes of a tree from which on it is freed on the side: that takes as long as a quick move has.
const LARGE: usize = 10_000;

/// Who plays the seats of one tree that are not searched.
#[derive(FromPyObject)]
pub struct Others<'py> {
    #[pyo3(item(0))]
    modelled: Vec<(Player, Bound<'py, PyAny>)>,
    #[pyo3(item(1))]
    outside: Vec<(Player, Bound<'py, PyAny>)>,
}

/// Those of one tree, as the tree takes them, and who else there is: the players that are searched.
struct Opponents<A> {
    searched: Players,
    /// In the order of their players, which is how they lie in a tree.
    modelled: Vec<(Player, A)>,
    outside: Outside,
}

pub struct Core<B: Binding> {
    binding: B,
    num_players: usize,
    is_parallel: bool,
    /// How many descents each tree makes, unless `limit` says otherwise until the next reset.
    simulations: u32,
    search: Search<B::State, B::Agent>,
    viewers: Vec<Player>,
    /// Who answers from outside, for each tree.
    outside: Vec<Outside>,
    selected: Range<usize>,
}

/// Evaluations that are taken in without Python's lock, so that another batch may be evaluated meanwhile: leaving it and
/// coming back costs a microsecond.
const WORTH_LEAVING: usize = 128;

type Evaluations<'py> = (PyReadonlyArray2<'py, f32>, PyReadonlyArrayDyn<'py, f32>);

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
            // A kept tree knows all actions of its root, and the Gumbel root begins with untried ones.
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

    /// Returns the views to be evaluated; there are none when the search is over or waits for replies only.
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

    pub fn backup(
        &mut self,
        py: Python<'_>,
        evaluations: Evaluations<'_>,
        given: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()>
    where
        SearchOf<B>: Send,
        <B::State as State>::Error: Send,
    {
        let (logits, value) = (evaluations.0.as_array(), evaluations.1.as_array());
        let given = given.map(waiting).transpose()?.unwrap_or_else(|| self.selected.clone().collect());
        if logits.nrows() != given.len() || value.shape().first() != Some(&given.len()) {
            return Err(PyValueError::new_err(format!(
                "expected logits and value for {} views, got shapes {:?} and {:?}",
                given.len(),
                logits.shape(),
                value.shape()
            )));
        }
        if logits.ncols() != self.search.config.num_actions {
            return Err(PyValueError::new_err(format!(
                "expected logits of {} actions, got {}",
                self.search.config.num_actions,
                logits.ncols()
            )));
        }
        if value.ndim() == 2 && value.len() != given.len() * self.num_players {
            return Err(PyValueError::new_err(format!(
                "expected value [{n}] or [{n}, {players}], got shape {shape:?}",
                n = given.len(),
                players = self.num_players,
                shape = value.shape()
            )));
        }
        // A value for the viewer alone is a row of one.
        let value = value
            .to_shape((given.len(), value.len() / given.len().max(1)))
            .map_err(|e| PyValueError::new_err(e.to_string()))?;
        let num_values = value.ncols().min(self.num_players);
        let (search, num_rows) = (&mut self.search, given.len());
        let receive = || -> Result<(), SearchError<<B::State as State>::Error>> {
            let mut values = Vec::with_capacity(num_values);
            for (i, row) in given.into_iter().enumerate() {
                values.clear();
                values.extend((0..num_values).map(|k| value[[i, k]]));
                // The legal moves' logits are read where the network left them.
                match logits.row(i).to_slice() {
                    Some(logits) => search.receive(row, |action| logits[action as usize], &values)?,
                    None => search.receive(row, |action| logits[[i, action as usize]], &values)?,
                }
            }
            Ok(())
        };
        let received = if B::IS_NATIVE && num_rows >= WORTH_LEAVING { py.detach(receive) } else { receive() };
        received.map_err(search_error)
    }

    pub fn fail(&mut self) {
        self.search.fail();
    }

    /// Returns what `moemcts.search.SearchResult` is made of, one dictionary per root.
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

    /// Sets how many descents each tree may have made since the last reset.
    pub fn limit(&mut self, simulations: u32) {
        self.search.config.limits.simulations = simulations;
    }

    /// Returns the most visited line of each action of a root, in the order of `results`.
    pub fn lines(&self, tree: usize) -> PyResult<Vec<Line>> {
        match (self.search.trees.get(tree), self.viewers.get(tree)) {
            (Some(tree), Some(&viewer)) => Ok(tree.lines(viewer)),
            _ => Err(PyIndexError::new_err(format!("expected a tree below {}, got {tree}", self.search.trees.len()))),
        }
    }

    pub fn counts(&self) -> (u64, u64) {
        (self.search.num_batches, self.search.num_rows)
    }

    /// Hands out the trees of the roots in order; the search is empty afterwards.
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

    fn state(&self, tree: u32, node: u32) -> B::State {
        self.search.trees[tree as usize].states[node as usize].clone()
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
        // A root where nobody is searched would be played on from, with the agents' replies.
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

    /// Returns a kept tree from the position on, where it fits this search and holds that position; what it draws from
    /// now on depends on the seed.
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
            // Where no thread can be had, it is freed here.
            drop(std::thread::Builder::new().spawn(move || drop(grown)));
        }
        Ok(None)
    }
}

/// Returns whether the threads of all searches are in this process: they stay behind where one is forked.
fn has_threads() -> bool {
    static OWNER: OnceLock<u32> = OnceLock::new();
    *OWNER.get_or_init(std::process::id) == std::process::id()
}

type SearchOf<B> = Search<<B as Binding>::State, <B as Binding>::Agent>;

/// Returns numbers of rows given as an array or a list; raises ValueError where no row can have one.
fn waiting(object: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    let row = |number: i64| {
        usize::try_from(number)
            .map_err(|_| PyValueError::new_err(format!("row {number} waits for no evaluation, numbers are from 0 on")))
    };
    rows(object)?.into_iter().map(row).collect()
}

pub fn arrays<'py>(logits: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> PyResult<Evaluations<'py>> {
    let wrong = |what: &str, object: &Bound<'_, PyAny>| {
        PyValueError::new_err(format!("expected {what} as a float32 array, got {object}"))
    };
    let logits = logits.extract().map_err(|_| wrong("logits [N, A]", logits))?;
    let value = match value.extract::<PyReadonlyArrayDyn<'py, f32>>() {
        Ok(value) if (1..=2).contains(&value.as_array().ndim()) => value,
        _ => return Err(wrong("value [N] or [N, P]", value)),
    };
    Ok((logits, value))
}
