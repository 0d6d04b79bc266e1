//! Positions as text: the rows of the drawn board from the top, the player to move, the number of plies.

use crate::cells::Cells;
use crate::position::{Position, Rules};

const EMPTY: char = '.';

impl<R: Rules> Position<R> {
    /// Returns the rows of the drawn board, top row first.
    pub fn drawn(&self) -> Vec<String> {
        let mark = |cell: u32| match (self.stones_of(0).has(cell), self.stones_of(1).has(cell)) {
            (true, _) => R::MARKS[0],
            (_, true) => R::MARKS[1],
            _ => EMPTY,
        };
        let columns = self.rules.columns();
        rows(&self.rules).map(|row| (0..columns).map(|column| mark(self.rules.cell(row, column))).collect()).collect()
    }

    /// Returns one line that `parse` reads back, such as `.x./.o./... x 2`.
    pub fn format(&self) -> String {
        format!("{} {} {}", self.drawn().join("/"), R::MARKS[self.mover()], self.plies())
    }

    /// Parses a position written as rows, the player to move and the ply; the last two are optional if the stones imply
    /// them.
    ///
    /// The slashes between rows are optional. The error describes what was expected.
    pub fn parse(rules: R, text: &str) -> Result<Self, String> {
        let mut fields = text.split_whitespace();
        let board = fields.next().unwrap_or_default();
        let stones = read_board(&rules, board)?;
        let (mover, ply) = (fields.next(), fields.next());
        if fields.next().is_some() {
            return Err(format!("expected a board, who moves and the ply, got {text:?}"));
        }
        let least = if R::STONES_ARE_PLIES { stones[0].len() + stones[1].len() } else { 0 };
        let turn = match mover {
            None if R::STONES_ARE_PLIES => least % 2,
            None => return Err(format!("expected {} to move, got {text:?}", either::<R>())),
            Some(mover) => turn::<R>(mover)?,
        };
        let ply = match ply {
            None => (least + (least + turn) % 2) as u16,
            Some(ply) => ply.parse().map_err(|_| format!("expected the number of plies played, got {ply:?}"))?,
        };
        if u32::from(ply % 2) != turn {
            return Err(format!("expected {} to move after {ply} plies", R::MARKS[usize::from(ply % 2)]));
        }
        Self::of(rules, stones, ply)
    }
}

/// Returns the rows in drawing order.
fn rows<R: Rules>(rules: &R) -> impl Iterator<Item = usize> + use<R> {
    let rows = rules.rows();
    (0..rows).map(move |row| if R::ROWS_UPWARD { rows - 1 - row } else { row })
}

fn read_board<R: Rules>(rules: &R, board: &str) -> Result<[R::Cells; 2], String> {
    let columns = rules.columns();
    let expected = || {
        let [x, o] = R::MARKS;
        format!("expected {} rows of {columns} cells, each {x}, {o} or {EMPTY}, got {board:?}", rules.rows())
    };
    let given: Vec<char> = board.chars().filter(|&mark| mark != '/').collect();
    let lengths_differ = board.contains('/') && board.split('/').any(|row| row.chars().count() != columns);
    if given.len() != rules.rows() * columns || lengths_differ {
        return Err(expected());
    }
    let mut stones = [R::Cells::NONE; 2];
    for (row, marks) in rows(rules).zip(given.chunks(columns)) {
        for (column, mark) in marks.iter().enumerate() {
            let cell = R::Cells::one(rules.cell(row, column));
            match R::MARKS.iter().position(|own| own.eq_ignore_ascii_case(mark)) {
                Some(player) => stones[player] = stones[player] | cell,
                None if matches!(mark, '.' | '-') => {}
                None => return Err(expected()),
            }
        }
    }
    Ok(stones)
}

fn turn<R: Rules>(mover: &str) -> Result<u32, String> {
    let is = |mark: char| mover.eq_ignore_ascii_case(mark.encode_utf8(&mut [0; 4]));
    match R::MARKS.map(is) {
        [true, _] => Ok(0),
        [_, true] => Ok(1),
        _ => Err(format!("expected {} to move, got {mover:?}", either::<R>())),
    }
}

fn either<R: Rules>() -> String {
    format!("{} or {}", R::MARKS[0], R::MARKS[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Breakthrough, ConnectFour, Hex, Othello, TicTacToe};
    use moemcts_tree::Rng;

    fn check<R: Rules>(rules: R) {
        let mut rng = Rng::new(1);
        for _ in 0..20 {
            let mut position = Position::start(rules);
            loop {
                assert_eq!(Position::parse(rules, &position.format()), Ok(position));
                let mut record = Vec::new();
                position.pack(&mut record);
                assert_eq!(Position::unpack(&record), Ok(position));
                let actions = position.actions();
                if actions.is_empty() {
                    break;
                }
                position = position.after(actions[rng.below(actions.len())]);
            }
        }
    }

    #[test]
    fn positions_survive_being_written_and_packed() {
        check(ConnectFour);
        check(TicTacToe);
        check(Othello::default());
        check(Othello::sized(6, 6).unwrap());
        check(Breakthrough::default());
        check(Breakthrough::sized(5, 3).unwrap());
        check(Hex::default());
        check(Hex::sized(4, 4).unwrap());
    }

    #[test]
    fn what_is_no_position_says_what_was_expected() {
        let fault = |text| Position::parse(TicTacToe, text).unwrap_err();
        assert!(fault(".../.o. x").contains("3 rows of 3 cells"));
        assert!(fault("....../... x").contains("3 rows of 3 cells"));
        assert!(fault(".../.z./... x").contains("each x, o or ."));
        assert!(fault(".../.x./... y").contains("x or o to move"));
        assert!(fault(".../.x./... x").contains("moved in turn 2 times, got 1 and 0"));
        assert!(fault(".../.x./... o 2").contains("x to move after 2 plies"));
        assert!(Position::parse(ConnectFour, "......./......./......./...x.../......./.......")
            .unwrap_err()
            .contains("ground"));
    }
}
