//! The Gumbel root: sequential halving of a few actions sampled without replacement.
//!
//! Defined in `moemcts/search/gumbel.py`.

use super::edges::{Edge, Slot};
use super::{Tree, ROOT};
use crate::config::{Config, GumbelRoot};
use crate::game::{Agent, State};

const MAX_SCHEDULE: u32 = 65536;
const MIN_PRIOR: f64 = f32::MIN_POSITIVE as f64;

/// The plan for one seat of the root.
#[derive(Clone, Default)]
pub(super) struct GumbelPlan {
    /// Gumbel noise, by edge.
    noise: Vec<f64>,
    /// For each simulation, the visit count of the action that it goes to.
    schedule: Vec<u32>,
    /// Logits of the improved policy, by edge.
    logits: Vec<f64>,
}

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Draws the noise of a newly evaluated Gumbel root, and schedules its simulations.
    pub(super) fn plan_gumbel(&mut self, config: &Config) {
        let Some(gumbel) = config.gumbel else { return };
        for i in 0..self.nodes[ROOT as usize].num_seats {
            let mut seat = self.seat(ROOT, i).clone();
            // Any action may have the largest noise. The edges stay in the order of actions.
            while seat.num_edges < seat.num_moves() {
                seat.open_next(&mut self.edges, &self.moves);
            }
            let noise = (0..seat.num_edges).map(|_| gumbel.noise * self.rng.gumbel()).collect();
            let schedule = considered_visits(gumbel.considered.min(seat.num_edges), gumbel.simulations);
            self.gumbel_plans.push(GumbelPlan { noise, schedule, logits: Vec::new() });
            *self.seat_mut(ROOT, i) = seat;
        }
    }

    /// Selects, for each seat of the root, the due edge with the highest sum of noise and improved logit.
    pub(super) fn select_gumbel(&mut self, gumbel: &GumbelRoot, chosen: &mut Vec<Slot>) {
        let simulation = (self.simulations + self.in_flight) as usize;
        let mut gumbel_plans = std::mem::take(&mut self.gumbel_plans);
        for (i, plan) in gumbel_plans.iter_mut().enumerate() {
            let seat = self.seat(ROOT, i as u8);
            let evaluation = f64::from(self.values[seat.player()]);
            let edges = self.edges_of(seat);
            plan.improve(edges, evaluation, gumbel);
            let due = plan.schedule.get(simulation).copied();
            let best = plan.best_edge(edges, |edge| Some(edge.visits + edge.in_flight) == due);
            chosen.push(best.or_else(|| plan.best_edge(edges, |_| true)).unwrap_or(0));
        }
        self.gumbel_plans = gumbel_plans;
    }

    /// Returns the noise of an edge of one of the root's seats.
    pub(super) fn gumbel_noise(&self, seat: usize, slot: Slot) -> f64 {
        self.gumbel_plans.get(seat).map_or(0.0, |plan| plan.noise[slot as usize])
    }
}

impl GumbelPlan {
    /// Computes the logits of the improved policy from the priors and the completed Q-values.
    fn improve(&mut self, edges: &[Edge], evaluation: f64, gumbel: &GumbelRoot) {
        let (mut total, mut max_visits) = (0, 0);
        let (mut tried_prior, mut weighted) = (0.0, 0.0);
        for edge in edges.iter().filter(|edge| edge.visits > 0) {
            let prior = f64::from(edge.prior).max(MIN_PRIOR);
            total += edge.visits;
            max_visits = max_visits.max(edge.visits);
            tried_prior += prior;
            weighted += prior * (edge.value_sum / f64::from(edge.visits));
        }
        let total = f64::from(total);
        let mixed =
            if total > 0.0 { (evaluation + total * (weighted / tried_prior)) / (total + 1.0) } else { evaluation };
        let scale = (gumbel.visit_offset + f64::from(max_visits)) * gumbel.value_scale;
        self.logits.clear();
        self.logits.extend(edges.iter().map(|edge| {
            let q = if edge.visits > 0 { edge.value_sum / f64::from(edge.visits) } else { mixed };
            f64::from(edge.prior).max(MIN_PRIOR).ln() + scale * (0.5 * (q + 1.0))
        }));
    }

    /// Returns the first of the best edges that are not lost and satisfy `is_due`.
    fn best_edge(&self, edges: &[Edge], is_due: impl Fn(&Edge) -> bool) -> Option<Slot> {
        let mut best = None;
        let mut best_score = f64::NEG_INFINITY;
        for (slot, edge) in edges.iter().enumerate() {
            let score = self.noise[slot] + self.logits[slot];
            if !edge.is_lost && is_due(edge) && (best.is_none() || score > best_score) {
                best = Some(slot as Slot);
                best_score = score;
            }
        }
        best
    }
}

/// Returns, for each simulation, the visit count of the action that it goes to (google-deepmind/mctx, seq_halving.py).
fn considered_visits(num_considered: u32, simulations: u32) -> Vec<u32> {
    let simulations = simulations.min(MAX_SCHEDULE);
    if num_considered <= 1 {
        return (0..simulations).collect();
    }
    let rounds = u32::BITS - (num_considered - 1).leading_zeros();
    let mut schedule = Vec::with_capacity(simulations as usize);
    let mut visits = vec![0; num_considered as usize];
    let mut num_left = num_considered;
    while schedule.len() < simulations as usize {
        for _ in 0..(simulations / (rounds * num_left)).max(1) {
            schedule.extend_from_slice(&visits[..num_left as usize]);
            visits[..num_left as usize].iter_mut().for_each(|visits| *visits += 1);
        }
        num_left = (num_left / 2).max(2);
    }
    schedule.truncate(simulations as usize);
    schedule
}

#[cfg(test)]
mod tests {
    use super::considered_visits;

    /// Derived by hand from the paper's description.
    #[test]
    fn half_of_the_actions_are_dropped_again_and_again() {
        assert_eq!(considered_visits(1, 5), [0, 1, 2, 3, 4]);
        assert_eq!(considered_visits(4, 8), [0, 0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(considered_visits(8, 16)[..8], [0; 8]);
        assert_eq!(considered_visits(2, 5), [0, 0, 1, 1, 2]);
        assert_eq!(considered_visits(16, 10), [0; 10]);
    }
}
