//! Selection of the edges to descend.

use super::edges::{Edge, EdgeId, Edges, Slot};
use super::moves::Moves;
use super::{Node, NodeId, Seat, Tree, NONE, ROOT};
use crate::chance;
use crate::config::Config;
use crate::game::{Agent, State};

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Selects the best edge of every seat by PUCT, none if there is no seat; returns the first child of the selection.
    #[inline(always)]
    pub(super) fn select(&mut self, node: NodeId, config: &Config, chosen: &mut Vec<Slot>) -> NodeId {
        chosen.clear();
        if node == ROOT {
            if let Some(gumbel) = &config.gumbel {
                self.select_gumbel(gumbel, chosen);
                return self.first_child(node, chosen);
            }
        }
        let record = &mut self.nodes[node as usize];
        let num_seats = record.num_seats;
        if num_seats == 0 {
            return self.details[node as usize].first_child;
        }
        let visits = f64::from(record.visits);
        let tried = record.visits + record.in_flight;
        let scale = config.exploration.factor(tried);
        let Node { parent, slot, first_seat, .. } = *record;
        let previous_first_edge = record.seat.first_edge;
        let simulations = if node == ROOT { record.visits + record.in_flight - 1 } else { 0 };
        let best = match record.seat.forced_edge(&self.edges, simulations, config) {
            Some(forced) => forced,
            None => record.seat.select(&mut self.edges, &mut self.moves, visits, scale, tried, config),
        };
        let first_edge = record.seat.first_edge;
        chosen.push(best);
        let Edge { child, prefetch_hint, .. } = *self.edges.get(first_edge, best);
        if child != NONE {
            self.prefetch(child, prefetch_hint);
        }
        if first_edge != previous_first_edge && slot != NONE {
            self.update_prefetch_hint(parent, slot, node, first_edge);
        }
        if num_seats > 1 {
            let first = first_seat as usize;
            for seat in &mut self.seats[first..first + usize::from(num_seats) - 1] {
                chosen.push(match seat.forced_edge(&self.edges, simulations, config) {
                    Some(forced) => forced,
                    None => seat.select(&mut self.edges, &mut self.moves, visits, scale, tried, config),
                });
            }
        }
        child
    }

    /// Samples the outcome of a chance node; returns the first child of its edge.
    pub(super) fn sample_outcome(&mut self, node: NodeId, chosen: &mut Vec<Slot>) -> NodeId {
        let seat = &self.nodes[node as usize].seat;
        let edges = self.edges.block(seat.first_edge, seat.num_edges);
        let outcome = chance::sample(edges.iter().map(|edge| edge.prior), &mut self.rng);
        chosen.clear();
        chosen.push(outcome as Slot);
        edges[outcome].child
    }

    /// Updates the hint in the edge leading to a node after the node's own edges have moved.
    pub(super) fn update_prefetch_hint(&mut self, parent: NodeId, slot: Slot, node: NodeId, first_edge: EdgeId) {
        let edge = self.edges.get_mut(self.nodes[parent as usize].seat.first_edge, slot);
        if edge.child == node {
            edge.prefetch_hint = first_edge;
        }
    }
}

impl Seat {
    /// Returns the edge with the largest prior among those with fewer visits than forced playouts require after
    /// `simulations` simulations of a root.
    fn forced_edge(&self, edges: &Edges, simulations: u32, config: &Config) -> Option<Slot> {
        if simulations == 0 || config.forced_playouts == 0.0 {
            return None;
        }
        let is_behind = |edge: &Edge| {
            let least = (config.forced_playouts * f64::from(edge.prior) * f64::from(simulations)).sqrt();
            let tried = edge.visits + edge.in_flight;
            !edge.is_lost && tried > 0 && f64::from(tried) < least
        };
        let opened = edges.block(self.first_edge, self.num_edges);
        opened.iter().position(is_behind).map(|slot| slot as Slot)
    }

    fn select(
        &mut self,
        edges: &mut Edges,
        moves: &mut Moves,
        visits: f64,
        scale: f64,
        tried: u32,
        config: &Config,
    ) -> Slot {
        let num_edges = match &config.unpruning {
            None => self.open(edges, moves),
            Some(rule) => self.unprune(edges, moves, rule.width(tried)),
        };
        let fpu = self.first_play_urgency(visits, config);
        let mut best = 0;
        let mut best_score = f64::NEG_INFINITY;
        for (i, edge) in edges.block(self.first_edge, num_edges).iter().enumerate() {
            if edge.is_lost {
                continue;
            }
            let in_flight = f64::from(edge.in_flight);
            let weight = f64::from(edge.visits) + config.virtual_loss * in_flight;
            let q = if weight == 0.0 { fpu } else { (edge.value_sum - config.virtual_loss * in_flight) / weight };
            let u = scale * f64::from(edge.prior) / (1.0 + f64::from(edge.visits + edge.in_flight));
            if q + u > best_score {
                best_score = q + u;
                best = i as Slot;
            }
        }
        best
    }

    /// Returns the value of an untried move.
    #[inline]
    pub(super) fn first_play_urgency(&self, visits: f64, config: &Config) -> f64 {
        config.fpu_parent * (self.value_sum / visits) + config.fpu_offset
            - config.fpu_reduction * self.visited_prior.max(0.0).sqrt()
    }

    /// Returns how many edges cover the first `width` moves that are not proven losses, including an untried one if any
    /// is left.
    fn unprune(&mut self, edges: &mut Edges, moves: &mut Moves, width: u32) -> u32 {
        let mut left = width;
        for (i, edge) in edges.block(self.first_edge, self.num_edges).iter().enumerate() {
            if left == 0 {
                return i as u32;
            }
            left -= u32::from(!edge.is_lost);
        }
        if left == 0 {
            self.num_edges
        } else {
            self.open(edges, moves)
        }
    }

    /// Ensures that an untried move has an edge if there is one; returns the number of edges.
    ///
    /// All untried moves have the same value, so only the one with the largest prior can be selected. Moves are
    /// therefore sorted lazily, one at a time: most nodes are never visited again.
    fn open(&mut self, edges: &mut Edges, moves: &mut Moves) -> u32 {
        self.open_unless(edges, moves, |last| last.visits + last.in_flight == 0 && !last.is_lost);
        self.num_edges
    }

    /// Ensures that a move without a child has an edge, if there is one.
    pub(super) fn open_childless(&mut self, edges: &mut Edges, moves: &mut Moves) {
        self.open_unless(edges, moves, |last| last.child == NONE);
    }

    fn open_unless(&mut self, edges: &mut Edges, moves: &mut Moves, is_enough: impl Fn(&Edge) -> bool) {
        let num = self.num_edges;
        if num == self.num_moves() || num > 0 && is_enough(edges.get(self.first_edge, num - 1)) {
            return;
        }
        moves.swap_best_first(self.first_move + num, self.first_move + self.num_moves());
        self.open_next(edges, moves);
    }

    /// Creates an edge for the first move without one.
    pub(super) fn open_next(&mut self, edges: &mut Edges, moves: &Moves) {
        let edge = Edge::new(moves.priors[(self.first_move + self.num_edges) as usize]);
        self.first_edge = edges.push(self.first_edge, self.num_edges, self.num_moves(), edge);
        self.num_edges += 1;
    }
}
