//! Searches that know nothing but the rules: random playouts, flat Monte Carlo and UCT.

use crate::chance;
use crate::error::SearchError;
use crate::game::{all_decided, step_discount, Action, Player, Players, State, CHANCE};
use crate::rng::Rng;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How playouts are spent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayoutConfig {
    /// Playouts from one root.
    pub playouts: u32,
    /// Time for one root.
    pub time: Option<Duration>,
    /// UCB1's constant `c`: an action is worth its mean result plus `c * sqrt(ln(visits of the node) / visits)`
    /// (Kocsis and Szepesvari 2006); without it all actions get equally many playouts.
    pub exploration: Option<f64>,
    /// How many plies below the root keep statistics: 1 is flat Monte Carlo, no bound is UCT.
    pub depth: u32,
    /// What a value is worth one step before.
    pub discount: f64,
}

/// What the playouts through one action gave the player who chose it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arm {
    pub action: Action,
    pub visits: u32,
    pub value_sum: f64,
}

/// Asked again and again by loops that may take long: whether to end.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Plays random legal actions until the game is over, or no player in `watched` plays on.
///
/// Leaves in `values` what the position was worth: what was paid on the way and what is decided then, discounted. A
/// player whose return is decided is never active or paid again, so nothing is lost to those watched.
pub fn playout<S: State>(
    state: &mut S,
    watched: Players,
    discount: f64,
    values: &mut [f64],
    rng: &mut Rng,
) -> Result<(), SearchError<S::Error>> {
    let mut joint = Vec::new();
    let mut legal = Vec::new();
    let mut chances = Vec::new();
    let mut returns = vec![0.0; values.len()];
    let mut scale = 1.0;
    values.fill(0.0);
    loop {
        let players = state.active_players()?;
        if players.and(watched).is_empty() && (players.is_empty() || all_decided(state, watched)?) {
            state.returns(&mut returns)?;
            add(&returns, scale, values);
            return Ok(());
        }
        joint.clear();
        if players.contains(CHANCE) {
            joint.push(outcome(state, players, &mut legal, &mut chances, rng)?);
        } else {
            for player in players.iter() {
                legal.clear();
                state.legal_actions(player, &mut legal)?;
                joint.push(draw(&legal, player, rng)?);
            }
        }
        state.play(&joint)?;
        if S::HAS_REWARDS {
            returns.fill(0.0);
            state.rewards(&mut returns)?;
            add(&returns, scale, values);
        }
        if discount != 1.0 {
            scale *= step_discount(state, discount)?;
        }
    }
}

/// Returns the statistics of the actions of `player` at the root, which it must be active at, ascending.
///
/// In UCT every active player of a node chooses by its own statistics, and their actions together name the child;
/// each playout adds one node. In a flat search all others play at random from the root on. Chance always draws.
pub fn playout_search<S: State>(
    root: &S,
    player: Player,
    num_players: usize,
    config: &PlayoutConfig,
    rng: &mut Rng,
    stop: Stop<'_>,
) -> Result<Vec<Arm>, SearchError<S::Error>> {
    let started = Instant::now();
    if root.active_players()?.contains(CHANCE) {
        return Err(SearchError::ChanceRoot);
    }
    let mut tree = Tree { player, num_players, nodes: Vec::new(), children: HashMap::new() };
    tree.nodes.push(tree.node(root, 0, config)?);
    for number in 0..config.playouts {
        // One playout is the least that tells anything.
        if number > 0 && config.time.is_some_and(|limit| started.elapsed() >= limit) {
            break;
        }
        if stop() {
            return Err(SearchError::Interrupted);
        }
        tree.run(root.clone(), config, rng)?;
    }
    let arms = tree.nodes.swap_remove(0).seats.into_iter().find(|seat| seat.player == player);
    arms.map(|seat| seat.arms).ok_or(SearchError::NoAction(player))
}

struct Seat {
    player: Player,
    arms: Vec<Arm>,
}

/// The seats of those who choose by statistics here; none at the end of a game and where chance moves.
struct Node {
    seats: Vec<Seat>,
    visits: u32,
    is_chance: bool,
}

/// A node gone through, what its seats chose, and what the step from it paid and left of later values.
struct Passed {
    node: u32,
    chosen: Vec<usize>,
    rewards: Vec<f32>,
    discount: f64,
}

struct Tree {
    player: Player,
    num_players: usize,
    nodes: Vec<Node>,
    children: HashMap<(u32, Vec<Action>), u32>,
}

impl Tree {
    /// Goes down by the statistics, adds a node, plays to the end at random and updates the way.
    fn run<S: State>(
        &mut self,
        mut state: S,
        config: &PlayoutConfig,
        rng: &mut Rng,
    ) -> Result<(), SearchError<S::Error>> {
        let mut path: Vec<Passed> = Vec::new();
        let mut index = 0;
        loop {
            let node = &self.nodes[index as usize];
            if node.seats.is_empty() && !node.is_chance {
                break;
            }
            let chosen: Vec<usize> = node.seats.iter().map(|seat| choose(seat, node.visits, config, rng)).collect();
            let joint = joint(&state, node, &chosen, rng)?;
            state.play(&joint)?;
            path.push(self.passed(index, chosen, &state, config)?);
            if path.len() as u32 >= config.depth {
                break;
            }
            match self.children.get(&(index, joint.clone())) {
                Some(&child) => index = child,
                None => {
                    let child = self.node(&state, path.len() as u32, config)?;
                    self.children.insert((index, joint), self.nodes.len() as u32);
                    self.nodes.push(child);
                    break;
                }
            }
        }
        let watched = if config.depth == 1 { Players::one(self.player) } else { Players::all(self.num_players) };
        let mut values = vec![0.0; self.num_players];
        playout(&mut state, watched, config.discount, &mut values, rng)?;
        for step in path.into_iter().rev() {
            if step.discount != 1.0 {
                values.iter_mut().for_each(|value| *value *= step.discount);
            }
            add(&step.rewards, 1.0, &mut values);
            let node = &mut self.nodes[step.node as usize];
            node.visits += 1;
            for (seat, choice) in node.seats.iter_mut().zip(step.chosen) {
                seat.arms[choice].visits += 1;
                seat.arms[choice].value_sum += values[seat.player];
            }
        }
        Ok(())
    }

    fn passed<S: State>(
        &self,
        node: u32,
        chosen: Vec<usize>,
        child: &S,
        config: &PlayoutConfig,
    ) -> Result<Passed, SearchError<S::Error>> {
        let mut rewards = Vec::new();
        if S::HAS_REWARDS {
            rewards.resize(self.num_players, 0.0);
            child.rewards(&mut rewards)?;
        }
        let discount = if config.discount == 1.0 { 1.0 } else { step_discount(child, config.discount)? };
        Ok(Passed { node, chosen, rewards, discount })
    }

    fn node<S: State>(&self, state: &S, depth: u32, config: &PlayoutConfig) -> Result<Node, SearchError<S::Error>> {
        let mut seats = Vec::new();
        let is_below = depth < config.depth;
        let players = state.active_players()?;
        let is_chance = is_below && players.contains(CHANCE);
        for player in players.iter().filter(|&player| is_below && !is_chance && self.chooses(player, config)) {
            let mut actions = Vec::new();
            state.search_actions(player, &mut actions)?;
            if actions.is_empty() {
                return Err(SearchError::NoAction(player));
            }
            let arms = actions.into_iter().map(|action| Arm { action, visits: 0, value_sum: 0.0 }).collect();
            seats.push(Seat { player, arms });
        }
        Ok(Node { seats, visits: 0, is_chance })
    }

    fn chooses(&self, player: Player, config: &PlayoutConfig) -> bool {
        config.depth > 1 || player == self.player
    }
}

/// Returns the arm that a seat plays next: one of the least tried until all are tried, then that of the highest bound.
fn choose(seat: &Seat, visits: u32, config: &PlayoutConfig, rng: &mut Rng) -> usize {
    let least = seat.arms.iter().map(|arm| arm.visits).min().unwrap_or(0);
    let Some(exploration) = config.exploration.filter(|_| least > 0) else {
        // Drawn, not in order: seats that took turns in step would never see most joint actions.
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

/// Returns one action per active player: chosen where the node has a seat for it, random elsewhere.
fn joint<S: State>(
    state: &S,
    node: &Node,
    chosen: &[usize],
    rng: &mut Rng,
) -> Result<Vec<Action>, SearchError<S::Error>> {
    let mut joint = Vec::new();
    let mut legal = Vec::new();
    let players = state.active_players()?;
    if players.contains(CHANCE) {
        return Ok(vec![outcome(state, players, &mut legal, &mut Vec::new(), rng)?]);
    }
    for player in players.iter() {
        let seat = node.seats.iter().zip(chosen).find(|(seat, _)| seat.player == player);
        joint.push(match seat {
            Some((seat, &choice)) => seat.arms[choice].action,
            None => {
                legal.clear();
                state.legal_actions(player, &mut legal)?;
                draw(&legal, player, rng)?
            }
        });
    }
    Ok(joint)
}

/// Draws what chance does where it moves.
fn outcome<S: State>(
    state: &S,
    players: Players,
    actions: &mut Vec<Action>,
    chances: &mut Vec<f32>,
    rng: &mut Rng,
) -> Result<Action, SearchError<S::Error>> {
    if players != Players::CHANCE {
        return Err(SearchError::MixedChance);
    }
    chance::outcomes(state, actions, chances)?;
    Ok(actions[chance::draw(chances.iter().copied(), rng)])
}

fn add(numbers: &[f32], scale: f64, values: &mut [f64]) {
    values.iter_mut().zip(numbers).for_each(|(value, &number)| *value += scale * f64::from(number));
}

fn draw<E>(legal: &[Action], player: Player, rng: &mut Rng) -> Result<Action, SearchError<E>> {
    match legal {
        [] => Err(SearchError::NoAction(player)),
        [only] => Ok(*only),
        _ => Ok(legal[rng.below(legal.len())]),
    }
}
