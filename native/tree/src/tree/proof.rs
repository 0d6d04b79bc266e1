//! Proof numbers, and the descents guided by them towards the win nearest to being proven.

use super::edges::Slot;
use super::{Descent, NodeId, Status, Tree, NONE, ROOT};
use crate::config::Config;
use crate::error::SearchError;
use crate::game::{Agent, State};

/// Per player, the least number of untried actions that would have to win to prove a win of the player.
///
/// Proof numbers (Allis 1994, *Searching for Solutions in Games and Artificial Intelligence*), one per player: a proof
/// of one player's win disproves the other's.
type ProofNumbers = [u32; 2];

/// The data of a node used by scouting descents, which look for proofs.
#[derive(Clone, Copy)]
pub(super) struct ProofStatistics {
    numbers: ProofNumbers,
    /// Number of scouting descents through the node.
    scouts: u32,
}

const PROVEN: u32 = 0;
const INFINITE: u32 = u32::MAX;
const UNTRIED: ProofNumbers = [1, 1];
const UNPROVABLE: ProofNumbers = [INFINITE, INFINITE];

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Recomputes the proof numbers of all nodes; a no-op if nothing can be proven.
    pub fn reset_proof_numbers(&mut self, config: &Config) {
        self.proof_statistics.clear();
        if !self.can_prove(config) || config.proof_interval == 0 {
            return;
        }
        self.proof_statistics.resize(self.nodes.len(), ProofStatistics { numbers: UNPROVABLE, scouts: 0 });
        // A node's children were created after it.
        for node in (0..self.nodes.len() as NodeId).rev() {
            self.proof_statistics[node as usize].numbers = self.proof_numbers(node);
        }
    }

    /// Computes the proof numbers of a new node, and updates its ancestors as far as they change.
    pub(super) fn update_proof_numbers(&mut self, new: NodeId) {
        if self.proof_statistics.is_empty() {
            return;
        }
        self.proof_statistics.push(ProofStatistics { numbers: self.proof_numbers(new), scouts: 0 });
        let mut at = self.nodes[new as usize].parent;
        while at != NONE {
            let numbers = self.proof_numbers(at);
            if std::mem::replace(&mut self.proof_statistics[at as usize].numbers, numbers) == numbers {
                return;
            }
            at = self.nodes[at as usize].parent;
        }
    }

    /// Returns whether the next descent is to scout for a proof.
    pub(super) fn is_scout_due(&self, config: &Config) -> bool {
        !self.proof_statistics.is_empty()
            && (self.simulations + self.in_flight) / config.proof_interval > self.num_scouts
    }

    /// Descends to the leaf where a win is nearest to being proven, and requests its evaluation.
    ///
    /// This does not affect PUCT: no in-flight marks, values or visits change. A simulation that reaches the leaf later
    /// finds it already evaluated.
    pub(super) fn scout(&mut self, config: &Config) -> Result<Descent, SearchError<S::Error>> {
        self.num_scouts += 1;
        let mut chosen = std::mem::take(&mut self.scratch.chosen);
        let mut at = ROOT;
        let found = loop {
            if !self.select_for_proof(at, &mut chosen) {
                break Descent::Terminal;
            }
            at = match self.child(at, self.first_child(at, &chosen), &chosen) {
                Some(child) => child,
                None => self.expand(at, &chosen, None, config)?,
            };
            self.proof_statistics[at as usize].scouts += 1;
            match self.nodes[at as usize].status {
                Status::Expanded | Status::Chance => {}
                // Known terminal positions are already settled, so this one is new.
                Status::Terminal | Status::Proven => {
                    self.prove_ancestors(at);
                    break Descent::Terminal;
                }
                Status::Pending => break Descent::Leaf(at),
            }
        };
        self.scratch.chosen = chosen;
        Ok(found)
    }

    /// Returns whether a pending leaf is being evaluated only for a proof.
    pub(super) fn is_only_scouted(&self, leaf: NodeId) -> bool {
        !self.proof_statistics.is_empty() && self.nodes[leaf as usize].in_flight == 0
    }

    /// Selects the edge after which the player is nearest to a proven win; ties go to the least scouted.
    ///
    /// Skips edges that are settled or lead to a pending leaf. Returns false, without a selection, if none is left.
    fn select_for_proof(&mut self, node: NodeId, chosen: &mut Vec<Slot>) -> bool {
        let record = &mut self.nodes[node as usize];
        if record.num_seats != 1 || record.status == Status::Chance {
            return false;
        }
        record.seat.open_childless(&mut self.edges, &mut self.moves);
        let seat = &self.nodes[node as usize].seat;
        let open = self.edges_of(seat).iter().zip(0..).filter_map(|(edge, slot)| {
            let child = edge.child;
            let numbers = self.edge_proof_numbers(child);
            let is_waiting = child != NONE && self.nodes[child as usize].status == Status::Pending;
            let is_settled = numbers == UNPROVABLE || numbers.contains(&PROVEN);
            let scouts = if child == NONE { 0 } else { self.proof_statistics[child as usize].scouts };
            (!is_waiting && !is_settled).then_some((numbers[seat.player()], scouts, slot))
        });
        // Open edges are sorted by prior, or in the order of actions at a Gumbel root; ties go to the first.
        let Some((_, _, best)) = open.min_by_key(|&(number, scouts, _)| (number, scouts)) else { return false };
        chosen.clear();
        chosen.push(best);
        true
    }

    fn proof_numbers(&self, node: NodeId) -> ProofNumbers {
        let record = &self.nodes[node as usize];
        if record.status == Status::Terminal {
            let start = node as usize * self.num_players;
            return [start, start + 1].map(|i| if self.values[i] >= super::solver::WIN { PROVEN } else { INFINITE });
        }
        if record.num_seats != 1 || record.status == Status::Chance {
            return UNPROVABLE;
        }
        let seat = &record.seat;
        let num_untried = seat.num_moves() - seat.num_edges;
        let mut own = if num_untried > 0 { UNTRIED[0] } else { INFINITE };
        let mut other = num_untried;
        for edge in self.edges_of(seat) {
            let numbers = self.edge_proof_numbers(edge.child);
            own = own.min(numbers[seat.player()]);
            // The sum saturates at the value for unprovable, which no number of actions reaches.
            other = other.saturating_add(numbers[1 - seat.player()]);
        }
        if seat.player() == 0 {
            [own, other]
        } else {
            [other, own]
        }
    }

    /// Returns the proof numbers of an action by the child it leads to; steps with rewards or discounts prove nothing.
    fn edge_proof_numbers(&self, child: NodeId) -> ProofNumbers {
        match child {
            NONE => UNTRIED,
            child if self.nodes[child as usize].has_steps => UNPROVABLE,
            child => self.proof_statistics[child as usize].numbers,
        }
    }
}
