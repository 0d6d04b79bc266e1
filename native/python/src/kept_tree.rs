//! Trees on their way from one search to the next.

use moemcts_tree::{Agent, State, Tree};
use pyo3::prelude::*;
use std::any::Any;
use std::sync::Mutex;

/// A tree of any game.
type AnyTree = Box<dyn Any + Send>;

/// A searched tree that may be gone on with, once; it fits only the kind of search that made it.
#[pyclass(frozen, module = "moemcts._core")]
pub struct KeptTree {
    tree: Mutex<Option<AnyTree>>,
    copied: fn(&(dyn Any + Send)) -> Option<AnyTree>,
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
    fn __copy__(&self) -> Self {
        let tree = self.tree.lock().ok().and_then(|tree| tree.as_deref().and_then(self.copied));
        Self { tree: Mutex::new(tree), ..*self }
    }
}

impl KeptTree {
    pub fn new<S: State + Send + 'static, A: Agent<S> + Send + 'static>(tree: Tree<S, A>) -> Self {
        Self {
            num_nodes: tree.nodes.len(),
            root_key: tree.states.first().and_then(|root| root.key().ok()),
            copied: copied::<Tree<S, A>>,
            tree: Mutex::new(Some(Box::new(tree))),
        }
    }

    /// Returns the tree, for a search that goes on with it; afterwards there is none.
    pub fn take(&self) -> Option<AnyTree> {
        self.tree.lock().ok().and_then(|mut tree| tree.take())
    }

    pub fn num_nodes(&self) -> usize {
        self.num_nodes
    }
}

/// Returns an equal tree, if it is of this kind.
fn copied<T: Any + Clone + Send>(tree: &(dyn Any + Send)) -> Option<AnyTree> {
    tree.downcast_ref::<T>().map(|tree| -> AnyTree { Box::new(tree.clone()) })
}
