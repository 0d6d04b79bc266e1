//! Pommerman: the reference's rules step by step, its SimpleAgent, observations, planes and records.
//!
//! Reference: MultiAgentLearning/playground at 5315f6d. `docs/games/pommerman.md` describes the rules.

#![forbid(unsafe_code)]

pub mod agents;
pub mod board;
pub mod features;
mod game;
pub mod geometry;
mod moves;
pub mod observe;
pub mod outcome;
pub mod perceive;
pub mod planes;
mod reach;
pub mod record;
pub mod sight;
pub mod simple_agent;
pub mod state;
mod step;
pub mod symmetry;
pub mod text;
pub mod trace;
pub mod variant;

pub use agents::Scripted;
pub use board::Corners;
pub use outcome::{Ending, Outcome};
pub use simple_agent::Memory;
pub use state::{Agent, Bomb, State};
pub use variant::{GameType, Rules, Variant, VARIANTS};

/// The number of actions: Stop, Up, Down, Left, Right, Bomb.
pub const NUM_ACTIONS: usize = 6;
/// The largest number of players of any variant.
pub const MAX_PLAYERS: usize = 4;

pub const STOP: u8 = 0;
pub const UP: u8 = 1;
pub const DOWN: u8 = 2;
pub const LEFT: u8 = 3;
pub const RIGHT: u8 = 4;
pub const BOMB: u8 = 5;

/// The values of cells of the reference's board.
pub mod item {
    pub const PASSAGE: u8 = 0;
    pub const RIGID: u8 = 1;
    pub const WOOD: u8 = 2;
    pub const BOMB: u8 = 3;
    pub const FLAMES: u8 = 4;
    pub const FOG: u8 = 5;
    pub const EXTRA_BOMB: u8 = 6;
    pub const INCR_RANGE: u8 = 7;
    pub const KICK: u8 = 8;
    pub const AGENT_DUMMY: u8 = 9;
    pub const AGENT0: u8 = 10;
}
