//! How a node picks the edges to go down.

use super::{Edge, EdgeId, NodeId, Seat, Tree, NONE};
use crate::config::Config;
use crate::game::{Agent, State};

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Picks the best edge of every seat by PUCT, and none where no seat is.
    pub(super) fn choose(&mut self, node: NodeId, config: &Config, chosen: &mut Vec<EdgeId>) {
        chosen.clear();
        let record = &self.nodes[node as usize];
        let visits = f64::from(record.visits);
        let scale = config.exploration.at(record.visits + record.in_flight);
        let seats = record.first_seat as usize..(record.first_seat + record.num_seats) as usize;
        for seat in &mut self.seats[seats] {
            let edges = &mut self.edges[seat.first_edge as usize..(seat.first_edge + seat.num_edges) as usize];
            seat.open(edges);
            let untried = config.fpu_parent * (seat.value_sum / visits) + config.fpu_offset
                - config.fpu_reduction * seat.visited_prior.max(0.0).sqrt();
            let mut best = 0;
            let mut best_score = f64::NEG_INFINITY;
            for (i, edge) in edges[..seat.num_open as usize].iter().enumerate() {
                if edge.is_lost {
                    continue;
                }
                let in_flight = f64::from(edge.in_flight);
                let weight = f64::from(edge.visits) + config.virtual_loss * in_flight;
                let q =
                    if weight == 0.0 { untried } else { (edge.value_sum - config.virtual_loss * in_flight) / weight };
                let u = scale * f64::from(edge.prior) / (1.0 + f64::from(edge.visits + edge.in_flight));
                if q + u > best_score {
                    best_score = q + u;
                    best = i as u32;
                }
            }
            chosen.push(seat.first_edge + best);
        }
    }
}

impl Seat {
    /// Sees to it that an untried edge is open, as long as there is one.
    ///
    /// All untried actions are worth the same, so of these only the one with the largest prior can be chosen. Edges
    /// are sorted by it one at a time, when they are needed: most nodes are never gone through again.
    fn open(&mut self, edges: &mut [Edge]) {
        self.open_unless(edges, |last| last.visits + last.in_flight == 0 && !last.is_lost);
    }

    /// Sees to it that an edge without a child is open, as long as there is one.
    pub(super) fn open_childless(&mut self, edges: &mut [Edge]) {
        self.open_unless(edges, |last| last.child == NONE);
    }

    fn open_unless(&mut self, edges: &mut [Edge], is_enough: impl Fn(&Edge) -> bool) {
        let open = self.num_open as usize;
        if open == edges.len() || open > 0 && is_enough(&edges[open - 1]) {
            return;
        }
        let mut best = open;
        for (i, edge) in edges.iter().enumerate().skip(open + 1) {
            // Ties are for the lower action, whatever was swapped before.
            let Edge { prior, action, .. } = edges[best];
            if edge.prior > prior || edge.prior == prior && edge.action < action {
                best = i;
            }
        }
        // A closed edge has no child and nothing in flight: it may still change its place.
        edges.swap(open, best);
        self.num_open += 1;
    }
}
