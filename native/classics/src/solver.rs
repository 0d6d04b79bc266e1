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
const TABLE_SIZE: usize = 8_388_593;
/// Lower bounds are stored with values above all upper bounds.
const UPPER_BOUNDS: std::ops::RangeInclusive<i32> = 1..=CELLS - 5;

/// Solves positions; its transposition table is kept for the next ones.
pub struct Solver {
    /// Keys, completed by their index, and bounds.
    keys: Vec<u32>,
    bounds: Vec<u8>,
    pub num_nodes: u64,
}

impl Default for Solver {
    fn default() -> Self {
        Self { keys: vec![0; TABLE_SIZE], bounds: vec![0; TABLE_SIZE], num_nodes: 0 }
    }
}

/// The stones of the player to move, and all stones.
#[derive(Clone, Copy)]
struct Board {
    own: u64,
    occupied: u64,
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
        let (mut lower, mut upper) = (-(CELLS - board.ply) / 2, (CELLS + 1 - board.ply) / 2);
        while lower < upper {
            // Windows near 0 are narrowed first, as excluding an early win takes less effort.
            let middle = match lower + (upper - lower) / 2 {
                middle if middle <= 0 && lower / 2 < middle => lower / 2,
                middle if middle >= 0 && upper / 2 > middle => upper / 2,
                middle => middle,
            };
            if self.negamax(board, middle, middle + 1) <= middle {
                upper = upper.min(middle);
            } else {
                lower = middle + 1;
            }
        }
        lower
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
        let moves = board.non_losing_moves();
        if moves == 0 {
            return -(CELLS - board.ply) / 2;
        }
        if board.ply >= CELLS - 2 {
            return 0;
        }
        let lower = -(CELLS - 2 - board.ply) / 2;
        if alpha < lower {
            alpha = lower;
            if alpha >= beta {
                return alpha;
            }
        }
        let mut upper = (CELLS - 1 - board.ply) / 2;
        let key = board.own + board.occupied;
        match self.lookup_bound(key) {
            0 => {}
            bound if UPPER_BOUNDS.contains(&bound) => upper = upper.min(bound + MIN_SCORE - 1),
            bound => {
                let lower_bound = bound - *UPPER_BOUNDS.end() + MIN_SCORE - 1;
                if lower_bound > alpha {
                    alpha = lower_bound;
                    if alpha >= beta {
                        return alpha;
                    }
                }
            }
        }
        if beta > upper {
            beta = upper;
            if alpha >= beta {
                return beta;
            }
        }
        for child in board.children(moves) {
            let score = -self.negamax(child, -beta, -alpha);
            if score >= beta {
                self.store_bound(key, score + *UPPER_BOUNDS.end() - MIN_SCORE + 1);
                return score;
            }
            alpha = alpha.max(score);
        }
        self.store_bound(key, alpha - MIN_SCORE + 1);
        alpha
    }

    fn lookup_bound(&self, key: u64) -> i32 {
        let index = key as usize % TABLE_SIZE;
        // 32 of the 49 bits and the index identify a key, as 2^32 and the prime are coprime.
        if self.keys[index] == key as u32 {
            self.bounds[index].into()
        } else {
            0
        }
    }

    fn store_bound(&mut self, key: u64, bound: i32) {
        let index = key as usize % TABLE_SIZE;
        self.keys[index] = key as u32;
        self.bounds[index] = bound as u8;
    }
}

/// Nobody wins before the seventh ply, when the winner has at most 18 stones left.
const MIN_SCORE: i32 = -CELLS / 2 + 3;

impl Board {
    fn of(position: &Position<ConnectFour>) -> Self {
        Self { own: position.own, occupied: position.occupied(), ply: position.plies().into() }
    }

    fn legal_moves(self) -> u64 {
        (self.occupied + BOTTOM) & BOARD
    }

    fn can_win(self) -> bool {
        winning_cells(self.own) & self.legal_moves() != 0
    }

    /// Returns the moves after which the opponent cannot win at once.
    fn non_losing_moves(self) -> u64 {
        let threats = winning_cells(self.own ^ self.occupied) & BOARD & !self.occupied;
        let legal_moves = self.legal_moves();
        let forced = legal_moves & threats;
        // Two threats cannot both be met, and playing below a threat would enable it.
        match forced.count_ones() {
            0 => legal_moves & !(threats >> 1),
            1 => forced & !(threats >> 1),
            _ => 0,
        }
    }

    /// Returns the positions after moves, those that create the most threats first.
    fn children(self, moves: u64) -> impl Iterator<Item = Board> {
        let mut ordered = [(0, 0); NUM_COLUMNS];
        let mut count = 0;
        for column in ORDER {
            let stone = moves & (0b11_1111 << (column * HEIGHT));
            if stone == 0 {
                continue;
            }
            let threats = (winning_cells(self.own | stone) & BOARD & !self.occupied).count_ones();
            let mut index = count;
            while index > 0 && ordered[index - 1].0 < threats {
                ordered[index] = ordered[index - 1];
                index -= 1;
            }
            ordered[index] = (threats, stone);
            count += 1;
        }
        ordered.into_iter().take(count).map(move |(_, stone)| Self {
            own: self.own ^ self.occupied,
            occupied: self.occupied | stone,
            ply: self.ply + 1,
        })
    }
}

/// Returns the cells that complete four of these stones, including taken ones and bits above columns.
fn winning_cells(stones: u64) -> u64 {
    let mut cells = stones << 1 & stones << 2 & stones << 3;
    for step in [HEIGHT - 1, HEIGHT, HEIGHT + 1] {
        let above = stones << step & stones << (2 * step);
        let below = stones >> step & stones >> (2 * step);
        cells |= above & (stones << (3 * step) | stones >> step);
        cells |= below & (stones << step | stones >> (3 * step));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ending;
    use moemcts_tree::Rng;

    fn exhaustive_score(position: &Position<ConnectFour>) -> i32 {
        match position.ending() {
            Ending::None => {
                position.actions().into_iter().map(|a| -exhaustive_score(&position.after(a))).max().unwrap()
            }
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
                let expected = exhaustive_score(&position);
                assert_eq!(solver.score(&position), expected, "{}", position.format());
                assert_eq!(solver.value(&position), expected.signum(), "{}", position.format());
            }
        }
    }
}
