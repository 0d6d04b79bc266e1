//! Dirichlet noise added to the root priors (AlphaZero, Silver et al. 2018).

use super::edges::Edge;
use super::{Seat, Tree, ROOT};
use crate::config::Config;
use crate::game::{Action, Agent, State};
use std::cmp::Reverse;

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Mixes noise into the root priors; noise from an earlier search is replaced, starting from the original priors.
    pub fn add_noise(&mut self, config: &Config) {
        if config.noise_fraction == 0.0 && self.original_priors.is_empty() {
            return;
        }
        let mut original_priors = std::mem::take(&mut self.original_priors);
        for i in 0..self.nodes[ROOT as usize].num_seats {
            let mut seat = self.seat(ROOT, i).clone();
            match original_priors.get(usize::from(i)) {
                Some(seat_priors) => self.restore_priors(&seat, seat_priors),
                None => original_priors.push(self.priors_by_action(&seat)),
            }
            if config.noise_fraction > 0.0 {
                self.mix_noise(&seat, config);
            }
            if seat.num_edges > 0 {
                self.sort_edges(i, &mut seat);
            }
            *self.seat_mut(ROOT, i) = seat;
        }
        if config.noise_fraction > 0.0 {
            self.original_priors = original_priors;
        }
    }

    /// Returns a seat's actions and their priors, in ascending order of actions.
    fn priors_by_action(&self, seat: &Seat) -> Vec<(Action, f32)> {
        let ids = seat.first_move..seat.first_move + seat.num_moves();
        let mut priors: Vec<(Action, f32)> =
            ids.map(|id| (self.moves.action(id), self.moves.priors[id as usize])).collect();
        priors.sort_unstable_by_key(|&(action, _)| action);
        priors
    }

    /// Sets a seat's priors to those that `priors_by_action` returned before edges were opened and moves reordered.
    fn restore_priors(&mut self, seat: &Seat, priors: &[(Action, f32)]) {
        for id in seat.first_move..seat.first_move + seat.num_moves() {
            let index = priors.binary_search_by_key(&self.moves.action(id), |&(action, _)| action);
            self.moves.priors[id as usize] = index.map_or(0.0, |index| priors[index].1);
        }
    }

    /// Mixes a sample from the Dirichlet distribution into a seat's priors.
    fn mix_noise(&mut self, seat: &Seat, config: &Config) {
        let noise: Vec<f64> = (0..seat.num_moves()).map(|_| self.rng.gamma(config.noise_alpha)).collect();
        let total: f64 = noise.iter().sum();
        let uniform = 1.0 / noise.len() as f64;
        for (prior, share) in self.moves.priors[seat.first_move as usize..].iter_mut().zip(noise) {
            // All samples may have underflowed to zero.
            let share = if total > 0.0 { share / total } else { uniform };
            let mixed = (1.0 - config.noise_fraction) * f64::from(*prior);
            *prior = (mixed + config.noise_fraction * share) as f32;
        }
    }

    /// Opens all edges of a root seat, and sorts them as if they had been opened by the new priors.
    fn sort_edges(&mut self, seat_index: u8, seat: &mut Seat) {
        while seat.num_edges < seat.num_moves() {
            seat.open_next(&mut self.edges, &self.moves);
        }
        let id = |old_slot: u32| seat.first_move + old_slot;
        let mut order: Vec<u32> = (0..seat.num_moves()).collect();
        // Priors are never negative, so comparing their bits compares them.
        order.sort_unstable_by_key(|&old_slot| {
            (Reverse(self.moves.priors[id(old_slot) as usize].to_bits()), self.moves.action(id(old_slot)))
        });
        self.moves.reorder(seat.first_move, &order);
        let edges = self.edges.block_mut(seat.first_edge, seat.num_edges);
        let sorted: Vec<Edge> = order.iter().map(|&old_slot| edges[old_slot as usize].clone()).collect();
        edges.clone_from_slice(&sorted);
        let priors = &self.moves.priors[seat.first_move as usize..];
        edges.iter_mut().zip(priors).for_each(|(edge, prior)| edge.prior = *prior);
        seat.visited_prior = edges.iter().filter(|edge| edge.visits > 0).map(|edge| f64::from(edge.prior)).sum();
        let mut new_slots = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&old_slot, slot)| new_slots[old_slot as usize] = slot);
        for node in self.nodes.iter_mut().skip(1).filter(|node| node.parent == ROOT) {
            let slot = match seat_index {
                0 => &mut node.slot,
                _ => &mut self.choices[node.choices as usize + usize::from(seat_index) - 1],
            };
            *slot = new_slots[*slot as usize];
        }
    }
}
