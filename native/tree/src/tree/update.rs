//! What evaluations and results change: priors, values, visits.

use super::{Edge, Node, NodeId, Status, Tree, NONE, ROOT};
use crate::config::Config;
use crate::error::SearchError;
use crate::game::{Action, Agent, Player, Players, State};

/// How far values of low precision may be outside [-1, 1].
const TOLERANCE: f32 = 1e-3;

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Takes one evaluation of a pending leaf, seen by its `seat`-th searched player; the last one completes the leaf.
    ///
    /// `value[k]` is for the player `k` seats further on; players beyond it get what the sum of returns leaves them.
    pub fn receive(
        &mut self,
        node: NodeId,
        seat: u32,
        row: usize,
        logits: impl Fn(Action) -> f32,
        value: &[f32],
        config: &Config,
    ) -> Result<(), SearchError<S::Error>> {
        if value.iter().any(|v| !v.is_finite()) {
            return Err(SearchError::NotFinite { row });
        }
        if let Some(&value) = value.iter().find(|v| v.abs() > 1.0 + TOLERANCE) {
            return Err(SearchError::ValueRange { row, value });
        }
        let seat = (self.nodes[node as usize].first_seat + seat) as usize;
        self.set_priors(seat, row, logits, config)?;
        self.note_value(node, self.seats[seat].player, value, config);
        let record = &mut self.nodes[node as usize];
        record.rows_left -= 1;
        if record.rows_left == 0 {
            record.status = Status::Expanded;
            if node == ROOT {
                self.add_noise(config);
            }
            // Nothing holds a leaf that was evaluated for a proof.
            if self.nodes[node as usize].in_flight > 0 {
                self.finish(node, 1);
            }
        }
        Ok(())
    }

    /// Mixes Dirichlet noise into the priors of the root (AlphaZero, Silver et al. 2018).
    pub fn add_noise(&mut self, config: &Config) {
        if config.noise_fraction == 0.0 {
            return;
        }
        for seat in 0..self.nodes[ROOT as usize].num_seats {
            let seat = &mut self.seats[(self.nodes[ROOT as usize].first_seat + seat) as usize];
            if seat.num_open > 0 {
                // The order of a kept root's priors is not that in which its edges lie any more.
                seat.num_open = seat.num_edges;
            }
            let edges = seat.first_edge as usize..(seat.first_edge + seat.num_edges) as usize;
            let noise: Vec<f64> = edges.clone().map(|_| self.rng.gamma(config.noise_alpha)).collect();
            let total: f64 = noise.iter().sum();
            for (edge, share) in self.edges[edges].iter_mut().zip(noise) {
                let mixed = (1.0 - config.noise_fraction) * f64::from(edge.prior);
                edge.prior = (mixed + config.noise_fraction * (share / total)) as f32;
            }
        }
    }

    fn set_priors(
        &mut self,
        seat: usize,
        row: usize,
        logits: impl Fn(Action) -> f32,
        config: &Config,
    ) -> Result<(), SearchError<S::Error>> {
        let seat = &self.seats[seat];
        let edges = &mut self.edges[seat.first_edge as usize..(seat.first_edge + seat.num_edges) as usize];
        let priors = &mut self.scratch.priors;
        priors.clear();
        let mut peak = f64::NEG_INFINITY;
        for edge in edges.iter() {
            if edge.action as usize >= config.num_actions {
                return Err(SearchError::ActionRange { action: edge.action, num_actions: config.num_actions });
            }
            let logit = f64::from(logits(edge.action)) / config.policy_temperature;
            if logit.is_nan() || logit == f64::INFINITY {
                return Err(SearchError::NotFinite { row });
            }
            peak = peak.max(logit);
            priors.push(logit);
        }
        let peak = if peak == f64::NEG_INFINITY { 0.0 } else { peak };
        let mut total = 0.0;
        for prior in priors.iter_mut() {
            *prior = (*prior - peak).exp();
            total += *prior;
        }
        let even = 1.0 / edges.len() as f64;
        for (edge, prior) in edges.iter_mut().zip(priors.iter()) {
            let policy = if total > 0.0 { prior / total } else { even };
            edge.prior = ((1.0 - config.uniform_share) * policy + config.uniform_share * even) as f32;
        }
        Ok(())
    }

    /// A player's own view decides its value; the others' values come from the mean of all views.
    fn note_value(&mut self, node: NodeId, viewer: Player, value: &[f32], config: &Config) {
        let num_players = self.num_players;
        let viewers: Players = self.viewers(node).collect();
        let values = &mut self.values[node as usize * num_players..][..num_players];
        values[viewer] = value[0];
        let rest = config.utility_sum.map_or(0.0, |sum| (sum - f64::from(value[0])) / (num_players.max(2) - 1) as f64);
        for step in 1..num_players {
            let player = (viewer + step) % num_players;
            if !viewers.contains(player) {
                let estimate = value.get(step).map_or(rest, |&v| f64::from(v));
                values[player] += (estimate / viewers.len() as f64) as f32;
            }
        }
    }

    /// Marks a leaf and the edges that lead to it as being evaluated.
    pub(super) fn hold(&mut self, leaf: NodeId) {
        self.in_flight += 1;
        self.walk_up(leaf, |node| node.in_flight += 1, |edge| edge.in_flight += 1);
    }

    /// Unmarks them.
    pub(super) fn release(&mut self, leaf: NodeId) {
        self.in_flight -= 1;
        self.walk_up(leaf, |node| node.in_flight -= 1, |edge| edge.in_flight -= 1);
    }

    fn walk_up(&mut self, leaf: NodeId, on_node: impl Fn(&mut Node), on_edge: impl Fn(&mut Edge)) {
        let mut at = leaf;
        loop {
            on_node(&mut self.nodes[at as usize]);
            let Node { parent, choices, .. } = self.nodes[at as usize];
            if parent == NONE {
                return;
            }
            let num_seats = self.nodes[parent as usize].num_seats;
            for &edge in &self.choices[choices as usize..(choices + num_seats) as usize] {
                on_edge(&mut self.edges[edge as usize]);
            }
            at = parent;
        }
    }

    /// Adds a leaf's value to all statistics above it, and takes back the `held` marks of `hold`.
    pub(super) fn finish(&mut self, leaf: NodeId, held: u32) {
        if leaf != ROOT {
            self.simulations += 1;
        }
        self.in_flight -= held;
        let mut values = std::mem::take(&mut self.scratch.running);
        values.clear();
        values
            .extend(self.values[leaf as usize * self.num_players..][..self.num_players].iter().copied().map(f64::from));
        let mut at = leaf;
        loop {
            let node = &mut self.nodes[at as usize];
            node.visits += 1;
            node.in_flight -= held;
            let seats = node.first_seat as usize..(node.first_seat + node.num_seats) as usize;
            for seat in &mut self.seats[seats] {
                seat.value_sum += value_for(&values, seat.player);
            }
            let Node { parent, choices, first_step, num_steps, .. } = *node;
            if parent == NONE {
                break;
            }
            // v(parent) = rewards(child) + discount * v(child), the step nearest to the child first.
            let stride = self.num_players + 1;
            let steps = first_step as usize..first_step as usize + num_steps as usize * stride;
            for step in self.steps[steps].chunks_exact(stride).rev() {
                let discount = step[self.num_players];
                values.iter_mut().zip(step).for_each(|(value, reward)| *value = reward + discount * *value);
            }
            let Node { first_seat, num_seats, .. } = self.nodes[parent as usize];
            for i in 0..num_seats {
                let seat = &mut self.seats[(first_seat + i) as usize];
                let edge = &mut self.edges[self.choices[(choices + i) as usize] as usize];
                if edge.visits == 0 {
                    seat.visited_prior += f64::from(edge.prior);
                }
                edge.visits += 1;
                edge.in_flight -= held;
                edge.value_sum += value_for(&values, seat.player);
            }
            at = parent;
        }
        self.scratch.running = values;
    }
}

/// Returns what a value is for a player; chance has none.
fn value_for(values: &[f64], player: Player) -> f64 {
    values.get(player).copied().unwrap_or(0.0)
}
