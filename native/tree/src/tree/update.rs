//! Backup: updates of priors, values and visits from evaluations and results.

use super::edges::Edge;
use super::node::Details;
use super::{Node, NodeId, Seat, Status, Tree, NONE, ROOT};
use crate::config::Config;
use crate::error::SearchError;
use crate::game::{Action, Agent, Player, Players, State};

/// Allowed excess of values beyond [-1, 1], for low-precision networks.
const TOLERANCE: f32 = 1e-3;

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Stores one evaluation of a pending leaf, from the view of its `seat`-th searched player; the last one completes
    /// the leaf.
    ///
    /// `value[k]` is for the player `k` seats further on. If the values do not cover all players, the others share what
    /// remains of the sum of returns.
    pub fn add_evaluation(
        &mut self,
        node: NodeId,
        seat: u8,
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
        self.set_priors(node, seat, row, logits, config)?;
        self.add_value(node, self.seat(node, seat).player(), value, config)?;
        let details = &mut self.details[node as usize];
        details.evaluations_left -= 1;
        if details.evaluations_left == 0 {
            self.nodes[node as usize].status = Status::Expanded;
            if node == ROOT {
                self.add_noise(config);
                self.plan_gumbel(config);
            }
            // A leaf evaluated for a proof is not marked as in flight.
            if self.nodes[node as usize].in_flight > 0 {
                self.backup(node, 1);
            }
        }
        Ok(())
    }

    /// Sets a seat's priors to the softmax of its moves' logits, mixed with the uniform distribution.
    fn set_priors(
        &mut self,
        node: NodeId,
        seat: u8,
        row: usize,
        logits: impl Fn(Action) -> f32,
        config: &Config,
    ) -> Result<(), SearchError<S::Error>> {
        let seat = self.seat(node, seat);
        let (first, end) = (seat.first_move, seat.first_move + seat.num_moves());
        let weights = &mut self.scratch.priors;
        weights.clear();
        let scaled = |action| f64::from(logits(action)) / config.policy_temperature;
        self.moves.for_each_action(first, end, |action| weights.push(scaled(action)));
        if weights.iter().any(|logit| logit.is_nan() || *logit == f64::INFINITY) {
            return Err(SearchError::NotFinite { row });
        }
        let max_logit = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let max_logit = if max_logit == f64::NEG_INFINITY { 0.0 } else { max_logit };
        let mut total = 0.0;
        for weight in weights.iter_mut() {
            *weight = (*weight - max_logit).exp();
            total += *weight;
        }
        let uniform = 1.0 / weights.len() as f64;
        for (prior, weight) in self.moves.priors[first as usize..end as usize].iter_mut().zip(weights) {
            let policy = if total > 0.0 { *weight / total } else { uniform };
            *prior = ((1.0 - config.uniform_share) * policy + config.uniform_share * uniform) as f32;
        }
        Ok(())
    }

    /// Adds the values of one view to a node. A player's own view determines its value; other players get the mean of
    /// all views, or their decided return.
    ///
    /// A view with only its player's value also counts for its team and, in fixed-sum games, determines the equal
    /// shares of the rest.
    fn add_value(
        &mut self,
        node: NodeId,
        viewer: Player,
        value: &[f32],
        config: &Config,
    ) -> Result<(), SearchError<S::Error>> {
        let num_players = self.num_players;
        let viewers = self.details[node as usize].active.and(self.searched);
        let state = &self.states[node as usize];
        let decided = self.decided(state, Players::all(num_players).without(viewers), config)?;
        let returns = &mut self.scratch.numbers;
        if !decided.is_empty() {
            returns.clear();
            returns.resize(num_players, 0.0);
            state.returns(returns)?;
        }
        let values = &mut self.values[node as usize * num_players..][..num_players];
        values[viewer] = value[0];
        if viewers.len() == num_players {
            return Ok(());
        }
        let own = f64::from(value[0]);
        let team = config.team_of(viewer).without(decided);
        let decided_sum: f64 = decided.iter().map(|player| f64::from(returns[player])).sum();
        // What is left of a fixed sum is shared equally by the undecided players of the other teams.
        let num_others = (num_players - team.len() - decided.len()).max(1);
        let rest =
            config.utility_sum.map_or(0.0, |sum| (sum - (own * team.len() as f64 + decided_sum)) / num_others as f64);
        let is_for_all = value.len() > 1 || config.utility_sum.is_some();
        let num_views = if is_for_all { viewers.len() } else { viewers.and(team).len() };
        for step in 1..num_players {
            let next = viewer + step;
            let player = if next < num_players { next } else { next - num_players };
            if decided.contains(player) {
                values[player] = returns[player];
            } else if !viewers.contains(player) {
                let guess = if team.contains(player) { own } else { rest };
                let estimate = value.get(step).map_or(guess, |&v| f64::from(v));
                values[player] += (estimate / num_views as f64) as f32;
            }
        }
        Ok(())
    }

    /// Marks a leaf, its ancestors and the edges between them as in flight.
    pub(super) fn mark_in_flight(&mut self, leaf: NodeId) {
        self.in_flight += 1;
        self.visit_path(leaf, |node| node.in_flight += 1, |edge| edge.in_flight += 1);
    }

    /// Removes the in-flight marks of `mark_in_flight`.
    pub(super) fn unmark_in_flight(&mut self, leaf: NodeId) {
        self.in_flight -= 1;
        self.visit_path(leaf, |node| node.in_flight -= 1, |edge| edge.in_flight -= 1);
    }

    /// Calls the functions with every node from a leaf up to the root, and with the edges between them.
    fn visit_path(&mut self, leaf: NodeId, on_node: impl Fn(&mut Node), on_edge: impl Fn(&mut Edge)) {
        let mut at = leaf;
        loop {
            let node = &mut self.nodes[at as usize];
            on_node(node);
            let Node { parent, slot, choices, .. } = *node;
            if parent == NONE {
                return;
            }
            let Node { num_seats, first_seat, ref seat, .. } = self.nodes[parent as usize];
            if num_seats > 0 {
                on_edge(self.edges.get_mut(seat.first_edge, slot));
            }
            if num_seats > 1 {
                let others = usize::from(num_seats) - 1;
                let slots = &self.choices[choices as usize..choices as usize + others];
                for (seat, &slot) in self.seats[first_seat as usize..first_seat as usize + others].iter().zip(slots) {
                    on_edge(self.edges.get_mut(seat.first_edge, slot));
                }
            }
            at = parent;
        }
    }

    /// Backs up a leaf's value to all of its ancestors, and removes `num_in_flight` of its in-flight marks.
    pub(super) fn backup(&mut self, leaf: NodeId, num_in_flight: u32) {
        if leaf != ROOT {
            self.simulations += 1;
        }
        self.in_flight -= num_in_flight;
        let mut values = std::mem::take(&mut self.scratch.running);
        values.clear();
        values
            .extend(self.values[leaf as usize * self.num_players..][..self.num_players].iter().copied().map(f64::from));
        let mut at = leaf;
        loop {
            let node = &mut self.nodes[at as usize];
            node.visits += 1;
            node.in_flight -= num_in_flight;
            node.seat.value_sum += value_for(&values, node.seat.player());
            let Node { parent, slot, choices, num_seats, first_seat, has_steps, .. } = *node;
            if num_seats > 1 {
                let others = first_seat as usize..first_seat as usize + usize::from(num_seats) - 1;
                for seat in &mut self.seats[others] {
                    seat.value_sum += value_for(&values, seat.player());
                }
            }
            if parent == NONE {
                break;
            }
            if has_steps {
                self.apply_steps(at, &mut values);
            }
            let above = &mut self.nodes[parent as usize];
            let Node { num_seats, first_seat, .. } = *above;
            if num_seats > 0 {
                above.seat.update(self.edges.get_mut(above.seat.first_edge, slot), num_in_flight, &values);
            }
            if num_seats > 1 {
                let others = usize::from(num_seats) - 1;
                let slots = &self.choices[choices as usize..choices as usize + others];
                let seats = &mut self.seats[first_seat as usize..first_seat as usize + others];
                for (seat, &slot) in seats.iter_mut().zip(slots) {
                    seat.update(self.edges.get_mut(seat.first_edge, slot), num_in_flight, &values);
                }
            }
            at = parent;
        }
        self.scratch.running = values;
    }

    /// Converts a node's values to those before the steps that led to it: `v(parent) = rewards(child) + discount *
    /// v(child)`, starting with the last step. Players decided before a step are not discounted.
    fn apply_steps(&self, node: NodeId, values: &mut [f64]) {
        let Details { first_step, num_steps, .. } = self.details[node as usize];
        let stride = 2 * self.num_players;
        let steps = first_step as usize..first_step as usize + num_steps as usize * stride;
        for step in self.steps[steps].chunks_exact(stride).rev() {
            let (rewards, factors) = step.split_at(self.num_players);
            for (value, (reward, factor)) in values.iter_mut().zip(rewards.iter().zip(factors)) {
                *value = reward + factor * *value;
            }
        }
    }
}

impl Seat {
    /// Adds backed-up values to an edge and the seat, and removes `num_in_flight` in-flight marks of the edge.
    #[inline]
    fn update(&mut self, edge: &mut Edge, num_in_flight: u32, values: &[f64]) {
        if edge.visits == 0 {
            self.visited_prior += f64::from(edge.prior);
        }
        edge.visits += 1;
        edge.in_flight -= num_in_flight;
        edge.value_sum += value_for(values, self.player());
    }
}

/// Returns the value for a player; 0 for chance.
fn value_for(values: &[f64], player: Player) -> f64 {
    values.get(player).copied().unwrap_or(0.0)
}
