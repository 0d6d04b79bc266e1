//! Dirichlet noise added to the root priors (AlphaZero, Silver et al. 2018).

use super::edges::Edge;
use super::{Seat, Tree, ROOT};
use crate::config::Config;
use crate::game::{Action, Agent, State};
use std::cmp::Reverse;

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Mixes noise into the root priors; noise from an earlier search is replaced, starting from the original priors.
    pub fn add_noise(&mut self, config: &Config) {
        if config.noise_fraction == 0.0 && self.without_noise.is_empty() {
            return;
        }
        let mut without = std::mem::take(&mut self.without_noise);
        for i in 0..self.nodes[ROOT as usize].num_seats {
            let mut seat = self.seat(ROOT, i).clone();
            let (first, end) = (seat.first_move, seat.first_move + seat.num_moves());
            let moves = first as usize..end as usize;
            match without.get(usize::from(i)) {
                // Moves may have been reordered since the priors were saved, as edges were opened.
                Some(known) => (first..end).for_each(|id| {
                    let at = known.binary_search_by_key(&self.moves.action(id), |&(action, _)| action);
                    self.moves.priors[id as usize] = at.map_or(0.0, |at| known[at].1);
                }),
                None => {
                    let mut known: Vec<(Action, f32)> =
                        (first..end).map(|id| (self.moves.action(id), self.moves.priors[id as usize])).collect();
                    known.sort_unstable_by_key(|&(action, _)| action);
                    without.push(known);
                }
            }
            if config.noise_fraction > 0.0 {
                let noise: Vec<f64> = moves.clone().map(|_| self.rng.gamma(config.noise_alpha)).collect();
                let total: f64 = noise.iter().sum();
                let even = 1.0 / noise.len() as f64;
                for (prior, share) in self.moves.priors[moves].iter_mut().zip(noise) {
                    // All samples may have underflowed to zero.
                    let share = if total > 0.0 { share / total } else { even };
                    let mixed = (1.0 - config.noise_fraction) * f64::from(*prior);
                    *prior = (mixed + config.noise_fraction * share) as f32;
                }
            }
            if seat.num_edges > 0 {
                self.sort_edges(i, &mut seat);
            }
            *self.seat_mut(ROOT, i) = seat;
        }
        if config.noise_fraction > 0.0 {
            self.without_noise = without;
        }
    }

    /// Opens all edges of a root seat, and sorts them as if they had been opened by the new priors.
    fn sort_edges(&mut self, number: u8, seat: &mut Seat) {
        while seat.num_edges < seat.num_moves() {
            seat.open_next(&mut self.edges, &self.moves);
        }
        let id = |place: u32| seat.first_move + place;
        let mut order: Vec<u32> = (0..seat.num_moves()).collect();
        // Priors are never negative, so comparing their bits compares them.
        order.sort_unstable_by_key(|&place| {
            (Reverse(self.moves.priors[id(place) as usize].to_bits()), self.moves.action(id(place)))
        });
        self.moves.reorder(seat.first_move, &order);
        let edges = self.edges.block_mut(seat.first_edge, seat.num_edges);
        let sorted: Vec<Edge> = order.iter().map(|&place| edges[place as usize].clone()).collect();
        edges.clone_from_slice(&sorted);
        let priors = &self.moves.priors[seat.first_move as usize..];
        edges.iter_mut().zip(priors).for_each(|(edge, prior)| edge.prior = *prior);
        seat.visited_prior = edges.iter().filter(|edge| edge.visits > 0).map(|edge| f64::from(edge.prior)).sum();
        let mut slots = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&place, slot)| slots[place as usize] = slot);
        for node in self.nodes.iter_mut().skip(1).filter(|node| node.parent == ROOT) {
            let slot = match number {
                0 => &mut node.slot,
                _ => &mut self.choices[node.choices as usize + usize::from(number) - 1],
            };
            *slot = slots[*slot as usize];
        }
    }
}
