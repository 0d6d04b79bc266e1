//! How many ways there are to play on, by which rules are compared with published numbers.

use crate::position::{Position, Rules};

/// Returns the number of sequences of so many moves; games that end before do not count.
pub fn perft<R: Rules>(position: &Position<R>, depth: u32) -> u64 {
    match depth {
        0 => 1,
        _ => position.actions().into_iter().map(|action| perft(&position.after(action), depth - 1)).sum(),
    }
}
