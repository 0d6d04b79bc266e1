//! Searches that know nothing but the rules: random playouts, flat Monte Carlo and UCT.

use crate::error::SearchError;
use crate::game::{Action, Player, Players, State};
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
}

/// What the playouts through one action gave the player who chose it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arm {
    pub action: Action,
    pub visits: u32,
    pub value_sum: f64,
}

/// Plays random legal actions until the game is over, or no player in `watched` plays on.
///
/// Leaves in `returns` what is decided then. A player whose return is decided is never active again, so nothing is
/// lost to those watched.
pub fn playout<S: State>(
    state: &mut S,
    watched: Players,
    returns: &mut [f32],
    rng: &mut Rng,
) -> Result<(), SearchError<S::Error>> {
    let mut joint = Vec::new();
    let mut legal = Vec::new();
    loop {
        let players = state.active_players()?;
        if players.and(watched).is_empty() {
            state.returns(returns)?;
            if players.is_empty() || watched.iter().all(|player| returns[player] != 0.0) {
                return Ok(());
            }
        }
        joint.clear();
        for player in players.iter() {
            legal.clear();
            state.legal_actions(player, &mut legal)?;
            joint.push(draw(&legal, player, rng)?);
        }
        state.play(&joint)?;
    }
}

/// Returns the statistics of the actions of `player` at the root, which it must be active at, ascending.
///
/// In UCT every active player of a node chooses by its own statistics, and their actions together name the child;
/// each playout adds one node. In a flat search all others play at random from the root on.
pub fn playout_search<S: State>(
    root: &S,
    player: Player,
    num_players: usize,
    config: &PlayoutConfig,
    rng: &mut Rng,
) -> Result<Vec<Arm>, SearchError<S::Error>> {
    let started = Instant::now();
    let mut tree = Tree { player, num_players, nodes: Vec::new(), children: HashMap::new() };
    tree.nodes.push(tree.node(root, 0, config)?);
    for number in 0..config.playouts {
        // One playout is the least that tells anything.
        if number > 0 && config.time.is_some_and(|limit| started.elapsed() >= limit) {
            break;
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

/// The seats of those who choose by statistics here; none at the end of a game.
struct Node {
    seats: Vec<Seat>,
    visits: u32,
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
        let mut path: Vec<(u32, Vec<usize>)> = Vec::new();
        let mut index = 0;
        loop {
            let node = &self.nodes[index as usize];
            if node.seats.is_empty() {
                break;
            }
            let chosen: Vec<usize> = node.seats.iter().map(|seat| choose(seat, node.visits, config, rng)).collect();
            let joint = joint(&state, node, &chosen, rng)?;
            state.play(&joint)?;
            path.push((index, chosen));
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
        let mut returns = vec![0.0; self.num_players];
        playout(&mut state, watched, &mut returns, rng)?;
        for (index, chosen) in path {
            let node = &mut self.nodes[index as usize];
            node.visits += 1;
            for (seat, choice) in node.seats.iter_mut().zip(chosen) {
                seat.arms[choice].visits += 1;
                seat.arms[choice].value_sum += f64::from(returns[seat.player]);
            }
        }
        Ok(())
    }

    fn node<S: State>(&self, state: &S, depth: u32, config: &PlayoutConfig) -> Result<Node, SearchError<S::Error>> {
        let mut seats = Vec::new();
        let is_below = depth < config.depth;
        for player in state.active_players()?.iter().filter(|&player| is_below && self.chooses(player, config)) {
            let mut actions = Vec::new();
            state.search_actions(player, &mut actions)?;
            if actions.is_empty() {
                return Err(SearchError::NoAction(player));
            }
            let arms = actions.into_iter().map(|action| Arm { action, visits: 0, value_sum: 0.0 }).collect();
            seats.push(Seat { player, arms });
        }
        Ok(Node { seats, visits: 0 })
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
    for player in state.active_players()?.iter() {
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

fn draw<E>(legal: &[Action], player: Player, rng: &mut Rng) -> Result<Action, SearchError<E>> {
    match legal {
        [] => Err(SearchError::NoAction(player)),
        [only] => Ok(*only),
        _ => Ok(legal[rng.below(legal.len())]),
    }
}
