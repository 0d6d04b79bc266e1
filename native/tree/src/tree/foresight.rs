//! Virtual expansions: a search ends early if the rest of it would change little.
//!
//! Defined in `moemcts/search/foresight.py`.

use super::{Seat, Status, Tree, ROOT};
use crate::config::{Config, EarlyEnd};
use crate::game::{Action, Agent, State};

/// Statistics of a root move during virtual simulations.
struct VirtualArm {
    value: f64,
    prior: f64,
    visits: u32,
    is_lost: bool,
}

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Resets the virtual policies of an earlier search.
    pub fn reset_early_end(&mut self) {
        self.virtual_policies.clear();
        self.is_foreseen = false;
    }

    /// Checks, when due, how much the rest of the search would change, and records whether it may end.
    #[inline]
    pub fn check_early_end(&mut self, config: &Config) {
        if let Some(rule) = &config.early_end {
            if (self.simulations / rule.interval) as usize > self.virtual_policies.len() {
                self.run_early_end_check(rule, config);
            }
        }
    }

    fn run_early_end_check(&mut self, rule: &EarlyEnd, config: &Config) {
        let num_checks = (self.simulations / rule.interval) as usize;
        if self.nodes[ROOT as usize].status != Status::Expanded {
            return;
        }
        let more = rule.simulations.saturating_sub(self.simulations);
        let policy: Vec<f64> = self.seats_of(ROOT).flat_map(|seat| self.virtual_policy(seat, more, config)).collect();
        self.virtual_policies.resize(num_checks, policy);
        let half = num_checks / 2;
        if num_checks as u32 * rule.interval < rule.min_simulations || half == 0 {
            return;
        }
        let pairs = self.virtual_policies[num_checks - 1].iter().zip(&self.virtual_policies[half - 1]);
        let difference = pairs.fold(0.0, |sum, (now, before)| sum + (now - before).abs());
        self.is_foreseen = difference < rule.tolerance;
    }

    /// Returns the shares of visits of a seat's moves after `more` virtual simulations that change no mean value.
    fn virtual_policy(&self, seat: &Seat, more: u32, config: &Config) -> Vec<f64> {
        let mut arms = self.virtual_arms(seat, config);
        let visits = 1 + arms.iter().map(|arm| arm.visits).sum::<u32>();
        for visits in visits..visits + more {
            let scale = config.exploration.factor(visits);
            let width = config.unpruning.as_ref().map_or(u32::MAX, |rule| rule.width(visits));
            let mut best = None;
            let mut best_score = f64::NEG_INFINITY;
            for (i, arm) in arms.iter().enumerate().filter(|(_, arm)| !arm.is_lost).take(width as usize) {
                let score = arm.value + scale * arm.prior / (1.0 + f64::from(arm.visits));
                if score > best_score {
                    best = Some(i);
                    best_score = score;
                }
            }
            let Some(best) = best else { break };
            arms[best].visits += 1;
        }
        let total = f64::from(arms.iter().map(|arm| arm.visits).sum::<u32>().max(1));
        arms.iter().map(|arm| f64::from(arm.visits) / total).collect()
    }

    /// Returns a seat's moves in the order in which they are tried: first those with edges, then the others by prior.
    fn virtual_arms(&self, seat: &Seat, config: &Config) -> Vec<VirtualArm> {
        let fpu = seat.first_play_urgency(f64::from(self.nodes[ROOT as usize].visits), config);
        let edges = self.edges_of(seat).iter().map(|edge| VirtualArm {
            value: if edge.visits > 0 { edge.value_sum / f64::from(edge.visits) } else { fpu },
            prior: f64::from(edge.prior),
            visits: edge.visits,
            is_lost: edge.is_lost,
        });
        let untried = seat.first_move + seat.num_edges..seat.first_move + seat.num_moves();
        let mut untried: Vec<(f32, Action)> =
            untried.map(|id| (self.moves.priors[id as usize], self.moves.action(id))).collect();
        untried.sort_by(|(prior, action), (other, next)| other.total_cmp(prior).then(action.cmp(next)));
        let untried = untried.into_iter().map(|(prior, _)| VirtualArm {
            value: fpu,
            prior: f64::from(prior),
            visits: 0,
            is_lost: false,
        });
        edges.chain(untried).collect()
    }
}
