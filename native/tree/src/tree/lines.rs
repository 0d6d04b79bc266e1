//! What the search would play, move after move.

use super::{EdgeId, NodeId, Seat, Status, Tree, NONE, ROOT};
use crate::game::{Action, Agent, Player, State};
use std::cmp::Reverse;

/// Joint actions of the searched players, one per node.
pub type Line = Vec<Vec<Action>>;

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Returns the most visited line from the root; where it comes to a proven position, the proof's.
    pub fn principal_variation(&self) -> Line {
        let mut line = Line::new();
        self.follow(ROOT, &mut line);
        line
    }

    /// Returns the most visited line that begins with each of a player's actions at the root, by ascending action.
    ///
    /// A line is empty where the action was not tried.
    pub fn lines(&self, player: Player) -> Vec<Line> {
        let Some(index) = self.seats_of(ROOT).iter().position(|seat| seat.player == player) else {
            return Vec::new();
        };
        let children = self.children(ROOT);
        let seat = &self.seats_of(ROOT)[index];
        self.by_action(seat)
            .into_iter()
            .map(|edge| {
                let through = children.iter().copied().filter(|&child| self.choices_of(child)[index] == edge);
                // The first of several, as everywhere.
                let most = through.max_by_key(|&child| (self.nodes[child as usize].visits, Reverse(child)));
                let mut line = Line::new();
                if let Some(child) = most.filter(|&child| self.nodes[child as usize].visits > 0 || self.is_known(child))
                {
                    line.push(self.actions_of(self.choices_of(child)));
                    self.follow(child, &mut line);
                }
                line
            })
            .collect()
    }

    /// Returns a seat's edges by ascending action.
    pub fn by_action(&self, seat: &Seat) -> Vec<EdgeId> {
        let mut edges: Vec<EdgeId> = (seat.first_edge..seat.first_edge + seat.num_edges).collect();
        edges.sort_by_key(|&edge| self.edges[edge as usize].action);
        edges
    }

    fn follow(&self, from: NodeId, line: &mut Line) {
        let mut at = from;
        loop {
            let best: Option<Vec<EdgeId>> = match self.nodes[at as usize].status {
                // What comes after chance depends on it.
                Status::Pending | Status::Chance | Status::Terminal => return,
                Status::Expanded => self.seats_of(at).iter().map(|seat| self.most_visited(seat)).collect(),
                Status::Proven => self.best_proven(at).map(|edge| vec![edge]),
            };
            let Some(chosen) = best else { return };
            let Some(child) = self.most_visited_child(at, &chosen) else { return };
            if !chosen.is_empty() {
                line.push(self.actions_of(&chosen));
            }
            at = child;
        }
    }

    /// Returns the most visited edge of a seat that is not proven to lose, of several the one of the lowest action.
    ///
    /// None where no such edge was visited.
    fn most_visited(&self, seat: &Seat) -> Option<EdgeId> {
        let edges = seat.first_edge..seat.first_edge + seat.num_edges;
        let visited = edges.filter(|&edge| self.edges[edge as usize].visits > 0 && !self.edges[edge as usize].is_lost);
        visited.max_by_key(|&edge| {
            let edge = &self.edges[edge as usize];
            (edge.visits, Reverse(edge.action))
        })
    }

    /// Returns the child that the chosen edges lead to, the most visited of several that differ in drawn replies.
    fn most_visited_child(&self, node: NodeId, chosen: &[EdgeId]) -> Option<NodeId> {
        let links = self.chain(self.edges[self.anchor(node, chosen) as usize].child);
        links
            .filter(|&child| self.choices_of(child) == chosen)
            .max_by_key(|&child| (self.nodes[child as usize].visits, Reverse(child)))
    }

    fn chain(&self, head: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors((head != NONE).then_some(head), |&child| {
            let next = self.nodes[child as usize].sibling;
            (next != NONE).then_some(next)
        })
    }

    fn children(&self, node: NodeId) -> Vec<NodeId> {
        let Some(seat) = self.seats_of(node).first() else { return Vec::new() };
        let heads = self.edges_of(seat).iter().map(|edge| edge.child);
        heads.flat_map(|head| self.chain(head)).collect()
    }

    fn choices_of(&self, child: NodeId) -> &[EdgeId] {
        let record = &self.nodes[child as usize];
        let count = self.nodes[record.parent as usize].num_seats;
        &self.choices[record.choices as usize..(record.choices + count) as usize]
    }

    fn actions_of(&self, edges: &[EdgeId]) -> Vec<Action> {
        edges.iter().map(|&edge| self.edges[edge as usize].action).collect()
    }
}
