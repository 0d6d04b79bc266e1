//! What can go wrong in a search.

use crate::game::{Action, Player};
use std::fmt;

#[derive(Debug)]
pub enum SearchError<E> {
    /// The game itself failed.
    Game(E),
    /// An active player has nothing to play.
    NoAction(Player),
    /// The game named an action that no policy has an entry for.
    ActionRange { action: Action, num_actions: usize },
    /// A root is to be searched with actions that it does not have, or with none.
    RootActions { player: Player, legal: Vec<Action>, got: Vec<Action> },
    /// The evaluator returned something that is not a number.
    NotFinite { row: usize },
    /// Evaluations came for rows that wait for none.
    Row(usize),
    /// Opponents' replies are missing or too many.
    Replies { expected: usize, got: usize },
}

impl<E> From<E> for SearchError<E> {
    fn from(error: E) -> Self {
        Self::Game(error)
    }
}

impl<E: fmt::Debug> fmt::Display for SearchError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Game(error) => write!(f, "the game failed: {error:?}"),
            Self::NoAction(player) => {
                write!(f, "expected a legal action for active player {player}, the game gave none")
            }
            Self::ActionRange { action, num_actions } => {
                write!(f, "expected actions below {num_actions}, the game gave {action}")
            }
            Self::RootActions { player, legal, got } => {
                write!(f, "expected root actions of player {player}, one or more of {legal:?}, got {got:?}")
            }
            Self::NotFinite { row } => write!(f, "expected numbers from the evaluator, got NaN in row {row}"),
            Self::Row(row) => write!(f, "row {row} waits for no evaluation"),
            Self::Replies { expected, got } => write!(f, "expected {expected} replies, got {got}"),
        }
    }
}
