//! Hex: stones are never moved; a player wins by connecting its two sides, and exactly one player always does.

use crate::cells::Cells;
use crate::position::{Ending, Position, Rules};
use moemcts_tree::{Action, Player};

const MAX_SIZE: usize = 11;
/// The cells of the first column, by board size.
const FIRST_COLUMN: [u128; MAX_SIZE + 1] = first_columns();

/// A rhombus of cells; the first player connects the top and the bottom row, the second the left and the right column.
///
/// The second player sees the board mirrored at its long diagonal, so that both connect the top and the bottom row from
/// their points of view; actions are cells from the player's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hex {
    size: u8,
}

impl Default for Hex {
    fn default() -> Self {
        Self { size: MAX_SIZE as u8 }
    }
}

impl Rules for Hex {
    type Cells = u128;

    fn sized(rows: usize, columns: usize) -> Result<Self, String> {
        match (rows, columns) {
            (2..=MAX_SIZE, _) if rows == columns => Ok(Self { size: rows as u8 }),
            _ => Err(format!("expected as many rows as columns, 2 to {MAX_SIZE}, got {rows} and {columns}")),
        }
    }

    fn rows(&self) -> usize {
        self.size.into()
    }

    fn columns(&self) -> usize {
        self.size.into()
    }

    fn num_actions(&self) -> usize {
        self.rows() * self.rows()
    }

    fn cell(&self, row: usize, column: usize) -> u32 {
        (row * self.rows() + column) as u32
    }

    fn cell_for_player(&self, player: Player, row: usize, column: usize) -> u32 {
        if player == 0 {
            self.cell(row, column)
        } else {
            self.cell(column, row)
        }
    }

    fn actions(position: &Position<Self>, out: &mut Vec<Action>) {
        let (rules, taken) = (position.rules, position.occupied());
        if position.mover() == 0 {
            out.extend((rules.board() & !taken).iter());
        } else {
            out.extend((0..rules.num_actions() as Action).filter(|&action| !taken.has(rules.placed_cell(1, action))));
        }
    }

    fn play(position: &mut Position<Self>, action: Action) {
        position.own |= 1 << position.rules.placed_cell(position.mover(), action);
    }

    fn ending(position: &Position<Self>) -> Ending {
        let last = 1 - position.mover();
        if position.rules.connects(last, position.other) {
            Ending::win(last)
        } else {
            Ending::None
        }
    }
}

impl Hex {
    fn board(self) -> u128 {
        (1 << self.num_actions()) - 1
    }

    fn placed_cell(self, player: Player, action: Action) -> u32 {
        let (row, column) = (action as usize / self.rows(), action as usize % self.rows());
        self.cell_for_player(player, row, column)
    }

    /// Returns whether a player's stones connect its two sides.
    fn connects(self, player: Player, stones: u128) -> bool {
        let size = self.rows();
        if (stones.len() as usize) < size {
            return false;
        }
        let first_column = FIRST_COLUMN[size];
        let last_column = first_column << (size - 1);
        let first_row = (1 << size) - 1;
        let (from, to) =
            if player == 0 { (first_row, first_row << (size * (size - 1))) } else { (first_column, last_column) };
        let mut reached = stones & from;
        loop {
            let (inner, outer) = (reached & !first_column, reached & !last_column);
            let beside = outer << 1 | inner >> 1;
            let below = reached << size | inner << (size - 1);
            let above = reached >> size | outer >> (size - 1);
            let expanded = reached | (beside | below | above) & stones;
            if expanded & to != 0 || expanded == reached {
                return expanded & to != 0;
            }
            reached = expanded;
        }
    }
}

const fn first_columns() -> [u128; MAX_SIZE + 1] {
    let mut columns = [0; MAX_SIZE + 1];
    let mut size = 1;
    while size <= MAX_SIZE {
        let mut row = 0;
        while row < size {
            columns[size] |= 1 << (row * size);
            row += 1;
        }
        size += 1;
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use moemcts_tree::Rng;

    #[test]
    fn a_full_board_has_exactly_one_winner() {
        let mut rng = Rng::new(0);
        for size in 2..=MAX_SIZE {
            let rules = Hex::sized(size, size).unwrap();
            for _ in 0..100 {
                let first = (0..rules.num_actions() as u32).filter(|_| rng.below(2) == 0);
                let first = first.fold(0, |stones, cell| stones | 1 << cell);
                assert_ne!(rules.connects(0, first), rules.connects(1, rules.board() & !first));
            }
        }
    }

    /// The first player wins on every board, by Nash's strategy-stealing argument.
    #[test]
    fn who_begins_wins() {
        fn wins(position: &Position<Hex>) -> bool {
            !position.is_over() && position.actions().into_iter().any(|action| !wins(&position.after(action)))
        }
        for size in 2..=3 {
            assert!(wins(&Position::start(Hex::sized(size, size).unwrap())));
        }
    }
}
