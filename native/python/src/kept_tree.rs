//! Trees kept between searches.

use moemcts_tree::{Agent, Config, Player, Players, State, Tree};
use pyo3::prelude::*;
use std::any::Any;
use std::sync::{Arc, Mutex};

/// A tree of any game.
type AnyTree = Box<dyn Any + Send>;

/// The external agents of one tree; they are equal if they are the same objects.
#[derive(Clone, Default)]
pub struct ExternalAgents(Arc<[(Player, Py<PyAny>)]>);

impl ExternalAgents {
    pub fn new(agents: &[(Player, Bound<'_, PyAny>)]) -> Self {
        Self(agents.iter().map(|(player, agent)| (*player, agent.clone().unbind())).collect())
    }
}

impl PartialEq for ExternalAgents {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().zip(&*other.0).all(|((a, agent), (b, next))| a == b && agent.is(next))
    }
}

/// What the statistics and proofs of a tree depend on; a search with other terms cannot reuse it.
#[derive(Clone, PartialEq)]
pub struct ReuseConditions {
    rules_key: u64,
    num_actions: usize,
    discount: f64,
    utility_sum: Option<f64>,
    teams: Vec<Players>,
    draws_replies: bool,
    /// Proofs are recorded and used only with a solver.
    solver: bool,
    external_agents: ExternalAgents,
}

impl ReuseConditions {
    pub fn of(config: &Config, rules_key: u64, external_agents: ExternalAgents) -> Self {
        Self {
            external_agents,
            rules_key,
            num_actions: config.num_actions,
            discount: config.discount,
            utility_sum: config.utility_sum,
            teams: config.teams.clone(),
            draws_replies: config.draws_replies,
            solver: config.solver,
        }
    }
}

/// A searched tree that one search can continue, once; it fits only the kind of search that made it.
#[pyclass(frozen, module = "moemcts._core")]
pub struct KeptTree {
    tree: Mutex<Option<AnyTree>>,
    clone_tree: fn(&(dyn Any + Send)) -> Option<AnyTree>,
    conditions: ReuseConditions,
    /// Whether its states can be copied without the interpreter.
    is_native: bool,
    /// The number of nodes, as of when it was kept if it has been taken.
    #[pyo3(get)]
    num_nodes: usize,
    /// The key of the root; None if the search was empty, or if a game in Python failed to compute it.
    #[pyo3(get)]
    root_key: Option<u64>,
}

#[pymethods]
impl KeptTree {
    /// Returns a copy with an equal tree, or without one if it has been taken.
    fn __copy__(&self, py: Python<'_>) -> Self {
        let clone = || self.tree.lock().ok().and_then(|tree| tree.as_deref().and_then(self.clone_tree));
        let tree = if self.is_native { py.detach(clone) } else { clone() };
        Self { tree: Mutex::new(tree), conditions: self.conditions.clone(), ..*self }
    }
}

impl KeptTree {
    pub fn new<S, A>(tree: Tree<S, A>, conditions: ReuseConditions, is_native: bool) -> Self
    where
        S: State + Send + 'static,
        A: Agent<S> + Send + 'static,
    {
        Self {
            num_nodes: tree.nodes.len(),
            root_key: tree.states.first().and_then(|root| root.key().ok()),
            clone_tree: clone_tree::<Tree<S, A>>,
            conditions,
            is_native,
            tree: Mutex::new(Some(Box::new(tree))),
        }
    }

    /// Takes the tree out, for a search that continues it; afterwards there is none.
    pub fn take(&self) -> Option<AnyTree> {
        self.tree.lock().ok().and_then(|mut tree| tree.take())
    }

    pub fn conditions(&self) -> &ReuseConditions {
        &self.conditions
    }

    pub fn num_nodes(&self) -> usize {
        self.num_nodes
    }
}

/// Returns a copy of the tree, if it is of this type.
fn clone_tree<T: Any + Clone + Send>(tree: &(dyn Any + Send)) -> Option<AnyTree> {
    tree.downcast_ref::<T>().map(|tree| -> AnyTree { Box::new(tree.clone()) })
}
