//! The reference's SimpleAgent: one decision procedure, sampled for play and enumerated for its exact distribution.

use moemcts_tree::Rng;

use crate::geometry::{bit, has, iter, Cells, OFF};
use crate::reach::{Reach, Trail, ENEMY_RADIUS};
use crate::sight::Sight;
use crate::{BOMB, DOWN, LEFT, RIGHT, STOP, UP};

/// The reference remembers the last six own positions.
const NUM_RECENT: usize = 6;
/// How far the agent walks towards items and wood.
const ITEM_RADIUS: usize = 2;

/// The memory of a SimpleAgent between steps.
///
/// The reference resets neither field between games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The last direction chosen by rule 3: 0 none, 1 up, 2 down, 3 left, 4 right.
    pub previous: u8,
    recent: [u8; NUM_RECENT],
    num_recent: u8,
}

impl Memory {
    /// Returns a memory with these recent cells, oldest first; more than six are an error.
    pub fn new(previous: u8, recent: &[u8]) -> Result<Self, String> {
        if previous > RIGHT || recent.len() > NUM_RECENT {
            return Err(format!("expected a direction 0..=4 and at most 6 cells, got {previous} and {recent:?}"));
        }
        let mut memory = Self { previous, ..Self::default() };
        recent.iter().for_each(|&cell| memory.append(cell));
        Ok(memory)
    }

    /// Returns the last own positions recorded by rule 7, oldest first.
    pub fn recent(&self) -> &[u8] {
        &self.recent[..self.num_recent as usize]
    }

    fn append(&mut self, cell: u8) {
        if self.num_recent as usize == NUM_RECENT {
            self.recent.copy_within(1.., 0);
            self.num_recent -= 1;
        }
        self.recent[self.num_recent as usize] = cell;
        self.num_recent += 1;
    }
}

/// The source of a decision's random choices.
pub(crate) trait Chance {
    /// Returns a uniform integer below `n`.
    fn choose(&mut self, n: usize) -> usize;
}

impl Chance for Rng {
    #[inline]
    fn choose(&mut self, n: usize) -> usize {
        if n == 1 {
            return 0;
        }
        self.below(n)
    }
}

/// Enumerates all sequences of choices, one per decision.
#[derive(Default)]
struct Enumeration {
    /// Choice and number of choices.
    choices: Vec<(usize, usize)>,
    next: usize,
}

impl Chance for Enumeration {
    fn choose(&mut self, n: usize) -> usize {
        if self.next == self.choices.len() {
            self.choices.push((0, n));
        }
        self.next += 1;
        self.choices[self.next - 1].0
    }
}

impl Enumeration {
    fn probability(&self) -> f64 {
        self.choices.iter().map(|&(_, n)| 1.0 / n as f64).product()
    }

    /// Advances to the next sequence; returns `false` after the last.
    fn advance(&mut self) -> bool {
        self.next = 0;
        while let Some((choice, n)) = self.choices.pop() {
            if choice + 1 < n {
                self.choices.push((choice + 1, n));
                return true;
            }
        }
        false
    }
}

/// Returns the action of a SimpleAgent and updates its memory.
#[inline]
pub fn act(sight: &Sight, memory: &mut Memory, rng: &mut Rng) -> u8 {
    decide(sight, memory, rng).action
}

/// A possible result of a decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Possibility {
    pub action: u8,
    pub memory: Memory,
    /// Whether the own position was recorded in the memory (rule 7).
    pub appended: bool,
    pub probability: f64,
}

/// Returns all possible results of a decision, with exact probabilities that sum to one.
pub fn distribution(sight: &Sight, memory: &Memory) -> Vec<Possibility> {
    let mut possibilities: Vec<Possibility> = Vec::new();
    let mut enumeration = Enumeration::default();
    loop {
        let mut new_memory = *memory;
        let Decision { action, appended } = decide(sight, &mut new_memory, &mut enumeration);
        let probability = enumeration.probability();
        let is_same = |p: &&mut Possibility| (p.action, p.memory, p.appended) == (action, new_memory, appended);
        match possibilities.iter_mut().find(is_same) {
            Some(possibility) => possibility.probability += probability,
            None => possibilities.push(Possibility { action, memory: new_memory, appended, probability }),
        }
        if !enumeration.advance() {
            return possibilities;
        }
    }
}

struct Decision {
    action: u8,
    appended: bool,
}

impl Decision {
    fn of(action: u8) -> Self {
        Self { action, appended: false }
    }
}

/// The rules of the reference's `SimpleAgent.act`; the first that applies decides.
fn decide(sight: &Sight, memory: &mut Memory, chance: &mut impl Chance) -> Decision {
    let mut reach = Reach::new(sight);
    if let Some(action) = evade(sight, &mut reach, chance) {
        return Decision::of(action);
    }
    let near = reach.within(ENEMY_RADIUS);
    let enemy = nearest(&reach, sight.enemies().map(bit), ENEMY_RADIUS);
    if sight.enemies().any(|cell| has(reach.layer(1), cell)) && can_bomb(sight, &mut reach) {
        return Decision::of(BOMB);
    }
    let mut trail = Trail::new(sight);
    if let Some(target) = enemy {
        let direction = trail.first_step(target, chance);
        if direction != memory.previous || chance.choose(2) == 0 {
            memory.previous = direction;
            return Decision::of(direction);
        }
    }
    if let Some(target) = nearest(&reach, sight.items.into_iter(), ITEM_RADIUS) {
        return Decision::of(trail.first_step(target, chance));
    }
    if near & sight.wood != 0 {
        if reach.layer(1) & sight.wood != 0 {
            return Decision::of(if can_bomb(sight, &mut reach) { BOMB } else { STOP });
        }
        if let Some(target) = nearest(&reach, std::iter::once(sight.wood), ITEM_RADIUS) {
            let direction = trail.first_step(target, chance);
            if !is_unsafe(sight, sight.geometry().neighbour(sight.cell, direction)) {
                return Decision::of(direction);
            }
        }
    }
    let action = wander(sight, memory, chance);
    memory.append(sight.cell);
    Decision { action, appended: true }
}

/// Rule 1: leaves the rows and columns of bombs whose distance is at most their strength.
fn evade(sight: &Sight, reach: &mut Reach, chance: &mut impl Chance) -> Option<u8> {
    let geometry = sight.geometry();
    let (row, column) = (geometry.row(sight.cell), geometry.column(sight.cell));
    let mut marks = Marks::default();
    for &(cell, strength) in sight.bombs() {
        let (bomb_row, bomb_column) = (geometry.row(cell), geometry.column(cell));
        if (bomb_row != row && bomb_column != column) || !has(reach.within(strength as usize), cell) {
            continue;
        }
        if cell == sight.cell {
            [RIGHT, LEFT, UP, DOWN].into_iter().for_each(|direction| marks.add(direction, strength));
        } else if bomb_row == row {
            marks.add(if column < bomb_column { RIGHT } else { LEFT }, strength);
        } else {
            marks.add(if row < bomb_row { DOWN } else { UP }, strength);
        }
    }
    match marks.len {
        0 => None,
        4 => Some(escape(sight, &marks)),
        _ => {
            let mut directions = Choices::default();
            for direction in UP..=RIGHT {
                let next = geometry.neighbour(sight.cell, direction);
                if next != OFF && !marks.has(direction) && has(sight.passable | sight.fog, next) {
                    directions.push(direction);
                }
            }
            if directions.len == 0 {
                for &direction in marks.directions() {
                    if geometry.neighbour(sight.cell, direction) != OFF {
                        directions.push(direction);
                    }
                }
            }
            Some(directions.pick(chance))
        }
    }
}

/// Returns the first marked direction that leads around a corner or out of the range of the strongest bomb.
fn escape(sight: &Sight, marks: &Marks) -> u8 {
    let geometry = sight.geometry();
    let passable = sight.passable & !bit(sight.cell);
    for &direction in marks.directions() {
        let start = geometry.neighbour(sight.cell, direction);
        if start == OFF || !has(passable, start) {
            continue;
        }
        let strength = marks.strength[direction as usize];
        let own_lines = geometry.whole_row(start) | geometry.whole_column(start);
        let beyond = iter(own_lines).filter(|&cell| geometry.distance(cell, start) > strength);
        let goal = beyond.fold(geometry.full & !own_lines, |cells, cell| cells | bit(cell));
        let mut reached = bit(start);
        loop {
            if reached & goal != 0 {
                return direction;
            }
            let expanded = reached | geometry.touching(reached) & passable;
            if expanded == reached {
                break;
            }
            reached = expanded;
        }
    }
    STOP
}

/// Returns whether the agent has a bomb and could escape it: beyond its strength or around a corner.
fn can_bomb(sight: &Sight, reach: &mut Reach) -> bool {
    if sight.ammo < 1 {
        return false;
    }
    let geometry = sight.geometry();
    let corners = sight.passage & !(geometry.whole_row(sight.cell) | geometry.whole_column(sight.cell));
    if reach.all() & corners != 0 {
        return true;
    }
    let near = reach.within(sight.blast as usize);
    reach.all() & sight.passage & !near != 0
}

/// Returns the nearest cell of any kind within a radius; ties go to the last kind, then to the last cell in row-major
/// order.
fn nearest(reach: &Reach, kinds: impl Iterator<Item = Cells> + Clone, radius: usize) -> Option<u8> {
    (1..=radius).find_map(|distance| {
        let found = kinds.clone().map(|cells| cells & reach.layer(distance)).filter(|&cells| cells != 0).last();
        found.map(|cells| (Cells::BITS - 1 - cells.leading_zeros()) as u8)
    })
}

/// Returns whether a bomb in the row or column of the cell is at most its strength away, ignoring walls.
fn is_unsafe(sight: &Sight, cell: u8) -> bool {
    let geometry = sight.geometry();
    let in_line = |bomb: u8| geometry.row(bomb) == geometry.row(cell) || geometry.column(bomb) == geometry.column(cell);
    sight.bombs().iter().any(|&(bomb, strength)| in_line(bomb) && geometry.distance(bomb, cell) <= strength)
}

/// Rule 7: a random safe step, to a cell not visited recently if there is one.
fn wander(sight: &Sight, memory: &Memory, chance: &mut impl Chance) -> u8 {
    let geometry = sight.geometry();
    let (mut safe, mut fresh) = (Choices::default(), Choices::default());
    for direction in [STOP, LEFT, RIGHT, UP, DOWN] {
        let next = geometry.neighbour(sight.cell, direction);
        if next == OFF || !has(sight.passable, next) || is_unsafe(sight, next) {
            continue;
        }
        safe.push(direction);
        if !memory.recent().contains(&next) {
            fresh.push(direction);
        }
    }
    let mut directions = if fresh.len > 0 { fresh } else { safe };
    if directions.len > 1 {
        directions.drop_stop();
    }
    directions.pick(chance)
}

/// Directions to choose from.
#[derive(Clone, Copy, Default)]
struct Choices {
    directions: [u8; 5],
    len: usize,
}

impl Choices {
    fn push(&mut self, direction: u8) {
        self.directions[self.len] = direction;
        self.len += 1;
    }

    // Stop is always pushed first, if at all.
    fn drop_stop(&mut self) {
        if self.directions[0] == STOP {
            self.directions.copy_within(1.., 0);
            self.len -= 1;
        }
    }

    /// Returns a uniformly random choice, or Stop if there is none.
    fn pick(&self, chance: &mut impl Chance) -> u8 {
        match self.len {
            0 => STOP,
            len => self.directions[chance.choose(len)],
        }
    }
}

/// The directions of bombs, in the order in which they were marked.
#[derive(Default)]
struct Marks {
    order: [u8; 4],
    len: usize,
    /// By direction, the largest strength.
    strength: [u8; 5],
}

impl Marks {
    fn has(&self, direction: u8) -> bool {
        self.directions().contains(&direction)
    }

    fn directions(&self) -> &[u8] {
        &self.order[..self.len]
    }

    fn add(&mut self, direction: u8, strength: u8) {
        if !self.has(direction) {
            self.order[self.len] = direction;
            self.len += 1;
        }
        let strongest = &mut self.strength[direction as usize];
        *strongest = strength.max(*strongest);
    }
}
