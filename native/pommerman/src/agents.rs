//! Scripted agents: values that carry their memory from step to step.

use moemcts_tree::Rng;

use crate::sight::Sight;
use crate::simple_agent::{self, Memory};
use crate::state::State;
use crate::{NUM_ACTIONS, STOP};

/// A scripted agent. It observes only what its player can see, and plays Stop when its player is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scripted {
    /// The reference's `SimpleAgent`.
    Simple(Memory),
    /// The reference's `RandomAgent`: uniform over all six actions.
    Random,
    /// Never moves.
    Stop,
}

impl Scripted {
    /// The names that `from_name` knows.
    pub const NAMES: [&'static str; 3] = ["simple", "random", "stop"];

    /// Returns the agent of this name, with a fresh memory.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "simple" => Some(Self::Simple(Memory::default())),
            "random" => Some(Self::Random),
            "stop" => Some(Self::Stop),
            _ => None,
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Simple(_) => "simple",
            Self::Random => "random",
            Self::Stop => "stop",
        }
    }

    /// Returns the agent's action and updates its memory.
    #[inline]
    pub fn choose(&mut self, state: &State, player: usize, rng: &mut Rng) -> u8 {
        if !state.agents[player].alive {
            return STOP;
        }
        match self {
            Self::Simple(memory) => simple_agent::act(&Sight::of(state, player), memory, rng),
            Self::Random => rng.below(NUM_ACTIONS) as u8,
            Self::Stop => STOP,
        }
    }
}
