//! New boards, sampled from the distribution of the reference's `utility.make_board` and `make_items`.
//!
//! The reference samples from a set with CPython's generator, so equal seeds give different boards here.

use moemcts_tree::Rng;

use crate::geometry::{bit, has, iter, Cells, Geometry};
use crate::state::{Agent, State};
use crate::variant::Rules;
use crate::MAX_PLAYERS;

/// Which player starts in which corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corners {
    /// As in the reference: 0 top left, 1 bottom left, 2 bottom right, 3 top right; in a duel 0 top left, 1 bottom
    /// right.
    Standard,
    /// A uniform permutation of the players over these corners, as in PommerLearn.
    Shuffled,
}

/// A board is rejected if more of its passages than this are unreachable.
const MAX_UNREACHABLE: u32 = 4;

/// Numbers of cells with rigid walls, wood and items.
struct Counts {
    rigid: usize,
    wood: usize,
    items: usize,
}

impl Counts {
    const fn of(size: u8) -> Self {
        match size {
            8 => Self { rigid: 16, wood: 16, items: 10 },
            _ => Self { rigid: 36, wood: 36, items: 20 },
        }
    }
}

impl State {
    /// Returns the first state of a game on a new board.
    pub fn new(rules: Rules, corners: Corners, rng: &mut Rng) -> Self {
        let mut state = Self::empty(rules);
        let starts = start_cells(&rules);
        let num_players = rules.num_players();
        while !state.draw_walls(&starts[..num_players], rng) {}
        state.draw_items(rng);
        let mut seats = [0, 1, 2, 3];
        if corners == Corners::Shuffled {
            for last in (1..num_players).rev() {
                seats.swap(last, rng.below(last + 1));
            }
        }
        for (player, agent) in state.agents[..num_players].iter_mut().enumerate() {
            *agent = Agent { cell: starts[seats[player]], ammo: 1, blast: 2, can_kick: false, alive: true };
        }
        state
    }

    /// Draws rigid walls and wood; returns whether enough of the board is reachable.
    fn draw_walls(&mut self, starts: &[u8], rng: &mut Rng) -> bool {
        let geometry = self.geometry();
        let n = geometry.size;
        let counts = Counts::of(n);
        let (mut reserved, corridors) = reserved_cells(geometry, starts);
        (self.rigid, self.wood) = (0, corridors);
        reserved |= corridors;
        // Walls come in pairs, mirrored at the main diagonal, which stays free.
        let mut pairs: Vec<(u8, u8)> = Vec::with_capacity(64);
        for row in 0..n {
            for column in row + 1..n {
                if !has(reserved, geometry.cell(row, column)) {
                    pairs.push((geometry.cell(row, column), geometry.cell(column, row)));
                }
            }
        }
        let mut draw = |count: usize| {
            let mut cells = 0;
            for _ in 0..count {
                let (a, b) = pairs.swap_remove(rng.below(pairs.len()));
                cells |= bit(a) | bit(b);
            }
            cells
        };
        self.rigid = draw(counts.rigid / 2);
        self.wood |= draw((counts.wood - corridors.count_ones() as usize) / 2);

        let start = geometry.cell(n - 2, n - 2);
        let mut reached = bit(start);
        loop {
            let expanded = reached | geometry.touching(reached) & !self.rigid;
            if expanded == reached {
                break;
            }
            reached = expanded;
        }
        let passages = geometry.full & !(self.rigid | self.wood | starts.iter().fold(0, |set, &cell| set | bit(cell)));
        (passages & !reached).count_ones() <= MAX_UNREACHABLE
    }

    fn draw_items(&mut self, rng: &mut Rng) {
        let mut wood = [0; 64];
        let mut num_left = 0;
        for cell in iter(self.wood) {
            wood[num_left] = cell;
            num_left += 1;
        }
        for _ in 0..Counts::of(self.rules.board_size).items {
            let index = rng.below(num_left);
            self.hidden[rng.below(3)] |= bit(wood[index]);
            num_left -= 1;
            wood[index] = wood[num_left];
        }
    }
}

/// Returns the start cells of the standard corners.
fn start_cells(rules: &Rules) -> [u8; MAX_PLAYERS] {
    let geometry = Geometry::of(rules.board_size);
    let far = geometry.size - 2;
    let corner = |row, column| geometry.cell(row, column);
    match rules.num_players() {
        2 => [corner(1, 1), corner(far, far), 0, 0],
        _ => [corner(1, 1), corner(far, 1), corner(far, far), corner(1, far)],
    }
}

/// Returns the cells kept free around the starts, and the wooden corridors between four of them.
fn reserved_cells(geometry: &Geometry, starts: &[u8]) -> (Cells, Cells) {
    let n = geometry.size;
    let at = |row, column| bit(geometry.cell(row, column));
    let mut free = starts.iter().fold(0, |set, &cell| set | bit(cell));
    let mut corridors = 0;
    for i in 2..4 {
        free |= at(1, i) | at(i, 1) | at(n - 2, n - i - 1) | at(n - i - 1, n - 2);
        if starts.len() == 4 {
            free |= at(1, n - i - 1) | at(n - i - 1, 1) | at(i, n - 2) | at(n - 2, i);
        }
    }
    if starts.len() == 4 {
        for i in 4..n - 4 {
            corridors |= at(1, i) | at(n - i - 1, 1) | at(n - 2, n - i - 1) | at(n - i - 1, n - 2);
        }
    }
    (free, corridors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variant::find;

    #[test]
    fn boards_have_the_walls_of_the_reference() {
        let mut rng = Rng::new(1);
        for (id, walls, items) in [("PommeFFACompetition-v0", 36, 20), ("OneVsOne-v0", 16, 10)] {
            let rules = find(id).unwrap().rules;
            for _ in 0..200 {
                let state = State::new(rules, Corners::Shuffled, &mut rng);
                let geometry = state.geometry();
                assert_eq!((state.rigid.count_ones(), state.wood.count_ones()), (walls, walls));
                let hidden = state.hidden[0] | state.hidden[1] | state.hidden[2];
                assert_eq!((hidden.count_ones(), hidden & !state.wood), (items, 0));
                for cell in iter(state.rigid) {
                    let (row, column) = (geometry.row(cell), geometry.column(cell));
                    assert!(row != column && has(state.rigid, geometry.cell(column, row)));
                }
                assert_eq!(state.agent_cells() & (state.rigid | state.wood), 0);
                assert_eq!(state.agent_cells().count_ones() as usize, rules.num_players());
            }
        }
    }

    #[test]
    fn as_many_passages_are_walled_in_as_in_the_reference() {
        // MultiAgentLearning/playground, `utility.make_board`: 0..4 unreachable passages in 8.7/26.8/30.4/21.9/12.4 %
        // of 2,000 of its boards (11 x 11).
        let expected = [0.087, 0.268, 0.304, 0.219, 0.124];
        let rules = find("PommeFFACompetition-v0").unwrap().rules;
        let mut rng = Rng::new(2);
        let mut counts = [0.0f64; 5];
        let games = 4000;
        for _ in 0..games {
            let state = State::new(rules, Corners::Standard, &mut rng);
            let geometry = state.geometry();
            let mut reached = bit(geometry.cell(9, 9));
            for _ in 0..121 {
                reached |= geometry.touching(reached) & !state.rigid;
            }
            let unreachable = geometry.full & !(state.rigid | state.wood | reached);
            counts[unreachable.count_ones() as usize] += 1.0;
        }
        for (count, share) in counts.into_iter().zip(expected) {
            // Four standard errors of the difference between the two samples; the seed is fixed.
            let tolerance = 4.0 * (share * (1.0 - share) * (1.0 / 2000.0 + 1.0 / f64::from(games))).sqrt();
            assert!((count / f64::from(games) - share).abs() < tolerance, "{counts:?}");
        }
    }
}
