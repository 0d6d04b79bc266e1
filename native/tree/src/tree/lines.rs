//! Principal variations and root statistics.

use super::edges::Slot;
use super::{NodeId, Seat, Status, Tree, NONE, ROOT};
use crate::config::Config;
use crate::game::{Action, Agent, Player, State};
use std::cmp::Reverse;

/// Joint actions of the searched players, one per node.
pub type Line = Vec<Vec<Action>>;

/// Search statistics of one root action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arm {
    pub action: Action,
    pub prior: f32,
    pub visits: u32,
    pub value_sum: f64,
    /// The noise of the Gumbel root, or 0 without one.
    pub noise: f64,
    /// The proven value of the action, and the number of plies from the root to the end of the game.
    pub proof: Option<(f32, u32)>,
}

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Returns the most visited line from the root, following the proof from a proven position on.
    pub fn principal_variation(&self) -> Line {
        let mut line = Line::new();
        self.extend_line(ROOT, &mut line);
        line
    }

    /// Returns the most visited line through each of a player's root actions, in ascending order of actions.
    ///
    /// The line of an untried action is empty.
    pub fn lines(&self, player: Player) -> Vec<Line> {
        let Some((index, seat)) = self.seats_of(ROOT).enumerate().find(|(_, seat)| seat.player() == player) else {
            return Vec::new();
        };
        let children = self.children(ROOT);
        self.slots_by_action(seat)
            .into_iter()
            .map(|slot| {
                let reached = children.iter().copied().filter(|&child| self.choices_of(child).nth(index) == Some(slot));
                // The first of several, as everywhere.
                let most_visited = reached.max_by_key(|&child| (self.nodes[child as usize].visits, Reverse(child)));
                let mut line = Line::new();
                if let Some(child) =
                    most_visited.filter(|&child| self.nodes[child as usize].visits > 0 || self.proves_edge(child))
                {
                    line.push(self.actions_of(ROOT, self.choices_of(child)));
                    self.extend_line(child, &mut line);
                }
                line
            })
            .collect()
    }

    /// Returns the statistics of a player's root actions in ascending order; `None` if it has no seat there.
    pub fn arms(&self, player: Player, config: &Config) -> Option<Vec<Arm>> {
        let (index, seat) = self.seats_of(ROOT).enumerate().find(|(_, seat)| seat.player() == player)?;
        let arm = |slot: Slot| {
            let (action, prior) = (self.action(seat, slot), self.moves.priors[(seat.first_move + slot) as usize]);
            let noise = self.gumbel_noise(index, slot);
            match self.edges_of(seat).get(slot as usize) {
                Some(edge) => {
                    let proof = self.proof_of(slot, config);
                    Arm { action, prior, visits: edge.visits, value_sum: edge.value_sum, noise, proof }
                }
                None => Arm { action, prior, visits: 0, value_sum: 0.0, noise, proof: None },
            }
        };
        Some(self.slots_by_action(seat).into_iter().map(arm).collect())
    }

    /// Returns the indices of a seat's moves in ascending order of actions; those of tried moves are slots of edges.
    fn slots_by_action(&self, seat: &Seat) -> Vec<Slot> {
        let mut slots: Vec<Slot> = (0..seat.num_moves()).collect();
        slots.sort_by_key(|&slot| self.action(seat, slot));
        slots
    }

    /// Appends the most visited or proven actions from a node on.
    fn extend_line(&self, from: NodeId, line: &mut Line) {
        let mut at = from;
        loop {
            let best: Option<Vec<Slot>> = match self.nodes[at as usize].status {
                // The continuation after a chance node depends on the outcome.
                Status::Pending | Status::Chance | Status::Terminal => return,
                Status::Expanded => self.seats_of(at).map(|seat| self.most_visited(seat)).collect(),
                Status::Proven => self.best_proven(at).map(|slot| vec![slot]),
            };
            let Some(chosen) = best else { return };
            let Some(child) = self.most_visited_child(at, &chosen) else { return };
            if !chosen.is_empty() {
                line.push(self.actions_of(at, chosen.into_iter()));
            }
            at = child;
        }
    }

    /// Returns the most visited edge of a seat that is not a proven loss; ties go to the lowest action.
    ///
    /// `None` if no such edge was visited.
    fn most_visited(&self, seat: &Seat) -> Option<Slot> {
        let edges = self.edges_of(seat).iter().zip(0..);
        let visited = edges.filter(|(edge, _)| edge.visits > 0 && !edge.is_lost);
        visited.max_by_key(|&(edge, slot)| (edge.visits, Reverse(self.action(seat, slot)))).map(|(_, slot)| slot)
    }

    /// Returns the child reached by the chosen edges, the most visited if several differ in sampled replies.
    fn most_visited_child(&self, node: NodeId, chosen: &[Slot]) -> Option<NodeId> {
        let children = self.siblings(self.first_child(node, chosen));
        children
            .filter(|&child| self.choices_of(child).eq(chosen.iter().copied()))
            .max_by_key(|&child| (self.nodes[child as usize].visits, Reverse(child)))
    }

    /// Returns a child and the siblings that follow it.
    fn siblings(&self, first_child: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors((first_child != NONE).then_some(first_child), |&child| {
            let next = self.nodes[child as usize].sibling;
            (next != NONE).then_some(next)
        })
    }

    fn children(&self, node: NodeId) -> Vec<NodeId> {
        let Some(seat) = self.seats_of(node).next() else { return Vec::new() };
        let first_children = self.edges_of(seat).iter().map(|edge| edge.child);
        first_children.flat_map(|first_child| self.siblings(first_child)).collect()
    }

    fn actions_of(&self, node: NodeId, chosen: impl Iterator<Item = Slot>) -> Vec<Action> {
        self.seats_of(node).zip(chosen).map(|(seat, slot)| self.action(seat, slot)).collect()
    }
}
