//! What ends of games prove about the positions above them.

use super::{EdgeId, Node, NodeId, Status, Tree, NONE, ROOT};
use crate::config::Config;
use crate::game::{Agent, State};
use std::cmp::Ordering;

/// The best and the worst that can happen to a player.
pub(super) const WON: f32 = 1.0;
const LOST: f32 = -1.0;

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Returns whether proofs mean something here: each player is searched, and one's gain is the other's loss.
    pub(super) fn solves(&self, config: &Config) -> bool {
        config.solver && self.num_players == 2 && self.searched.len() == 2 && config.utility_sum == Some(0.0)
    }

    /// Proves all that follows from a new end of the game, from its parent up (MCTS-Solver, Winands et al. 2008).
    ///
    /// A node is proven where its player has an action that wins, or where all its actions lead to proven nodes. It
    /// takes the value of the best of them and is then as good as an end.
    pub(super) fn prove_above(&mut self, end: NodeId) {
        let mut child = end;
        loop {
            let parent = self.nodes[child as usize].parent;
            // Simultaneous moves prove nothing: what is best against one reply need not be against another. Nor does
            // what chance may lead to, nor what is worth something else one step before.
            if parent == NONE
                || self.nodes[parent as usize].num_seats != 1
                || self.nodes[parent as usize].status == Status::Chance
                || !self.is_known(child)
            {
                return;
            }
            let value = self.value_of(child, parent);
            let edge = self.choices[self.nodes[child as usize].choices as usize];
            self.edges[edge as usize].is_lost = value <= LOST;
            let seat = &mut self.seats[self.nodes[parent as usize].first_seat as usize];
            seat.num_unproven -= 1;
            if value < WON && seat.num_unproven > 0 {
                return;
            }
            let Some(best) = self.best_proven(parent) else { return };
            let best = self.edges[best as usize].child;
            let plies_left = self.nodes[best as usize].plies_left + 1;
            let record = &mut self.nodes[parent as usize];
            record.status = Status::Proven;
            record.plies_left = plies_left;
            let from = best as usize * self.num_players;
            self.values.copy_within(from..from + self.num_players, parent as usize * self.num_players);
            child = parent;
        }
    }

    /// Returns the value that is proven for an edge of the root, and the plies from the root to the end.
    pub fn proof_of(&self, edge: EdgeId, config: &Config) -> Option<(f32, u32)> {
        let child = self.edges[edge as usize].child;
        let is_alone = self.nodes[ROOT as usize].num_seats == 1;
        let is_known = is_alone && self.solves(config) && child != NONE && self.is_known(child);
        is_known.then(|| (self.value_of(child, ROOT), self.nodes[child as usize].plies_left + 1))
    }

    /// Returns the best proven edge of a node with one seat: the quickest to win, or the slowest to anything else.
    pub(super) fn best_proven(&self, node: NodeId) -> Option<EdgeId> {
        let seat = self.seats_of(node).first()?;
        let edges = seat.first_edge..seat.first_edge + seat.num_edges;
        let proven = edges.filter(|&edge| {
            let child = self.edges[edge as usize].child;
            child != NONE && self.is_known(child)
        });
        proven.max_by(|&a, &b| self.compare(node, a, b))
    }

    fn compare(&self, node: NodeId, a: EdgeId, b: EdgeId) -> Ordering {
        let (a, b) = (&self.edges[a as usize], &self.edges[b as usize]);
        let (value_a, value_b) = (self.value_of(a.child, node), self.value_of(b.child, node));
        let (plies_a, plies_b) = (self.nodes[a.child as usize].plies_left, self.nodes[b.child as usize].plies_left);
        let better = if value_a > 0.0 { plies_b.cmp(&plies_a) } else { plies_a.cmp(&plies_b) };
        value_a.total_cmp(&value_b).then(better).then(b.action.cmp(&a.action))
    }

    /// Returns a node's value for the only player who is active at another.
    fn value_of(&self, node: NodeId, mover_at: NodeId) -> f32 {
        let mover = self.seats[self.nodes[mover_at as usize].first_seat as usize].player;
        self.values[node as usize * self.num_players + mover]
    }

    /// Returns whether a node's value is proven, and is that of the edge which leads to it.
    pub(super) fn is_known(&self, node: NodeId) -> bool {
        let Node { status, num_steps, .. } = self.nodes[node as usize];
        matches!(status, Status::Terminal | Status::Proven) && num_steps == 0
    }
}
