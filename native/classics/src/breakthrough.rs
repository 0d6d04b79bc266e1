//! Breakthrough: pieces move forward and capture diagonally; the first player to reach the last row wins.

use crate::cells::Cells;
use crate::position::{Ending, Position, Rules};
use moemcts_tree::{Action, Player};

/// Bits per row, for every board size.
const STRIDE: usize = 8;
const NOT_FIRST_COLUMN: u64 = !0x0101_0101_0101_0101;
const NOT_LAST_COLUMN: u64 = !0x8080_8080_8080_8080;

/// A board of up to 8 x 8; White is the first player, row 1 the lowest.
///
/// An action is a cell in one of three planes: the piece's cell from the player's point of view, with its own side at
/// the bottom, and the plane for moving left, straight or right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Breakthrough {
    rows: u8,
    columns: u8,
}

impl Default for Breakthrough {
    fn default() -> Self {
        Self { rows: 8, columns: 8 }
    }
}

impl Rules for Breakthrough {
    type Cells = u64;

    const MARKS: [char; 2] = ['w', 'b'];
    const ROWS_UPWARD: bool = true;
    const STONES_ARE_PLIES: bool = false;

    fn sized(rows: usize, columns: usize) -> Result<Self, String> {
        match (rows, columns) {
            (3..=8, 2..=8) => Ok(Self { rows: rows as u8, columns: columns as u8 }),
            _ => Err(format!("expected 3 to 8 rows and 2 to 8 columns, got {rows} and {columns}")),
        }
    }

    fn rows(&self) -> usize {
        self.rows.into()
    }

    fn columns(&self) -> usize {
        self.columns.into()
    }

    fn num_actions(&self) -> usize {
        3 * self.rows() * self.columns()
    }

    /// Two rows of pieces on each side, or one on boards with fewer than six rows, as in OpenSpiel.
    fn start(&self) -> [u64; 2] {
        let row = (1 << self.columns) - 1;
        let first = if self.rows >= 6 { row | row << STRIDE } else { row };
        [first, self.turned(1, first)]
    }

    fn cell(&self, row: usize, column: usize) -> u32 {
        (row * STRIDE + column) as u32
    }

    fn cell_for_player(&self, player: Player, row: usize, column: usize) -> u32 {
        self.cell(if player == 0 { row } else { self.rows() - 1 - row }, column)
    }

    fn actions(position: &Position<Self>, out: &mut Vec<Action>) {
        let rules = position.rules;
        let own = rules.turned(position.mover(), position.own);
        let other = rules.turned(position.mover(), position.other);
        let (free, board) = (rules.board() & !own, rules.board());
        let left = own & (free & NOT_LAST_COLUMN) >> 7;
        let straight = own & (board & !own & !other) >> 8;
        let right = own & (free & NOT_FIRST_COLUMN) >> 9;
        for (plane, pieces) in [left, straight, right].into_iter().enumerate() {
            out.extend(pieces.iter().map(|cell| {
                let (row, column) = (cell as usize / STRIDE, cell as usize % STRIDE);
                ((plane * rules.rows() + row) * rules.columns() + column) as Action
            }));
        }
    }

    fn play(position: &mut Position<Self>, action: Action) {
        let rules = position.rules;
        let cells = rules.rows() * rules.columns();
        let (plane, cell) = (action as usize / cells, action as usize % cells);
        let from = 1 << rules.cell(cell / rules.columns(), cell % rules.columns());
        let [from, to] = [from, from << (7 + plane)].map(|piece| rules.turned(position.mover(), piece));
        position.own = position.own & !from | to;
        position.other &= !to;
    }

    fn ending(position: &Position<Self>) -> Ending {
        let rules = position.rules;
        let last = 1 - position.mover();
        let arrived = rules.turned(last, position.other) >> ((rules.rows() - 1) * STRIDE);
        if arrived != 0 || position.own == 0 {
            Ending::win(last)
        } else {
            Ending::None
        }
    }
}

impl Breakthrough {
    fn board(self) -> u64 {
        let row = (1 << self.columns) - 1;
        (0..self.rows()).fold(0, |board, number| board | row << (number * STRIDE))
    }

    /// Returns pieces from a player's point of view: the second player has the last row at the bottom.
    fn turned(self, player: Player, pieces: u64) -> u64 {
        if player == 0 {
            pieces
        } else {
            pieces.swap_bytes() >> (STRIDE * (STRIDE - self.rows()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perft;

    /// Counted with OpenSpiel 1.6 (`breakthrough`).
    #[test]
    fn there_are_as_many_games_as_in_openspiel() {
        let expected = [1, 22, 484, 11_132, 256_036];
        for (depth, &count) in expected.iter().enumerate() {
            assert_eq!(perft(&Position::<Breakthrough>::default(), depth as u32), count, "at depth {depth}");
        }
    }

    #[test]
    fn who_has_no_piece_left_has_lost() {
        let rules = Breakthrough::sized(4, 2).unwrap();
        let position = Position::of(rules, [0b01, 0b10 << 8], 0).unwrap();
        let captured = position.after((2 * 4) * 2);
        assert_eq!(captured.ending(), Ending::First);
    }
}
