//! Perft: counts of move sequences, for comparing the rules with published numbers.

use crate::position::{Position, Rules};

/// Returns the number of move sequences of length `depth`; games that end earlier do not count.
pub fn perft<R: Rules>(position: &Position<R>, depth: u32) -> u64 {
    match depth {
        0 => 1,
        _ => position.actions().into_iter().map(|action| perft(&position.after(action), depth - 1)).sum(),
    }
}
