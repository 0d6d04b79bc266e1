//! Errors of a search.

use crate::game::{Action, Player};
use std::fmt;

#[derive(Debug)]
pub enum SearchError<E> {
    /// The game itself raised an error.
    Game(E),
    /// An active player has no action.
    NoAction(Player),
    /// An action of the game lies outside the policy.
    ActionRange { action: Action, num_actions: usize },
    /// The actions of a player are not in strictly ascending order.
    ActionOrder { player: Player, actions: [Action; 2] },
    /// The root actions to be searched are empty or not all legal.
    RootActions { player: Player, legal: Vec<Action>, got: Vec<Action> },
    /// The evaluator returned a value or logit that is not finite.
    NotFinite { row: usize },
    /// An evaluation was given for a row that is not pending.
    Row(usize),
    /// There are too few or too many replies of opponents.
    Replies { expected: usize, got: usize },
    /// The probabilities of a chance node are not a distribution over its outcomes.
    Chances { num_outcomes: usize, chances: Vec<f32> },
    /// Chance is active together with a player.
    MixedChance,
    /// Chance is active at the root.
    ChanceRoot,
    /// A value of the evaluator is out of range.
    ValueRange { row: usize, value: f32 },
    /// The player to search for is not active at the root.
    NotActive { player: Player, active: Vec<Player> },
    /// A player outside `0..num_players` is active.
    UnknownPlayer { player: Player, num_players: usize },
    /// A player has more actions than a node can index.
    TooManyActions { player: Player, most: usize },
    /// A game is longer than the maximum length.
    Endless { max_plies: u32 },
    /// The caller asked the search to stop.
    Interrupted,
    /// The search failed earlier, and its trees are incomplete.
    Failed,
}

impl<E> SearchError<E> {
    /// Returns whether the game broke the contract of games.
    pub fn is_contract_violation(&self) -> bool {
        matches!(
            self,
            Self::NoAction(_)
                | Self::ActionRange { .. }
                | Self::ActionOrder { .. }
                | Self::Chances { .. }
                | Self::MixedChance
                | Self::UnknownPlayer { .. }
                | Self::TooManyActions { .. }
                | Self::Endless { .. }
        )
    }
}

impl<E> From<E> for SearchError<E> {
    fn from(error: E) -> Self {
        Self::Game(error)
    }
}

impl<E> fmt::Display for SearchError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Game(_) => write!(f, "the game failed"),
            Self::NoAction(player) => {
                write!(f, "expected a legal action for active player {player}, the game gave none")
            }
            Self::ActionRange { action, num_actions } => {
                write!(f, "expected actions below {num_actions}, the game gave {action}")
            }
            Self::ActionOrder { player, actions: [first, next] } => {
                write!(f, "expected actions of player {player} that ascend, the game gave {next} after {first}")
            }
            Self::RootActions { player, legal, got } => {
                write!(f, "expected root actions of player {player}, one or more of {legal:?}, got {got:?}")
            }
            Self::NotFinite { row } => {
                write!(f, "expected numbers from the evaluator, got NaN or infinity in row {row}")
            }
            Self::Row(row) => write!(f, "row {row} waits for no evaluation"),
            Self::Replies { expected, got } => write!(f, "expected {expected} replies, got {got}"),
            Self::Chances { num_outcomes, chances } => write!(
                f,
                "expected the chances of {num_outcomes} outcomes, non-negative and summing to one, the game gave {chances:?}"
            ),
            Self::MixedChance => write!(f, "expected chance to move alone, the game let players move with it"),
            Self::ChanceRoot => {
                write!(f, "expected a root in which a player moves, got one in which chance moves; play an outcome first")
            }
            Self::ValueRange { row, value } => {
                write!(f, "expected values in [-1, 1] from the evaluator, got {value} in row {row}")
            }
            Self::NotActive { player, active } => {
                write!(f, "expected a root where player {player} is active, got active players {active:?}")
            }
            Self::UnknownPlayer { player, num_players } => {
                write!(f, "expected active players below {num_players}, the game gave {player}")
            }
            Self::TooManyActions { player, most } => {
                write!(f, "expected at most {most} actions of a player, the game gave player {player} more")
            }
            Self::Endless { max_plies } => write!(f, "expected the game to end within max_plies, {max_plies}, but it goes on"),
            Self::Interrupted => write!(f, "interrupted"),
            Self::Failed => write!(f, "expected the search to be reset after an error before it goes on"),
        }
    }
}
