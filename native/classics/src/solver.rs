//! A connect four solver: alpha-beta on bitboards with a table of bounds, after Pons' description (Solving Connect 4,
//! 2015).
//!
//! For measurements: it is exact, and takes minutes with fewer than eight stones on the board.

use crate::connect_four::{NUM_COLUMNS, NUM_ROWS};
use crate::position::Position;
use crate::ConnectFour;

const CELLS: i32 = (NUM_ROWS * NUM_COLUMNS) as i32;
/// Bits per column.
const HEIGHT: u32 = NUM_ROWS as u32 + 1;
const BOTTOM: u64 = 0b1_0000001_0000001_0000001_0000001_0000001_0000001;
const BOARD: u64 = BOTTOM * 0b11_1111;
/// From the centre outwards, as central stones are part of more rows of four.
const ORDER: [u32; NUM_COLUMNS] = [3, 2, 4, 1, 5, 0, 6];
/// A prime, so that keys are spread evenly.
const TABLE: usize = 8_388_593;
/// Lower bounds are stored with values above all upper bounds.
const UPPER: std::ops::RangeInclusive<i32> = 1..=CELLS - 5;

/// Solves positions; its transposition table is kept for the next ones.
pub struct Solver {
    /// Keys, completed by their index, and bounds.
    keys: Vec<u32>,
    bounds: Vec<u8>,
    pub num_nodes: u64,
}

impl Default for Solver {
    fn default() -> Self {
        Self { keys: vec![0; TABLE], bounds: vec![0; TABLE], num_nodes: 0 }
    }
}

/// The stones of the player to move, and all stones.
#[derive(Clone, Copy)]
struct Board {
    own: u64,
    taken: u64,
    ply: i32,
}

impl Solver {
    /// Returns the number of stones that the winner has left, counting its last one: positive if the mover wins.
    ///
    /// 0 is a draw. The game must not be over.
    pub fn score(&mut self, position: &Position<ConnectFour>) -> i32 {
        let board = Board::of(position);
        if board.can_win() {
            return (CELLS + 1 - board.ply) / 2;
        }
        let (mut least, mut most) = (-(CELLS - board.ply) / 2, (CELLS + 1 - board.ply) / 2);
        while least < most {
            // Windows near 0 are narrowed first, as excluding an early win takes less effort.
            let middle = match least + (most - least) / 2 {
                middle if middle <= 0 && least / 2 < middle => least / 2,
                middle if middle >= 0 && most / 2 > middle => most / 2,
                middle => middle,
            };
            if self.negamax(board, middle, middle + 1) <= middle {
                most = most.min(middle);
            } else {
                least = middle + 1;
            }
        }
        least
    }

    /// Returns 1, 0 or -1 if the mover wins, draws or loses; the game must not be over.
    pub fn value(&mut self, position: &Position<ConnectFour>) -> i32 {
        let board = Board::of(position);
        if board.can_win() {
            return 1;
        }
        self.negamax(board, -1, 1).signum()
    }

    /// Returns a bound on the score, sufficient to compare it with `alpha` and `beta`; the mover cannot win at once.
    fn negamax(&mut self, board: Board, mut alpha: i32, mut beta: i32) -> i32 {
        self.num_nodes += 1;
        let moves = board.not_losing();
        if moves == 0 {
            return -(CELLS - board.ply) / 2;
        }
        if board.ply >= CELLS - 2 {
            return 0;
        }
        let least = -(CELLS - 2 - board.ply) / 2;
        if alpha < least {
            alpha = least;
            if alpha >= beta {
                return alpha;
            }
        }
        let mut most = (CELLS - 1 - board.ply) / 2;
        let key = board.own + board.taken;
        match self.bound(key) {
            0 => {}
            bound if UPPER.contains(&bound) => most = most.min(bound + MIN_SCORE - 1),
            bound => {
                let found = bound - *UPPER.end() + MIN_SCORE - 1;
                if found > alpha {
                    alpha = found;
                    if alpha >= beta {
                        return alpha;
                    }
                }
            }
        }
        if beta > most {
            beta = most;
            if alpha >= beta {
                return beta;
            }
        }
        for child in board.children(moves) {
            let score = -self.negamax(child, -beta, -alpha);
            if score >= beta {
                self.remember(key, score + *UPPER.end() - MIN_SCORE + 1);
                return score;
            }
            alpha = alpha.max(score);
        }
        self.remember(key, alpha - MIN_SCORE + 1);
        alpha
    }

    fn bound(&self, key: u64) -> i32 {
        let place = key as usize % TABLE;
        // 32 of the 49 bits and the index identify a key, as 2^32 and the prime are coprime.
        if self.keys[place] == key as u32 {
            self.bounds[place].into()
        } else {
            0
        }
    }

    fn remember(&mut self, key: u64, bound: i32) {
        let place = key as usize % TABLE;
        self.keys[place] = key as u32;
        self.bounds[place] = bound as u8;
    }
}

/// Nobody wins before the seventh ply, when the winner has at most 18 stones left.
const MIN_SCORE: i32 = -CELLS / 2 + 3;

impl Board {
    fn of(position: &Position<ConnectFour>) -> Self {
        Self { own: position.own, taken: position.taken(), ply: position.plies().into() }
    }

    fn possible(self) -> u64 {
        (self.taken + BOTTOM) & BOARD
    }

    fn can_win(self) -> bool {
        completing(self.own) & self.possible() != 0
    }

    /// Returns the moves after which the opponent cannot win at once.
    fn not_losing(self) -> u64 {
        let threats = completing(self.own ^ self.taken) & BOARD & !self.taken;
        let possible = self.possible();
        let forced = possible & threats;
        // Two threats cannot both be met, and playing below a threat would enable it.
        match forced.count_ones() {
            0 => possible & !(threats >> 1),
            1 => forced & !(threats >> 1),
            _ => 0,
        }
    }

    /// Returns the positions after moves, those that create the most threats first.
    fn children(self, moves: u64) -> impl Iterator<Item = Board> {
        let mut found = [(0, 0); NUM_COLUMNS];
        let mut count = 0;
        for column in ORDER {
            let stone = moves & (0b11_1111 << (column * HEIGHT));
            if stone == 0 {
                continue;
            }
            let threats = (completing(self.own | stone) & BOARD & !self.taken).count_ones();
            let mut place = count;
            while place > 0 && found[place - 1].0 < threats {
                found[place] = found[place - 1];
                place -= 1;
            }
            found[place] = (threats, stone);
            count += 1;
        }
        found.into_iter().take(count).map(move |(_, stone)| Self {
            own: self.own ^ self.taken,
            taken: self.taken | stone,
            ply: self.ply + 1,
        })
    }
}

/// Returns the cells that complete four of these stones, including taken ones and bits above columns.
fn completing(stones: u64) -> u64 {
    let mut found = stones << 1 & stones << 2 & stones << 3;
    for step in [HEIGHT - 1, HEIGHT, HEIGHT + 1] {
        let above = stones << step & stones << (2 * step);
        let below = stones >> step & stones >> (2 * step);
        found |= above & (stones << (3 * step) | stones >> step);
        found |= below & (stones << step | stones >> (3 * step));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ending;
    use moemcts_tree::Rng;

    fn searched(position: &Position<ConnectFour>) -> i32 {
        match position.ending() {
            Ending::None => position.actions().into_iter().map(|a| -searched(&position.after(a))).max().unwrap(),
            Ending::Draw => 0,
            _ => -(CELLS + 2 - i32::from(position.plies())) / 2,
        }
    }

    fn after(moves: &str) -> Position<ConnectFour> {
        moves.bytes().fold(Position::default(), |position, column| position.after((column - b'1').into()))
    }

    /// Pons, Solving Connect 4, part 2.
    #[test]
    fn examples_have_the_published_scores() {
        assert_eq!(Solver::default().score(&after("4455")), 18);
        assert_eq!(Solver::default().score(&after("44455554221")), -15);
    }

    #[test]
    fn scores_are_those_of_a_search_without_any_cleverness() {
        let (mut rng, mut solver, mut num_positions) = (Rng::new(0), Solver::default(), 0);
        while num_positions < 60 {
            let mut position = Position::<ConnectFour>::default();
            while position.plies() < 32 && !position.is_over() {
                let actions = position.actions();
                position = position.after(actions[rng.below(actions.len())]);
            }
            if !position.is_over() {
                num_positions += 1;
                let expected = searched(&position);
                assert_eq!(solver.score(&position), expected, "{}", position.format());
                assert_eq!(solver.value(&position), expected.signum(), "{}", position.format());
            }
        }
    }
}
