//! Connect four: stones fall to the lowest empty cell of a column; four in a row win.

use crate::cells::Cells;
use crate::position::{Ending, Position, Rules};
use moemcts_tree::Action;

pub const NUM_ROWS: usize = 6;
pub const NUM_COLUMNS: usize = 7;

/// Six rows and seven columns; the bits of a column are adjacent, with an empty bit above it (Tromp's Fhourstones).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ConnectFour;

impl Rules for ConnectFour {
    type Cells = u64;

    const ROWS_UPWARD: bool = true;

    fn sized(rows: usize, columns: usize) -> Result<Self, String> {
        match (rows, columns) {
            (NUM_ROWS, NUM_COLUMNS) => Ok(Self),
            _ => {
                Err(format!("expected a board of {NUM_ROWS} rows and {NUM_COLUMNS} columns, got {rows} and {columns}"))
            }
        }
    }

    fn rows(&self) -> usize {
        NUM_ROWS
    }

    fn columns(&self) -> usize {
        NUM_COLUMNS
    }

    fn num_actions(&self) -> usize {
        NUM_COLUMNS
    }

    fn cell(&self, row: usize, column: usize) -> u32 {
        (column * 7 + row) as u32
    }

    fn actions(position: &Position<Self>, out: &mut Vec<Action>) {
        let taken = position.occupied();
        out.extend((0..NUM_COLUMNS as Action).filter(|&column| landing_cell(column, taken) != 0));
    }

    fn play(position: &mut Position<Self>, column: Action) {
        position.own |= landing_cell(column, position.occupied());
    }

    fn ending(position: &Position<Self>) -> Ending {
        if has_four(position.other) {
            Ending::win(1 - position.mover())
        } else if position.occupied().len() as usize == NUM_ROWS * NUM_COLUMNS {
            Ending::Draw
        } else {
            Ending::None
        }
    }

    fn check(&self, [first, second]: [u64; 2]) -> Result<(), String> {
        let taken = first | second;
        let columns = (0..NUM_COLUMNS as Action).map(|column| taken >> (column * 7) & 0b11_1111);
        // A column has no gaps exactly if adding one more stone carries through all of its stones.
        match columns.into_iter().all(|stones| stones & (stones + 1) == 0) {
            true => Ok(()),
            false => Err("expected stones to lie on others or on the ground".to_owned()),
        }
    }
}

/// Returns the bit of a stone dropped into a column, or 0 if it is full.
pub fn landing_cell(column: Action, taken: u64) -> u64 {
    let cells = 0b11_1111 << (column * 7);
    ((taken & cells) + (1 << (column * 7))) & cells
}

/// Returns whether four of these stones are in a row.
pub fn has_four(stones: u64) -> bool {
    [1, 6, 7, 8].into_iter().any(|step| {
        let pairs = stones & stones >> step;
        pairs & pairs >> (2 * step) != 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perft;
    use std::collections::HashSet;

    /// Positions after n plies: OEIS A212693, computed by Tromp.
    #[test]
    fn there_are_as_many_positions_as_published() {
        let expected = [1, 7, 49, 238, 1120, 4263, 16_422, 54_859, 184_275];
        let mut positions = HashSet::from([Position::<ConnectFour>::default()]);
        for count in expected {
            assert_eq!(positions.len(), count);
            positions = positions.iter().flat_map(|one| one.actions().into_iter().map(|a| one.after(a))).collect();
        }
    }

    /// There are 7^n sequences of n <= 7 moves, minus those that overfill a column.
    #[test]
    fn games_branch_sevenfold_until_a_column_is_full() {
        assert_eq!(perft(&Position::<ConnectFour>::default(), 6), 7u64.pow(6));
        assert_eq!(perft(&Position::<ConnectFour>::default(), 7), 7u64.pow(7) - 7);
    }
}
