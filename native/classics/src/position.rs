//! Shared by all games: a position is two sets of stones and the player to move.

use crate::cells::Cells;
use moemcts_tree::{hash_of, Action, Dimensions, Observe, Player, Players, Rng, State};
use std::convert::Infallible;
use std::fmt::Debug;
use std::hash::Hash;

/// The player's own stones, the opponent's stones, empty cells.
pub const NUM_PLANES: usize = 3;

/// Upper bound on a position's number of plies; no game is nearly as long.
const MAX_PLIES: u16 = 9999;

/// The rules of a game with two alternating players on a small board, without further state.
pub trait Rules: Copy + Debug + Default + Eq + Hash + Send + Sync + 'static {
    type Cells: Cells;

    /// The characters of the first and the second player's stones in texts.
    const MARKS: [char; 2] = ['x', 'o'];
    /// Whether row 0 is at the bottom of a drawn board.
    const ROWS_UPWARD: bool = false;
    /// Whether each move adds exactly one stone.
    const STONES_ARE_PLIES: bool = true;

    /// Returns the rules for a board of this size; the error lists the supported sizes.
    fn sized(rows: usize, columns: usize) -> Result<Self, String>;

    fn rows(&self) -> usize;

    fn columns(&self) -> usize;

    fn num_actions(&self) -> usize;

    /// Returns the initial stones of the first and the second player.
    fn start(&self) -> [Self::Cells; 2] {
        [Self::Cells::NONE; 2]
    }

    /// Returns the bit of a cell.
    fn cell(&self, row: usize, column: usize) -> u32;

    /// Returns the bit of the cell in a row and column of the planes from the point of view of `player`.
    fn cell_for_player(&self, _player: Player, row: usize, column: usize) -> u32 {
        self.cell(row, column)
    }

    /// Appends the legal actions of a position that is not over, ascending.
    fn actions(position: &Position<Self>, out: &mut Vec<Action>);

    /// Applies the mover's legal action to the stones; the turn changes afterwards.
    fn play(position: &mut Position<Self>, action: Action);

    /// Returns how the game has ended; only the player who has just moved can have won.
    fn ending(position: &Position<Self>) -> Ending;

    /// Checks that these stones can occur; the error explains why not.
    fn check(&self, _stones: [Self::Cells; 2]) -> Result<(), String> {
        Ok(())
    }
}

/// The result of a game that has ended, or `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ending {
    #[default]
    None,
    Draw,
    First,
    Second,
}

impl Ending {
    /// Returns the ending in which `player` wins.
    pub fn win(player: Player) -> Self {
        [Self::First, Self::Second][player]
    }
}

/// A position: the stones of the player to move and of the opponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position<R: Rules> {
    pub own: R::Cells,
    pub other: R::Cells,
    pub rules: R,
    ply: u16,
    ending: Ending,
}

impl<R: Rules> Default for Position<R> {
    fn default() -> Self {
        Self::start(R::default())
    }
}

impl<R: Rules> Position<R> {
    pub fn start(rules: R) -> Self {
        let [own, other] = rules.start();
        Self { own, other, rules, ply: 0, ending: Ending::None }
    }

    /// Returns the position with these stones of the first and the second player; the error explains why there is none.
    pub fn of(rules: R, stones: [R::Cells; 2], ply: u16) -> Result<Self, String> {
        if ply > MAX_PLIES {
            return Err(format!("expected at most {MAX_PLIES} plies, got {ply}"));
        }
        let [first, second] = stones;
        let board = (0..rules.rows())
            .flat_map(|row| (0..rules.columns()).map(move |column| (row, column)))
            .fold(R::Cells::NONE, |board, (row, column)| board | R::Cells::one(rules.cell(row, column)));
        if !(first & second).is_empty() || !((first | second) & !board).is_empty() {
            return Err("expected at most one stone in each cell of the board".to_owned());
        }
        if R::STONES_ARE_PLIES {
            let expected = u32::from(ply) / 2;
            if (first.len(), second.len()) != (expected + u32::from(ply) % 2, expected) {
                let (x, o) = (first.len(), second.len());
                return Err(format!("expected players to have moved in turn {ply} times, got {x} and {o} stones"));
            }
        }
        rules.check(stones)?;
        let (own, other) = if ply.is_multiple_of(2) { (first, second) } else { (second, first) };
        let mut position = Self { own, other, rules, ply, ending: Ending::None };
        position.ending = R::ending(&position);
        // The ending if the player to move had moved last.
        let swapped_ending = R::ending(&Self { own: other, other: own, ply: ply ^ 1, ..position });
        if swapped_ending == Ending::win(position.mover()) && swapped_ending != position.ending {
            return Err("expected the game not to have ended before the last move".to_owned());
        }
        Ok(position)
    }

    pub fn ending(&self) -> Ending {
        self.ending
    }

    pub fn is_over(&self) -> bool {
        self.ending != Ending::None
    }

    pub fn mover(&self) -> Player {
        Player::from(self.ply % 2)
    }

    pub fn plies(&self) -> u16 {
        self.ply
    }

    /// Returns all stones.
    pub fn occupied(&self) -> R::Cells {
        self.own | self.other
    }

    /// Returns a player's stones.
    pub fn stones_of(&self, player: Player) -> R::Cells {
        if player == self.mover() {
            self.own
        } else {
            self.other
        }
    }

    /// Returns the legal actions, none if the game is over.
    pub fn actions(&self) -> Vec<Action> {
        let mut out = Vec::new();
        if !self.is_over() {
            R::actions(self, &mut out);
        }
        out
    }

    /// Returns a 64-bit hash of the stones, the player to move, and a number for the board.
    fn hash_with_board(&self, board: u64) -> u64 {
        let [a, b] = self.own.words();
        let [c, d] = self.other.words();
        let words = [a, b, c, d, self.mover() as u64 | board << 1];
        words.into_iter().fold(0, |key, word| Rng::new(key ^ word).next_u64())
    }

    /// Returns the position after a legal action.
    pub fn after(&self, action: Action) -> Self {
        let mut child = *self;
        R::play(&mut child, action);
        (child.own, child.other) = (child.other, child.own);
        child.ply += 1;
        child.ending = R::ending(&child);
        child
    }
}

impl<R: Rules> State for Position<R> {
    type Error = Infallible;

    fn ply(&self) -> Result<u32, Infallible> {
        Ok(u32::from(self.ply))
    }

    fn active_players(&self) -> Result<Players, Infallible> {
        Ok(if self.is_over() { Players::NONE } else { Players::one(self.mover()) })
    }

    fn legal_actions(&self, _: Player, out: &mut Vec<Action>) -> Result<(), Infallible> {
        R::actions(self, out);
        Ok(())
    }

    fn play(&mut self, joint: &[Action]) -> Result<(), Infallible> {
        *self = self.after(joint[0]);
        Ok(())
    }

    fn returns(&self, out: &mut [f32]) -> Result<(), Infallible> {
        out.copy_from_slice(match self.ending {
            Ending::First => &[1.0, -1.0],
            Ending::Second => &[-1.0, 1.0],
            Ending::None | Ending::Draw => &[0.0, 0.0],
        });
        Ok(())
    }

    fn is_decided(&self, _: Player) -> Result<bool, Infallible> {
        Ok(self.is_over())
    }

    fn key(&self) -> Result<u64, Infallible> {
        let size = |rules: R| (rules.rows() << 8 | rules.columns()) as u64;
        // Equal stones on boards of other sizes are different positions. The default size adds nothing, as random
        // playouts are seeded by keys, and published results depend on them.
        Ok(self.hash_with_board(size(self.rules) ^ size(R::default())))
    }

    /// The board does not change within a game; these keys match those in records of matches.
    fn position_key(&self) -> Result<u64, Infallible> {
        Ok(self.hash_with_board(0))
    }
}

impl<R: Rules> Observe for Position<R> {
    fn dimensions(&self) -> Dimensions {
        Dimensions {
            num_players: 2,
            num_actions: self.rules.num_actions(),
            observation: [NUM_PLANES, self.rules.rows(), self.rules.columns()],
        }
    }

    fn rules_key(&self) -> u64 {
        hash_of(&self.rules)
    }

    fn observe(&self, player: Player, out: &mut [f32]) -> Result<(), Infallible> {
        let (rows, columns) = (self.rules.rows(), self.rules.columns());
        let planes = [self.stones_of(player), self.stones_of(1 - player), !self.occupied()];
        for (plane, stones) in planes.into_iter().enumerate() {
            for row in 0..rows {
                for column in 0..columns {
                    let cell = self.rules.cell_for_player(player, row, column);
                    out[(plane * rows + row) * columns + column] = f32::from(u8::from(stones.has(cell)));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Breakthrough, Hex, Othello};

    fn empty<R: Rules>(rows: usize, columns: usize) -> Position<R> {
        let rules = R::sized(rows, columns).unwrap();
        Position { own: R::Cells::NONE, other: R::Cells::NONE, rules, ply: 0, ending: Ending::None }
    }

    #[test]
    fn equal_stones_on_boards_of_other_sizes_have_other_keys() {
        let hex = [11, 5, 4].map(|size| empty::<Hex>(size, size).key());
        let breakthrough = [(8, 8), (6, 4), (4, 6)].map(|(rows, columns)| empty::<Breakthrough>(rows, columns).key());
        for keys in [hex, breakthrough] {
            assert!((1..keys.len()).all(|i| !keys[..i].contains(&keys[i])));
        }
    }

    #[test]
    fn positions_that_no_game_comes_to_are_refused_by_their_plies() {
        let start = Position::<Othello>::default();
        let stones = [start.stones_of(0), start.stones_of(1)];
        assert!(Position::of(start.rules, stones, MAX_PLIES).is_ok());
        assert!(Position::of(start.rules, stones, MAX_PLIES + 1).is_err());
        assert!(Position::of(start.rules, stones, u16::MAX).is_err());
    }

    #[test]
    fn keys_that_results_and_records_depend_on_stay_as_they_are() {
        let empty_board = [0u64; 5].into_iter().fold(0, |key, word| Rng::new(key ^ word).next_u64());
        assert_eq!(empty::<Hex>(11, 11).key(), Ok(empty_board));
        assert_eq!(empty::<Hex>(5, 5).position_key(), Ok(empty_board));
    }
}
