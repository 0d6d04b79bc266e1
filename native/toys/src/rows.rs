//! Games of getting stones in a row on a board of bits.

use moemcts_tree::{Action, Dimensions, Observe, Player, Players, State};
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What tells one game of stones in a row from another.
pub trait Rules: Clone + Copy + Default + Send + Sync + 'static {
    const ROWS: usize;
    const COLUMNS: usize;
    const NUM_ACTIONS: usize;

    /// Returns the bit that an action sets, given all stones; 0 where it is illegal.
    fn stone(action: Action, taken: u64) -> u64;

    /// Returns whether these stones hold a row long enough.
    fn wins(stones: u64) -> bool;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TicTacToeRules;

impl Rules for TicTacToeRules {
    const ROWS: usize = 3;
    const COLUMNS: usize = 3;
    const NUM_ACTIONS: usize = 9;

    fn stone(action: Action, taken: u64) -> u64 {
        1 << action & !taken
    }

    fn wins(stones: u64) -> bool {
        const LINES: [u64; 8] = [0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124];
        LINES.iter().any(|line| stones & line == *line)
    }
}

/// Six rows; the bits of a column lie together, with one empty bit above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ConnectFourRules;

impl Rules for ConnectFourRules {
    const ROWS: usize = 6;
    const COLUMNS: usize = 7;
    const NUM_ACTIONS: usize = 7;

    fn stone(action: Action, taken: u64) -> u64 {
        let column = 0b11_1111 << (action * 7);
        ((taken & column) + (1 << (action * 7))) & column
    }

    fn wins(stones: u64) -> bool {
        [1, 6, 7, 8].into_iter().any(|step| {
            let pairs = stones & stones >> step;
            pairs & pairs >> (2 * step) != 0
        })
    }
}

/// A position: the stones of the player to move and of the other one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stones<R> {
    own: u64,
    other: u64,
    rules: std::marker::PhantomData<R>,
}

pub type TicTacToe = Stones<TicTacToeRules>;
pub type ConnectFour = Stones<ConnectFourRules>;

impl<R: Rules> Stones<R> {
    /// Returns the position with these stones of the player to move and of the other one; they are not checked.
    pub fn of(own: u64, other: u64) -> Self {
        Self { own, other, rules: std::marker::PhantomData }
    }

    /// Returns the stones of the player to move and of the other one.
    pub fn stones(&self) -> (u64, u64) {
        (self.own, self.other)
    }

    fn num_stones(&self) -> u32 {
        (self.own | self.other).count_ones()
    }

    fn is_over(&self) -> bool {
        R::wins(self.other) || self.num_stones() as usize == R::ROWS * R::COLUMNS
    }

    fn mover(&self) -> Player {
        self.num_stones() as Player % 2
    }
}

impl<R: Rules> State for Stones<R> {
    type Error = Infallible;

    fn ply(&self) -> Result<u32, Infallible> {
        Ok(self.num_stones())
    }

    fn active_players(&self) -> Result<Players, Infallible> {
        Ok(if self.is_over() { Players::NONE } else { Players::one(self.mover()) })
    }

    fn legal_actions(&self, _: Player, out: &mut Vec<Action>) -> Result<(), Infallible> {
        let taken = self.own | self.other;
        out.extend((0..R::NUM_ACTIONS as Action).filter(|&action| R::stone(action, taken) != 0));
        Ok(())
    }

    fn play(&mut self, joint: &[Action]) -> Result<(), Infallible> {
        let stone = R::stone(joint[0], self.own | self.other);
        (self.own, self.other) = (self.other, self.own | stone);
        Ok(())
    }

    fn returns(&self, out: &mut [f32]) -> Result<(), Infallible> {
        out.fill(0.0);
        if R::wins(self.other) {
            out[self.mover()] = -1.0;
            out[1 - self.mover()] = 1.0;
        }
        Ok(())
    }

    fn is_decided(&self, _: Player) -> Result<bool, Infallible> {
        Ok(self.is_over())
    }

    fn key(&self) -> Result<u64, Infallible> {
        let mut hasher = DefaultHasher::new();
        (self.own, self.other).hash(&mut hasher);
        Ok(hasher.finish())
    }
}

impl<R: Rules> Observe for Stones<R> {
    fn dimensions(&self) -> Dimensions {
        Dimensions { num_players: 2, num_actions: R::NUM_ACTIONS, observation: [2, R::ROWS, R::COLUMNS] }
    }

    fn observe(&self, player: Player, out: &mut [f32]) -> Result<(), Infallible> {
        let planes = if player == self.mover() { [self.own, self.other] } else { [self.other, self.own] };
        let stride = if R::NUM_ACTIONS == R::COLUMNS { 1 } else { R::COLUMNS };
        for (plane, stones) in planes.into_iter().enumerate() {
            for row in 0..R::ROWS {
                for column in 0..R::COLUMNS {
                    let bit = if stride == 1 { column * 7 + row } else { row * stride + column };
                    out[(plane * R::ROWS + row) * R::COLUMNS + column] = (stones >> bit & 1) as f32;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count_leaves<R: Rules>(state: Stones<R>, depth: u32) -> u64 {
        if depth == 0 || state.is_over() {
            return u64::from(depth == 0);
        }
        let mut actions = Vec::new();
        let Ok(()) = state.legal_actions(state.mover(), &mut actions);
        actions
            .into_iter()
            .map(|action| {
                let mut child = state;
                let Ok(()) = child.play(&[action]);
                count_leaves(child, depth - 1)
            })
            .sum()
    }

    /// 127,872 games of nine moves: Schaefer, MathRec Solutions (Tic-Tac-Toe), 2002.
    #[test]
    fn tic_tac_toe_has_the_known_number_of_full_games() {
        assert_eq!(count_leaves(TicTacToe::default(), 9), 46_080 + 81_792);
    }

    /// Numbers of move sequences: Tromp, John's Connect Four Playground counts positions; sequences of up to 7 moves
    /// are 7^n but for those that end early or overfill a column.
    #[test]
    fn connect_four_branches_sevenfold_until_a_game_can_end() {
        assert_eq!(count_leaves(ConnectFour::default(), 6), 7u64.pow(6));
        assert_eq!(count_leaves(ConnectFour::default(), 7), 7u64.pow(7) - 7);
    }
}
