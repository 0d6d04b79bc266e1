//! MCTS-Solver: what terminal positions prove about the positions above them.

use super::edges::Slot;
use super::{Node, NodeId, Status, Tree, NONE, ROOT};
use crate::config::Config;
use crate::game::{Agent, State};
use std::cmp::Ordering;

/// The best and the worst result of a player.
pub(super) const WIN: f32 = 1.0;
const LOSS: f32 = -1.0;

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Returns whether proofs are valid: both players are searched, in a two-player zero-sum game.
    pub(super) fn can_prove(&self, config: &Config) -> bool {
        config.solver && self.num_players == 2 && self.searched.len() == 2 && config.utility_sum == Some(0.0)
    }

    /// Proves all that follows from a new terminal position, from its parent up (MCTS-Solver, Winands et al. 2008).
    ///
    /// A node is proven if an action of its player wins, or if all of its actions lead to proven nodes. It takes the
    /// value of the best of them, and then counts as terminal.
    pub(super) fn prove_ancestors(&mut self, end: NodeId) {
        let mut child = end;
        loop {
            let parent = self.nodes[child as usize].parent;
            // Nothing is proven by simultaneous moves, as the best action depends on the other's, by chance nodes, or
            // by steps with rewards or discounts.
            if parent == NONE
                || self.nodes[parent as usize].num_seats != 1
                || self.nodes[parent as usize].status == Status::Chance
                || !self.proves_edge(child)
            {
                return;
            }
            let value = self.value_for_mover(child, parent);
            let slot = self.nodes[child as usize].slot;
            let first_edge = self.nodes[parent as usize].seat.first_edge;
            self.edges.get_mut(first_edge, slot).is_lost = value <= LOSS;
            let details = &mut self.details[parent as usize];
            details.num_unproven -= 1;
            if value < WIN && details.num_unproven > 0 {
                return;
            }
            let Some(best) = self.best_proven(parent) else { return };
            let best = self.edge(&self.nodes[parent as usize].seat, best).child;
            self.details[parent as usize].plies_left = self.details[best as usize].plies_left + 1;
            self.nodes[parent as usize].status = Status::Proven;
            let from = best as usize * self.num_players;
            self.values.copy_within(from..from + self.num_players, parent as usize * self.num_players);
            child = parent;
        }
    }

    /// Returns the proven value of a root edge, and the number of plies from the root to the end of the game.
    pub(super) fn proof_of(&self, slot: Slot, config: &Config) -> Option<(f32, u32)> {
        let root = &self.nodes[ROOT as usize];
        if root.num_seats != 1 || !self.can_prove(config) {
            return None;
        }
        let child = self.edge(&root.seat, slot).child;
        let is_proven = child != NONE && self.proves_edge(child);
        is_proven.then(|| (self.value_for_mover(child, ROOT), self.details[child as usize].plies_left + 1))
    }

    /// Returns the best proven edge of a node with one seat: the fastest win, else the slowest of the best results.
    pub(super) fn best_proven(&self, node: NodeId) -> Option<Slot> {
        let record = &self.nodes[node as usize];
        let proven = (0..record.seat.num_edges).filter(|&slot| {
            let child = self.edge(&record.seat, slot).child;
            child != NONE && self.proves_edge(child)
        });
        proven.max_by(|&a, &b| self.compare_proven(node, a, b))
    }

    fn compare_proven(&self, node: NodeId, a: Slot, b: Slot) -> Ordering {
        let seat = &self.nodes[node as usize].seat;
        let [child_a, child_b] = [a, b].map(|slot| self.edge(seat, slot).child);
        let (value_a, value_b) = (self.value_for_mover(child_a, node), self.value_for_mover(child_b, node));
        let [plies_a, plies_b] = [child_a, child_b].map(|child| self.details[child as usize].plies_left);
        let better = if value_a > 0.0 { plies_b.cmp(&plies_a) } else { plies_a.cmp(&plies_b) };
        // A draw may be zero of either sign.
        let worth = value_a.partial_cmp(&value_b).unwrap_or(Ordering::Equal);
        worth.then(better).then(self.action(seat, b).cmp(&self.action(seat, a)))
    }

    /// Returns a node's value for the only player active at `mover_at`.
    fn value_for_mover(&self, node: NodeId, mover_at: NodeId) -> f32 {
        let mover = self.nodes[mover_at as usize].seat.player();
        self.values[node as usize * self.num_players + mover]
    }

    /// Returns whether a node's value is proven and equals that of the edge leading to it.
    pub(super) fn proves_edge(&self, node: NodeId) -> bool {
        let Node { status, has_steps, .. } = self.nodes[node as usize];
        matches!(status, Status::Terminal | Status::Proven) && !has_steps
    }
}
