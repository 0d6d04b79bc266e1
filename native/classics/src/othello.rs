//! Othello: a stone flips the opponent's stones between it and another of its colour; the most stones win.

use crate::cells::Cells;
use crate::position::{Ending, Position, Rules};
use moemcts_tree::Action;

/// Bits per row, for every board size.
const STRIDE: usize = 8;
const NOT_FIRST_COLUMN: u64 = !0x0101_0101_0101_0101;
const NOT_LAST_COLUMN: u64 = !0x8080_8080_8080_8080;
const ALL: u64 = !0;
/// By how much a direction shifts bits, and the mask of cells where it can arrive.
const DIRECTIONS: [(i32, u64); 8] = [
    (1, NOT_FIRST_COLUMN),
    (7, NOT_LAST_COLUMN),
    (8, ALL),
    (9, NOT_FIRST_COLUMN),
    (-1, NOT_LAST_COLUMN),
    (-7, NOT_FIRST_COLUMN),
    (-8, ALL),
    (-9, NOT_LAST_COLUMN),
];

/// A square board of even size; Black is the first player, row 1 the top one. The last action is a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Othello {
    size: u8,
}

impl Default for Othello {
    fn default() -> Self {
        Self { size: 8 }
    }
}

impl Rules for Othello {
    type Cells = u64;

    const STONES_ARE_PLIES: bool = false;

    fn sized(rows: usize, columns: usize) -> Result<Self, String> {
        match (rows, columns) {
            (4 | 6 | 8, _) if rows == columns => Ok(Self { size: rows as u8 }),
            _ => Err(format!("expected a square board of size 4, 6 or 8, got {rows} rows and {columns} columns")),
        }
    }

    fn rows(&self) -> usize {
        self.size.into()
    }

    fn columns(&self) -> usize {
        self.size.into()
    }

    fn num_actions(&self) -> usize {
        self.rows() * self.columns() + 1
    }

    fn start(&self) -> [u64; 2] {
        let high = self.rows() / 2;
        let stones = |cells: [(usize, usize); 2]| cells.map(|(row, column)| 1 << self.cell(row, column));
        let [e4, d5] = stones([(high - 1, high), (high, high - 1)]);
        let [d4, e5] = stones([(high - 1, high - 1), (high, high)]);
        [e4 | d5, d4 | e5]
    }

    fn cell(&self, row: usize, column: usize) -> u32 {
        (row * STRIDE + column) as u32
    }

    fn actions(position: &Position<Self>, out: &mut Vec<Action>) {
        let rules = position.rules;
        let legal_cells = legal_cells(position.own, position.other, rules.board());
        if legal_cells == 0 {
            out.push(rules.pass());
        }
        out.extend(legal_cells.iter().map(|cell| cell / STRIDE as u32 * u32::from(rules.size) + cell % STRIDE as u32));
    }

    fn play(position: &mut Position<Self>, action: Action) {
        if action == position.rules.pass() {
            return;
        }
        let (row, column) = (action as usize / position.rules.rows(), action as usize % position.rules.rows());
        let placed = 1 << position.rules.cell(row, column);
        let flipped = flipped_stones(placed, position.own, position.other);
        position.own |= placed | flipped;
        position.other &= !flipped;
    }

    fn ending(position: &Position<Self>) -> Ending {
        let (own, other, board) = (position.own, position.other, position.rules.board());
        if legal_cells(own, other, board) != 0 || legal_cells(other, own, board) != 0 {
            return Ending::None;
        }
        match own.len().cmp(&other.len()) {
            std::cmp::Ordering::Less => Ending::win(1 - position.mover()),
            std::cmp::Ordering::Equal => Ending::Draw,
            std::cmp::Ordering::Greater => Ending::win(position.mover()),
        }
    }
}

impl Othello {
    fn board(self) -> u64 {
        let row = (1 << self.size) - 1;
        (0..self.rows()).fold(0, |board, number| board | row << (number * STRIDE))
    }

    fn pass(self) -> Action {
        Action::from(self.size) * Action::from(self.size)
    }
}

/// Returns the empty cells where a stone would flip others.
fn legal_cells(own: u64, other: u64, board: u64) -> u64 {
    let empty = board & !(own | other);
    DIRECTIONS.into_iter().fold(0, |cells, direction| {
        let mut line = step(own, direction) & other;
        // At most six stones are between two others in a row of eight.
        for _ in 0..5 {
            line |= step(line, direction) & other;
        }
        cells | step(line, direction) & empty
    })
}

/// Returns the stones flipped by a placed stone.
fn flipped_stones(placed: u64, own: u64, other: u64) -> u64 {
    DIRECTIONS.into_iter().fold(0, |cells, direction| {
        let mut line = 0;
        let mut next = step(placed, direction);
        while next & other != 0 {
            line |= next;
            next = step(next, direction);
        }
        if next & own != 0 {
            cells | line
        } else {
            cells
        }
    })
}

fn step(cells: u64, (shift, mask): (i32, u64)) -> u64 {
    (if shift > 0 { cells << shift } else { cells >> -shift }) & mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perft;

    /// Perft of Othello: Bik, Computing deep perft and divide numbers for checkers and Othello.
    #[test]
    fn there_are_as_many_games_as_published() {
        let expected = [1, 4, 12, 56, 244, 1396, 8200, 55_092];
        for (depth, &count) in expected.iter().enumerate() {
            assert_eq!(perft(&Position::<Othello>::default(), depth as u32), count, "at depth {depth}");
        }
    }

    #[test]
    #[ignore = "takes seconds; a pass is first possible at this depth"]
    fn there_are_as_many_games_with_passes_as_published() {
        assert_eq!(perft(&Position::<Othello>::default(), 8), 390_216);
        assert_eq!(perft(&Position::<Othello>::default(), 9), 3_005_288);
        assert_eq!(perft(&Position::<Othello>::default(), 10), 24_571_284);
    }
}
