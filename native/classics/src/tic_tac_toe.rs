//! Tic-tac-toe: three in a row on a 3 x 3 board.

use crate::cells::Cells;
use crate::position::{Ending, Position, Rules};
use moemcts_tree::Action;

const SIZE: usize = 3;
const BOARD: u64 = 0o777;
const LINES: [u64; 8] = [0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124];

/// Nine cells, row by row from the top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TicTacToe;

impl Rules for TicTacToe {
    type Cells = u64;

    fn sized(rows: usize, columns: usize) -> Result<Self, String> {
        match (rows, columns) {
            (SIZE, SIZE) => Ok(Self),
            _ => Err(format!("expected a board of 3 rows and 3 columns, got {rows} and {columns}")),
        }
    }

    fn rows(&self) -> usize {
        SIZE
    }

    fn columns(&self) -> usize {
        SIZE
    }

    fn num_actions(&self) -> usize {
        SIZE * SIZE
    }

    fn cell(&self, row: usize, column: usize) -> u32 {
        (row * SIZE + column) as u32
    }

    fn actions(position: &Position<Self>, out: &mut Vec<Action>) {
        out.extend((BOARD & !position.occupied()).iter());
    }

    fn play(position: &mut Position<Self>, cell: Action) {
        position.own |= 1 << cell;
    }

    fn ending(position: &Position<Self>) -> Ending {
        if LINES.iter().any(|line| position.other & line == *line) {
            Ending::win(1 - position.mover())
        } else if position.occupied() == BOARD {
            Ending::Draw
        } else {
            Ending::None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perft;

    /// 127,872 games of nine moves: Schaefer, MathRec Solutions (Tic-Tac-Toe), 2002.
    #[test]
    fn there_are_as_many_full_games_as_published() {
        assert_eq!(perft(&Position::<TicTacToe>::default(), 9), 46_080 + 81_792);
    }
}
