//! The search: one decoupled PUCT for any number of players, many trees per batch. It knows no game.

#![forbid(unsafe_code)]

pub mod game;
pub mod rng;

pub use game::{Action, Agent, NoAgent, Observe, Player, Players, State};
pub use rng::Rng;
