//! Trees on their way from one search to the next.

use moemcts_tree::{Agent, Config, Player, Players, State, Tree};
use pyo3::prelude::*;
use std::any::Any;
use std::sync::{Arc, Mutex};

/// A tree of any game.
type AnyTree = Box<dyn Any + Send>;

/// The agents of players outside of one tree; only the same objects are the same agents.
#[derive(Clone, Default)]
pub struct Outside(Arc<[(Player, Py<PyAny>)]>);

impl Outside {
    pub fn new(agents: &[(Player, Bound<'_, PyAny>)]) -> Self {
        Self(agents.iter().map(|(player, agent)| (*player, agent.clone().unbind())).collect())
    }
}

impl PartialEq for Outside {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().zip(&*other.0).all(|((a, agent), (b, next))| a == b && agent.is(next))
    }
}

/// What the statistics and the proofs of a tree rest on: where it differs, they are those of another game.
#[derive(Clone, PartialEq)]
pub struct Terms {
    rules_key: u64,
    num_actions: usize,
    discount: f64,
    utility_sum: Option<f64>,
    teams: Vec<Players>,
    draws_replies: bool,
    /// Only a solver counts what is proven, and reads it.
    solver: bool,
    outside: Outside,
}

impl Terms {
    pub fn of(config: &Config, rules_key: u64, outside: Outside) -> Self {
        Self {
            outside,
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

/// A searched tree that may be gone on with, once; it fits only the kind of search that made it.
#[pyclass(frozen, module = "moemcts._core")]
pub struct KeptTree {
    tree: Mutex<Option<AnyTree>>,
    copied: fn(&(dyn Any + Send)) -> Option<AnyTree>,
    terms: Terms,
    /// Whether its states are copied without the interpreter.
    is_native: bool,
    /// How many nodes it has, or had when it was kept.
    #[pyo3(get)]
    num_nodes: usize,
    /// The key of its root; None of an empty search's, and where a game in Python fails to say.
    #[pyo3(get)]
    root_key: Option<u64>,
}

#[pymethods]
impl KeptTree {
    /// Returns another one with an equal tree; with none where this one was gone on with.
    fn __copy__(&self, py: Python<'_>) -> Self {
        let copy = || self.tree.lock().ok().and_then(|tree| tree.as_deref().and_then(self.copied));
        let tree = if self.is_native { py.detach(copy) } else { copy() };
        Self { tree: Mutex::new(tree), terms: self.terms.clone(), ..*self }
    }
}

impl KeptTree {
    pub fn new<S, A>(tree: Tree<S, A>, terms: Terms, is_native: bool) -> Self
    where
        S: State + Send + 'static,
        A: Agent<S> + Send + 'static,
    {
        Self {
            num_nodes: tree.nodes.len(),
            root_key: tree.states.first().and_then(|root| root.key().ok()),
            copied: copied::<Tree<S, A>>,
            terms,
            is_native,
            tree: Mutex::new(Some(Box::new(tree))),
        }
    }

    /// Returns the tree, for a search that goes on with it; afterwards there is none.
    pub fn take(&self) -> Option<AnyTree> {
        self.tree.lock().ok().and_then(|mut tree| tree.take())
    }

    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    pub fn num_nodes(&self) -> usize {
        self.num_nodes
    }
}

/// Returns an equal tree, if it is of this kind.
fn copied<T: Any + Clone + Send>(tree: &(dyn Any + Send)) -> Option<AnyTree> {
    tree.downcast_ref::<T>().map(|tree| -> AnyTree { Box::new(tree.clone()) })
}
