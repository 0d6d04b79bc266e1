//! How a node picks the edges to go down.

use super::{EdgeId, NodeId, Tree};
use crate::config::Config;
use crate::game::{Agent, State};

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Picks the best edge of every seat by PUCT, and none where no seat is.
    pub(super) fn choose(&self, node: NodeId, config: &Config, chosen: &mut Vec<EdgeId>) {
        chosen.clear();
        let record = &self.nodes[node as usize];
        let scale = config.exploration.at(record.visits + record.in_flight);
        for seat in self.seats_of(node) {
            let mean = seat.value_sum / f64::from(record.visits);
            let untried = config.fpu_parent * mean + config.fpu_offset
                - config.fpu_reduction * seat.visited_prior.max(0.0).sqrt();
            let mut best = seat.first_edge;
            let mut best_score = f64::NEG_INFINITY;
            for (i, edge) in self.edges_of(seat).iter().enumerate() {
                let in_flight = f64::from(edge.in_flight);
                let weight = f64::from(edge.visits) + config.virtual_loss * in_flight;
                let q =
                    if weight == 0.0 { untried } else { (edge.value_sum - config.virtual_loss * in_flight) / weight };
                let u = scale * f64::from(edge.prior) / (1.0 + f64::from(edge.visits + edge.in_flight));
                if q + u > best_score {
                    best_score = q + u;
                    best = seat.first_edge + i as u32;
                }
            }
            chosen.push(best);
        }
    }
}
