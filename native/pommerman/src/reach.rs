//! The SimpleAgent's distances and paths, computed only as far as its rules need them.

use crate::geometry::{bit, has, Cells, OFF};
use crate::sight::Sight;
use crate::simple_agent::Chance;
use crate::{RIGHT, STOP, UP};

const NONE: u8 = u8::MAX;

/// How far the agent walks towards enemies, the largest radius for any target.
pub(crate) const ENEMY_RADIUS: usize = 3;

/// Distances from the own cell, computed lazily.
pub(crate) struct Reach<'a> {
    sight: &'a Sight,
    /// `within[d]`: the cells at most `d` steps away; constant once no new cell is found.
    within: [Cells; NUM_LAYERS],
    depth: usize,
}

/// One more than the largest blast strength, 10; farther cells are needed only all together.
const NUM_LAYERS: usize = 12;

impl<'a> Reach<'a> {
    pub(crate) fn new(sight: &'a Sight) -> Self {
        let mut reach = Self { sight, within: [0; NUM_LAYERS], depth: 0 };
        reach.within[0] = bit(sight.cell);
        reach.within(ENEMY_RADIUS);
        reach
    }

    /// Returns the cells at most `distance` steps away, which is at most 11.
    pub(crate) fn within(&mut self, distance: usize) -> Cells {
        let distance = distance.min(NUM_LAYERS - 1);
        while self.depth < distance {
            self.within[self.depth + 1] = self.expand(self.within[self.depth]);
            self.depth += 1;
        }
        self.within[distance]
    }

    /// Returns the cells exactly `distance` steps away, for `1..=ENEMY_RADIUS`.
    pub(crate) fn layer(&self, distance: usize) -> Cells {
        self.within[distance] & !self.within[distance - 1]
    }

    /// Returns every cell with a distance.
    pub(crate) fn all(&self) -> Cells {
        let mut cells = self.within[self.depth];
        loop {
            let expanded_cells = self.expand(cells);
            if expanded_cells == cells {
                return cells;
            }
            cells = expanded_cells;
        }
    }

    // Impassable cells get a distance, but no path leads through them; the own cell always counts as a start.
    #[inline]
    fn expand(&self, cells: Cells) -> Cells {
        let from = cells & (self.sight.passable | bit(self.sight.cell));
        cells | self.sight.geometry().touching(from) & self.sight.scope
    }
}

/// The first cells of the reference's search in queue order, for tracing a path back from a target.
///
/// Each later one of several equally near parents replaces the earlier one with probability 1/2; a cell's parent is
/// chosen once per decision.
pub(crate) struct Trail<'a> {
    sight: &'a Sight,
    /// Cells at a distance below `ENEMY_RADIUS`; `ends[d]` is the end of those at distance `d`.
    queue: [u8; 16],
    ends: [usize; ENEMY_RADIUS],
    /// Cell and chosen parent.
    chosen: [(u8, u8); 8],
    num_chosen: usize,
}

impl<'a> Trail<'a> {
    pub(crate) fn new(sight: &'a Sight) -> Self {
        Self { sight, queue: [NONE; 16], ends: [0; ENEMY_RADIUS], chosen: [(NONE, NONE); 8], num_chosen: 0 }
    }

    fn fill_queue(&mut self) {
        let geometry = self.sight.geometry();
        let mut seen = bit(self.sight.cell);
        self.queue[0] = self.sight.cell;
        self.ends[0] = 1;
        let (mut start, mut end) = (0, 1);
        for distance in 1..ENEMY_RADIUS {
            for index in start..self.ends[distance - 1] {
                let cell = self.queue[index];
                if cell != self.sight.cell && !has(self.sight.passable, cell) {
                    continue;
                }
                for direction in UP..=RIGHT {
                    let next = geometry.neighbour(cell, direction);
                    if next != OFF && has(self.sight.scope & !seen, next) {
                        seen |= bit(next);
                        self.queue[end] = next;
                        end += 1;
                    }
                }
            }
            start = self.ends[distance - 1];
            self.ends[distance] = end;
        }
    }

    /// Returns the direction of the first step to a cell at a distance of `1..=ENEMY_RADIUS`.
    pub(crate) fn first_step(&mut self, target: u8, chance: &mut impl Chance) -> u8 {
        if self.ends[0] == 0 {
            self.fill_queue();
        }
        let mut cell = target;
        loop {
            let parent = self.parent(cell, chance);
            if parent == self.sight.cell {
                break;
            }
            cell = parent;
        }
        let geometry = self.sight.geometry();
        (UP..=RIGHT).find(|&direction| geometry.neighbour(self.sight.cell, direction) == cell).unwrap_or(STOP)
    }

    fn parent(&mut self, cell: u8, chance: &mut impl Chance) -> u8 {
        if let Some(entry) = self.chosen[..self.num_chosen].iter().find(|entry| entry.0 == cell) {
            return entry.1;
        }
        let geometry = self.sight.geometry();
        let distance = self.distance(cell);
        let start = if distance < 2 { 0 } else { self.ends[distance - 2] };
        let mut parent = NONE;
        for &candidate in &self.queue[start..self.ends[distance - 1]] {
            let expanded = candidate == self.sight.cell || has(self.sight.passable, candidate);
            if expanded && geometry.distance(candidate, cell) == 1 && (parent == NONE || chance.choose(2) == 0) {
                parent = candidate;
            }
        }
        if parent == NONE {
            // Cannot happen for a target with a distance; the own cell ends the path.
            return self.sight.cell;
        }
        self.chosen[self.num_chosen] = (cell, parent);
        self.num_chosen += 1;
        parent
    }

    fn distance(&self, cell: u8) -> usize {
        let index = self.queue.iter().position(|&entry| entry == cell);
        match index {
            Some(index) => self.ends.iter().position(|&end| index < end).unwrap_or(ENEMY_RADIUS),
            None => ENEMY_RADIUS,
        }
    }
}
