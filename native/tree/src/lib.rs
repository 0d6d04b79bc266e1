//! Game-independent tree search: decoupled PUCT for any number of players, many trees per batch.

#![deny(unsafe_code)]

mod chance;
pub mod config;
pub mod error;
pub mod game;
pub mod memory;
pub mod playout_search;
pub mod playouts;
pub mod rng;
pub mod rollouts;
pub mod search;
pub mod tree;

pub use config::{Config, EarlyEnd, Exploration, GumbelRoot, Limits, Unpruning};
pub use error::SearchError;
pub use game::{hash_of, Action, Agent, Dimensions, NoAgent, Observe, Player, Players, State, CHANCE};
pub use playout_search::{playout_search, Arm, PlayoutConfig};
pub use playouts::{playout, Stop};
pub use rng::Rng;
pub use rollouts::{roll_out, RolloutResult};
pub use search::Search;
pub use tree::Tree;
