//! A tree goes on from a position that it holds.

use super::{Edge, NodeId, Seat, Status, Tree, NONE, ROOT};
use crate::game::{Agent, State};

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Makes the position with this key the root, keeping all that is known below it.
    ///
    /// Looks at most `depth` levels down, in the order of creation. Returns false, and changes nothing, where the
    /// position is not an evaluated node of the tree with all of its actions. Leaves that still wait for evaluations
    /// are forgotten.
    pub fn reroot(&mut self, state: &S, depth: u32) -> Result<bool, S::Error> {
        let key = state.key()?;
        for node in u32::from(self.is_restricted)..self.nodes.len() as NodeId {
            if matches!(self.nodes[node as usize].status, Status::Expanded | Status::Proven)
                && self.nodes[node as usize].num_seats > 0
                && !self.nodes[node as usize].is_scouted()
                && self.depth(node) <= depth
                && self.states[node as usize].key()? == key
            {
                self.keep_below(node);
                self.states[ROOT as usize] = state.clone();
                self.is_restricted = false;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns how many nodes where players move lie above a node.
    fn depth(&self, node: NodeId) -> u32 {
        let above = std::iter::successors(Some(node), |&n| {
            let parent = self.nodes[n as usize].parent;
            (parent != NONE).then_some(parent)
        });
        above.skip(1).filter(|&n| self.nodes[n as usize].status != Status::Chance).count() as u32
    }

    fn keep_below(&mut self, root: NodeId) {
        let old = std::mem::take(&mut self.nodes);
        let states = std::mem::take(&mut self.states);
        let seats = std::mem::take(&mut self.seats);
        let edges = std::mem::take(&mut self.edges);
        let choices = std::mem::take(&mut self.choices);
        let replies = std::mem::take(&mut self.replies);
        let agents = std::mem::take(&mut self.agents);
        let values = std::mem::take(&mut self.values);
        let steps = std::mem::take(&mut self.steps);
        self.suspended.clear();
        let stride = self.modelled.len();
        self.in_flight = 0;
        let mut node_at = vec![NONE; old.len()];
        let mut edge_at = vec![NONE; edges.len()];
        // A node's parent was created before it, so one pass in order finds every parent already kept.
        for (i, (mut node, state)) in old.into_iter().zip(states).enumerate() {
            let is_root = i as NodeId == root;
            let is_below = node.parent != NONE && node_at[node.parent as usize] != NONE;
            if !is_root && (!is_below || node.status == Status::Pending) {
                continue;
            }
            node.in_flight = 0;
            node_at[i] = self.nodes.len() as NodeId;
            if is_root {
                node.parent = NONE;
            } else {
                let parent = node_at[node.parent as usize];
                let num_choices = self.nodes[parent as usize].num_seats;
                let start = self.choices.len() as u32;
                let num_drawn = self.num_drawn(&self.nodes[parent as usize]);
                let led = &choices[node.choices as usize..(node.choices + num_choices + num_drawn) as usize];
                let (led, drawn) = led.split_at(num_choices as usize);
                self.choices.extend(led.iter().map(|&edge| edge_at[edge as usize]));
                self.choices.extend_from_slice(drawn);
                let anchor = match led.first() {
                    Some(&edge) => edge_at[edge as usize],
                    None => self.nodes[parent as usize].passage,
                };
                node.parent = parent;
                node.choices = start;
                node.sibling = std::mem::replace(&mut self.edges[anchor as usize].child, node_at[i]);
            }
            let first_seat = self.seats.len() as u32;
            for seat in &seats[node.first_seat as usize..(node.first_seat + node.num_seats) as usize] {
                let first_edge = self.edges.len() as u32;
                for e in seat.first_edge..seat.first_edge + seat.num_edges {
                    edge_at[e as usize] = self.edges.len() as u32;
                    self.edges.push(Edge { child: NONE, in_flight: 0, ..edges[e as usize].clone() });
                }
                self.seats.push(Seat { first_edge, ..seat.clone() });
            }
            node.passage = self.add_passage(node.num_seats, node.status);
            node.first_seat = first_seat;
            let first_reply = self.replies.len() as u32;
            let kept = node.first_reply as usize..(node.first_reply + node.num_replies) as usize;
            self.replies.extend_from_slice(&replies[kept]);
            node.first_reply = first_reply;
            let kept = node.num_steps as usize * (self.num_players + 1);
            let first_step = self.steps.len() as u32;
            self.steps.extend_from_slice(&steps[node.first_step as usize..node.first_step as usize + kept]);
            node.first_step = first_step;
            self.agents.extend_from_slice(&agents[i * stride..(i + 1) * stride]);
            self.values.extend_from_slice(&values[i * self.num_players..(i + 1) * self.num_players]);
            self.nodes.push(node);
            self.states.push(state);
        }
    }
}
