//! Virtual expansions: a search ends early if the rest of it would change little.
//!
//! Defined in `moemcts/search/foresight.py`.

use super::{Seat, Status, Tree, ROOT};
use crate::config::{Config, EarlyEnd};
use crate::game::{Action, Agent, State};

/// Statistics of a root move that may be selected.
struct Known {
    value: f64,
    prior: f64,
    visits: u32,
    is_lost: bool,
}

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Resets the virtual policies of an earlier search.
    pub fn forget_foreseen(&mut self) {
        self.foreseen.clear();
        self.is_foreseen = false;
    }

    /// Checks, when due, how much the rest of the search would change, and records whether it may end.
    #[inline]
    pub fn look_ahead(&mut self, config: &Config) {
        if let Some(rule) = &config.early_end {
            if (self.simulations / rule.interval) as usize > self.foreseen.len() {
                self.look(rule, config);
            }
        }
    }

    fn look(&mut self, rule: &EarlyEnd, config: &Config) {
        let num_looks = (self.simulations / rule.interval) as usize;
        if self.nodes[ROOT as usize].status != Status::Expanded {
            return;
        }
        let more = rule.simulations.saturating_sub(self.simulations);
        let policy: Vec<f64> = self.seats_of(ROOT).flat_map(|seat| self.foresee(seat, more, config)).collect();
        self.foreseen.resize(num_looks, policy);
        let half = num_looks / 2;
        if num_looks as u32 * rule.interval < rule.least || half == 0 {
            return;
        }
        let both = self.foreseen[num_looks - 1].iter().zip(&self.foreseen[half - 1]);
        let difference = both.fold(0.0, |sum, (now, before)| sum + (now - before).abs());
        self.is_foreseen = difference < rule.tolerance;
    }

    /// Returns the shares of visits of a seat's moves after `more` virtual simulations that change no mean value.
    fn foresee(&self, seat: &Seat, more: u32, config: &Config) -> Vec<f64> {
        let mut moves = self.known(seat, config);
        let visits = 1 + moves.iter().map(|known| known.visits).sum::<u32>();
        for visits in visits..visits + more {
            let scale = config.exploration.at(visits);
            let width = config.unpruning.as_ref().map_or(u32::MAX, |rule| rule.width(visits));
            let mut best = None;
            let mut best_score = f64::NEG_INFINITY;
            for (i, known) in moves.iter().enumerate().filter(|(_, known)| !known.is_lost).take(width as usize) {
                let score = known.value + scale * known.prior / (1.0 + f64::from(known.visits));
                if score > best_score {
                    best = Some(i);
                    best_score = score;
                }
            }
            let Some(best) = best else { break };
            moves[best].visits += 1;
        }
        let total = f64::from(moves.iter().map(|known| known.visits).sum::<u32>().max(1));
        moves.iter().map(|known| f64::from(known.visits) / total).collect()
    }

    /// Returns a seat's moves in the order in which they are tried: first those with edges, then the others by prior.
    fn known(&self, seat: &Seat, config: &Config) -> Vec<Known> {
        let untried = seat.untried(f64::from(self.nodes[ROOT as usize].visits), config);
        let edges = self.edges_of(seat).iter().map(|edge| Known {
            value: if edge.visits > 0 { edge.value_sum / f64::from(edge.visits) } else { untried },
            prior: f64::from(edge.prior),
            visits: edge.visits,
            is_lost: edge.is_lost,
        });
        let rest = seat.first_move + seat.num_edges..seat.first_move + seat.num_moves();
        let mut rest: Vec<(f32, Action)> =
            rest.map(|id| (self.moves.priors[id as usize], self.moves.action(id))).collect();
        rest.sort_by(|(prior, action), (other, next)| other.total_cmp(prior).then(action.cmp(next)));
        let rest = rest.into_iter().map(|(prior, _)| Known {
            value: untried,
            prior: f64::from(prior),
            visits: 0,
            is_lost: false,
        });
        edges.chain(rest).collect()
    }
}
