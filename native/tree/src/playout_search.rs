//! Searches that need only the rules: flat Monte Carlo and UCT.

use crate::error::SearchError;
use crate::game::{checked_active_players, step_discount, Action, Player, Players, State, CHANCE};
use crate::playouts::{undiscounted_players, Scratch, Stop};
use crate::rng::Rng;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Settings of a playout search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayoutConfig {
    /// Number of playouts per root.
    pub playouts: u32,
    /// Time limit per root.
    pub time: Option<Duration>,
    /// UCB1's constant `c`: the score of an action is its mean result plus `c * sqrt(ln(visits of the node) / visits)`
    /// (Kocsis and Szepesvari 2006); `None` spreads playouts evenly over the actions.
    pub exploration: Option<f64>,
    /// Number of plies below the root with statistics: 1 is flat Monte Carlo, `u32::MAX` is UCT.
    pub depth: u32,
    /// Discount factor per step.
    pub discount: f64,
    /// Maximum length of a game in steps; a longer one is an error.
    pub max_plies: u32,
}

/// Statistics of one root action, from the point of view of the player who chooses it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arm {
    pub action: Action,
    pub visits: u32,
    pub value_sum: f64,
}

/// Returns the statistics of the actions of `player`, who must be active at the root, in ascending order of actions.
///
/// In UCT every active player of a node chooses by its own statistics, and the joint action identifies the child; each
/// playout adds one node. In a flat search, all others play at random from the root on. Chance is always sampled.
pub fn playout_search<S: State>(
    root: &S,
    player: Player,
    num_players: usize,
    config: &PlayoutConfig,
    rng: &mut Rng,
    stop: Stop<'_>,
) -> Result<Vec<Arm>, SearchError<S::Error>> {
    let started = Instant::now();
    let active = root.active_players()?;
    if active.contains(CHANCE) {
        return Err(SearchError::ChanceRoot);
    }
    if player >= num_players || !active.contains(player) {
        return Err(SearchError::NotActive { player, active: active.iter().collect() });
    }
    let mut tree = Tree {
        player,
        num_players,
        nodes: Vec::new(),
        children: HashMap::new(),
        scratch: Scratch::new(config.max_plies),
        path: Path::default(),
    };
    tree.nodes.push(tree.new_node(root, 0, config)?);
    for number in 0..config.playouts {
        // At least one playout is made, whatever the time limit.
        if number > 0 && config.time.is_some_and(|limit| started.elapsed() >= limit) {
            break;
        }
        if stop() {
            return Err(SearchError::Interrupted);
        }
        tree.run_playout(root.clone(), config, rng)?;
    }
    let arms = tree.nodes.swap_remove(0).seats.into_iter().find(|seat| seat.player == player);
    arms.map(|seat| seat.arms).ok_or(SearchError::NoAction(player))
}

struct Seat {
    player: Player,
    arms: Vec<Arm>,
}

/// The players that choose by statistics here; empty at terminal and chance nodes.
struct Node {
    seats: Vec<Seat>,
    /// The child of each arm, if there is a single seat; other children are in the tree's table.
    arm_children: Vec<u32>,
    visits: u32,
    is_chance: bool,
}

const NONE: u32 = u32::MAX;

/// The path of a playout: nodes, chosen arms, and the rewards and discount factors of the steps between them.
#[derive(Default)]
struct Path {
    nodes: Vec<u32>,
    /// One per seat and node.
    chosen: Vec<usize>,
    /// `num_players` per node, if the game has rewards.
    rewards: Vec<f32>,
    /// `num_players` per node, if values are discounted.
    factors: Vec<f64>,
    values: Vec<f64>,
}

struct Tree {
    player: Player,
    num_players: usize,
    nodes: Vec<Node>,
    children: HashMap<(u32, Vec<Action>), u32>,
    scratch: Scratch,
    path: Path,
}

impl Tree {
    /// Makes one playout: selects by statistics, adds a node, plays to the end at random and backs up the values.
    fn run_playout<S: State>(
        &mut self,
        mut state: S,
        config: &PlayoutConfig,
        rng: &mut Rng,
    ) -> Result<(), SearchError<S::Error>> {
        self.path.clear();
        let mut index = 0;
        loop {
            let node = &self.nodes[index as usize];
            if node.seats.is_empty() && !node.is_chance {
                break;
            }
            let first = self.path.chosen.len();
            self.path.chosen.extend(node.seats.iter().map(|seat| select_arm(seat, node.visits, config, rng)));
            let chosen = &self.path.chosen[first..];
            let chosen_action = |player: Player| {
                let mut seats = node.seats.iter().zip(chosen);
                seats.find(|(seat, _)| seat.player == player).map(|(seat, &slot)| seat.arms[slot].action)
            };
            self.scratch.sample_joint(&state, state.active_players()?, chosen_action, rng)?;
            let undiscounted = undiscounted_players(&state, self.num_players, config.discount)?;
            state.play(&self.scratch.joint)?;
            self.path.nodes.push(index);
            self.path.record_step(&state, undiscounted, self.num_players, config)?;
            let depth = self.path.nodes.len() as u32;
            if depth >= config.depth {
                break;
            }
            let child = self.child(index, self.path.chosen[first..].first().copied());
            if child != NONE {
                index = child;
                continue;
            }
            let new_node = self.new_node(&state, depth, config)?;
            self.link(index, self.path.chosen[first..].first().copied());
            self.nodes.push(new_node);
            break;
        }
        let watched = if config.depth == 1 { Players::one(self.player) } else { Players::all(self.num_players) };
        let values = &mut self.path.values;
        values.clear();
        values.resize(self.num_players, 0.0);
        self.scratch.playout(&mut state, watched, config.discount, values, rng)?;
        self.backup::<S>(config);
        Ok(())
    }

    /// Adds the values of the playout to the arms chosen on its path, the last node first.
    fn backup<S: State>(&mut self, config: &PlayoutConfig) {
        let Path { nodes, chosen, rewards, factors, values } = &mut self.path;
        let mut chosen = chosen.as_slice();
        for (step, &index) in nodes.iter().enumerate().rev() {
            let players = step * self.num_players..(step + 1) * self.num_players;
            if config.discount != 1.0 {
                values.iter_mut().zip(&factors[players.clone()]).for_each(|(value, factor)| *value *= factor);
            }
            if S::HAS_REWARDS {
                values.iter_mut().zip(&rewards[players]).for_each(|(value, &reward)| *value += f64::from(reward));
            }
            let node = &mut self.nodes[index as usize];
            node.visits += 1;
            let (before, slots) = chosen.split_at(chosen.len() - node.seats.len());
            chosen = before;
            for (seat, &slot) in node.seats.iter_mut().zip(slots) {
                seat.arms[slot].visits += 1;
                seat.arms[slot].value_sum += values[seat.player];
            }
        }
    }

    /// Returns the child of a node reached by the joint action just played, or `NONE` if there is none yet.
    fn child(&self, node: u32, slot: Option<usize>) -> u32 {
        match (slot, self.nodes[node as usize].arm_children.as_slice()) {
            (Some(slot), arm_children @ [_, ..]) => arm_children[slot],
            _ => self.children.get(&(node, self.scratch.joint.clone())).copied().unwrap_or(NONE),
        }
    }

    /// Links the node to be added next to the joint action just played.
    fn link(&mut self, node: u32, slot: Option<usize>) {
        let child = self.nodes.len() as u32;
        match (slot, self.nodes[node as usize].arm_children.as_mut_slice()) {
            (Some(slot), arm_children @ [_, ..]) => arm_children[slot] = child,
            _ => drop(self.children.insert((node, self.scratch.joint.clone()), child)),
        }
    }

    fn new_node<S: State>(&self, state: &S, depth: u32, config: &PlayoutConfig) -> Result<Node, SearchError<S::Error>> {
        let mut seats = Vec::new();
        let is_below = depth < config.depth;
        let players = checked_active_players(state, self.num_players)?;
        let is_chance = is_below && players.contains(CHANCE);
        for player in players.iter().filter(|&player| is_below && !is_chance && self.has_statistics(player, config)) {
            let mut actions = Vec::new();
            state.search_actions(player, &mut actions)?;
            if actions.is_empty() {
                return Err(SearchError::NoAction(player));
            }
            let arms = actions.into_iter().map(|action| Arm { action, visits: 0, value_sum: 0.0 }).collect();
            seats.push(Seat { player, arms });
        }
        let arm_children = match (seats.as_slice(), players.len()) {
            ([only], 1) => vec![NONE; only.arms.len()],
            _ => Vec::new(),
        };
        Ok(Node { seats, arm_children, visits: 0, is_chance })
    }

    fn has_statistics(&self, player: Player, config: &PlayoutConfig) -> bool {
        config.depth > 1 || player == self.player
    }
}

impl Path {
    fn clear(&mut self) {
        self.nodes.clear();
        self.chosen.clear();
        self.rewards.clear();
        self.factors.clear();
    }

    /// Records the rewards of the step into a state, and the discount factors for players not `undiscounted` before it.
    fn record_step<S: State>(
        &mut self,
        state: &S,
        undiscounted: Players,
        num_players: usize,
        config: &PlayoutConfig,
    ) -> Result<(), SearchError<S::Error>> {
        if S::HAS_REWARDS {
            let first = self.rewards.len();
            self.rewards.resize(first + num_players, 0.0);
            state.rewards(&mut self.rewards[first..])?;
        }
        if config.discount != 1.0 {
            let factor = step_discount(state, config.discount)?;
            self.factors
                .extend((0..num_players).map(|player| if undiscounted.contains(player) { 1.0 } else { factor }));
        }
        Ok(())
    }
}

/// Returns the arm to play: a random least visited one until all have been tried, then the one with the highest bound.
fn select_arm(seat: &Seat, visits: u32, config: &PlayoutConfig, rng: &mut Rng) -> usize {
    let least = seat.arms.iter().map(|arm| arm.visits).min().unwrap_or(0);
    let Some(exploration) = config.exploration.filter(|_| least > 0) else {
        // Sampled rather than in order: seats in lockstep would never try most joint actions.
        let ties = seat.arms.iter().enumerate().filter(|(_, arm)| arm.visits == least);
        let pick = rng.below(ties.clone().count());
        return ties.map(|(index, _)| index).nth(pick).unwrap_or(0);
    };
    let log = f64::from(visits).ln();
    let bound = |arm: &Arm| {
        let visits = f64::from(arm.visits);
        arm.value_sum / visits + exploration * (log / visits).sqrt()
    };
    let mut best = (0, f64::NEG_INFINITY);
    for (index, arm) in seat.arms.iter().enumerate() {
        let worth = bound(arm);
        if worth > best.1 {
            best = (index, worth);
        }
    }
    best.0
}
