//! Where a win is nearest to being proven: proof numbers, and the descents that go by them.

use super::edges::Slot;
use super::{Descent, NodeId, Status, Tree, NONE, ROOT};
use crate::config::Config;
use crate::error::SearchError;
use crate::game::{Agent, State};

/// Per player the fewest untried actions that would have to win for the player's win to be proven.
///
/// Proof numbers (Allis 1994, *Searching for Solutions in Games and Artificial Intelligence*), one per player's win:
/// what proves the win of one disproves that of the other.
type Numbers = [u32; 2];

/// What a node knows for the descents that look for proofs.
#[derive(Clone, Copy)]
pub(super) struct Prospect {
    numbers: Numbers,
    /// How many of these descents came by.
    scouts: u32,
}

const PROVEN: u32 = 0;
const NEVER: u32 = u32::MAX;
const UNTRIED: Numbers = [1, 1];
const UNPROVABLE: Numbers = [NEVER, NEVER];

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Numbers all nodes anew, or none where nothing is proven.
    pub fn renumber(&mut self, config: &Config) {
        self.prospects.clear();
        if !self.solves(config) || config.proof_interval == 0 {
            return;
        }
        self.prospects.resize(self.nodes.len(), Prospect { numbers: UNPROVABLE, scouts: 0 });
        // A node's children were created after it.
        for node in (0..self.nodes.len() as NodeId).rev() {
            self.prospects[node as usize].numbers = self.numbers_of(node);
        }
    }

    /// Numbers a new node, and those above it anew as far as that changes them.
    pub(super) fn number(&mut self, new: NodeId) {
        if self.prospects.is_empty() {
            return;
        }
        self.prospects.push(Prospect { numbers: self.numbers_of(new), scouts: 0 });
        let mut at = self.nodes[new as usize].parent;
        while at != NONE {
            let numbers = self.numbers_of(at);
            if std::mem::replace(&mut self.prospects[at as usize].numbers, numbers) == numbers {
                return;
            }
            at = self.nodes[at as usize].parent;
        }
    }

    /// Returns whether the next descent is to look for a proof.
    pub(super) fn is_scout_due(&self, config: &Config) -> bool {
        !self.prospects.is_empty() && (self.simulations + self.in_flight) / config.proof_interval > self.num_scouts
    }

    /// Goes down to where a win is nearest to being proven, and has it evaluated.
    ///
    /// It leaves no trace in what PUCT goes by: nothing is held meanwhile, and nothing is added to values and visits.
    /// Where PUCT comes to such a leaf later, it finds it evaluated.
    pub(super) fn scout(&mut self, config: &Config) -> Result<Descent, SearchError<S::Error>> {
        self.num_scouts += 1;
        let mut chosen = std::mem::take(&mut self.scratch.chosen);
        let mut at = ROOT;
        let found = loop {
            if !self.guide(at, &mut chosen) {
                break Descent::Terminal;
            }
            at = match self.child(at, self.head(at, &chosen), &chosen) {
                Some(child) => child,
                None => self.grow(at, &chosen, None, config)?,
            };
            self.prospects[at as usize].scouts += 1;
            match self.nodes[at as usize].status {
                Status::Expanded | Status::Chance => {}
                // Known ends are settled: this one is new.
                Status::Terminal | Status::Proven => {
                    self.prove_above(at);
                    break Descent::Terminal;
                }
                Status::Pending => break Descent::Leaf(at),
            }
        };
        self.scratch.chosen = chosen;
        Ok(found)
    }

    /// Returns whether a pending leaf waits for the evaluation that a look for a proof asked for, and nothing else.
    pub(super) fn is_only_scouted(&self, leaf: NodeId) -> bool {
        !self.prospects.is_empty() && self.nodes[leaf as usize].in_flight == 0
    }

    /// Picks the edge after which a node's player is nearest to a proven win, of several the least scouted.
    ///
    /// Edges that are settled, or lead to a leaf that waits for its evaluation, are passed over. Returns false, and
    /// picks nothing, where that leaves none.
    fn guide(&mut self, node: NodeId, chosen: &mut Vec<Slot>) -> bool {
        let record = &mut self.nodes[node as usize];
        if record.num_seats != 1 || record.status == Status::Chance {
            return false;
        }
        record.seat.open_childless(&mut self.edges, &mut self.moves);
        let seat = &self.nodes[node as usize].seat;
        let open = self.edges_of(seat).iter().zip(0..).filter_map(|(edge, slot)| {
            let child = edge.child;
            let numbers = self.numbers_after(child);
            let is_waiting = child != NONE && self.nodes[child as usize].status == Status::Pending;
            let is_settled = numbers == UNPROVABLE || numbers.contains(&PROVEN);
            let scouts = if child == NONE { 0 } else { self.prospects[child as usize].scouts };
            (!is_waiting && !is_settled).then_some((numbers[seat.player()], scouts, slot))
        });
        // Open edges lie in the order of their priors, those of a Gumbel root as they are; of equal ones the first is
        // taken.
        let Some((_, _, best)) = open.min_by_key(|&(number, scouts, _)| (number, scouts)) else { return false };
        chosen.clear();
        chosen.push(best);
        true
    }

    fn numbers_of(&self, node: NodeId) -> Numbers {
        let record = &self.nodes[node as usize];
        if record.status == Status::Terminal {
            let start = node as usize * self.num_players;
            return [start, start + 1].map(|i| if self.values[i] >= super::solver::WON { PROVEN } else { NEVER });
        }
        if record.num_seats != 1 || record.status == Status::Chance {
            return UNPROVABLE;
        }
        let seat = &record.seat;
        let num_untried = seat.num_moves() - seat.num_edges;
        let mut own = if num_untried > 0 { UNTRIED[0] } else { NEVER };
        let mut other = num_untried;
        for edge in self.edges_of(seat) {
            let numbers = self.numbers_after(edge.child);
            own = own.min(numbers[seat.player()]);
            // No number of actions is as large as that of what can not be proven.
            other = other.saturating_add(numbers[1 - seat.player()]);
        }
        if seat.player() == 0 {
            [own, other]
        } else {
            [other, own]
        }
    }

    /// Returns the numbers of an action by the child it leads to; a step that changes values proves nothing.
    fn numbers_after(&self, child: NodeId) -> Numbers {
        match child {
            NONE => UNTRIED,
            child if self.nodes[child as usize].has_steps => UNPROVABLE,
            child => self.prospects[child as usize].numbers,
        }
    }
}
