//! Tree reuse: continues a search from a position in the tree.

use super::edges::Edge;
use super::{NodeId, Seat, Status, Tree, NONE, ROOT};
use crate::game::{Agent, Player, State};

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Returns whether the tree was searched with agents equivalent to these, in the order of their players.
    pub fn has_same_agents(&self, agents: &[(Player, A)]) -> bool {
        // The agents of the root come first; their memory may have changed since.
        let own_agents = self.modelled.iter().zip(&self.agents);
        self.modelled.len() == agents.len()
            && own_agents
                .zip(agents)
                .all(|((own_player, own), (player, agent))| own_player == *player && own.plays_like(agent))
    }

    /// Makes the position with this key and ply the root, and keeps the subtree below it. The ply has to match because
    /// gates may depend on it.
    ///
    /// Searches at most `depth` levels down, in order of creation. Returns false, without any change, if the position
    /// is not an evaluated node with all of its actions, or is a Gumbel root, whose edges are in another order. Pending
    /// leaves are dropped.
    pub fn reroot(&mut self, state: &S, depth: u32) -> Result<bool, S::Error> {
        let (key, ply) = (state.key()?, state.ply()?);
        let mut depths: Vec<u32> = Vec::with_capacity(self.nodes.len());
        for (i, node) in self.nodes.iter().enumerate() {
            // Number of player nodes above this one; a parent was created before its children.
            depths.push(match node.parent {
                NONE => 0,
                parent => depths[parent as usize] + u32::from(self.nodes[parent as usize].status != Status::Chance),
            });
            if depths[i] <= depth
                && matches!(node.status, Status::Expanded | Status::Proven)
                && node.num_seats > 0
                && !node.is_scouted()
                && !(i == ROOT as usize && (self.is_restricted || !self.gumbel_plans.is_empty()))
                && self.states[i].ply()? == ply
                && self.states[i].key()? == key
            {
                let node = i as NodeId;
                // Copying a large tree takes as long as a fast move, so it is avoided if possible.
                if node != ROOT || self.has_pending() {
                    self.keep_subtree(node);
                }
                self.states[ROOT as usize] = state.clone();
                self.is_restricted = false;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether the tree waits for any evaluation or reply.
    fn has_pending(&self) -> bool {
        self.in_flight > 0 || !self.suspended.is_empty() || self.nodes.iter().any(|n| n.status == Status::Pending)
    }

    /// Drops all nodes but the evaluated ones at and below the new root.
    fn keep_subtree(&mut self, root: NodeId) {
        let nodes = std::mem::take(&mut self.nodes);
        let details = std::mem::take(&mut self.details);
        let states = std::mem::take(&mut self.states);
        let choices = std::mem::take(&mut self.choices);
        let replies = std::mem::take(&mut self.replies);
        let agents = std::mem::take(&mut self.agents);
        let values = std::mem::take(&mut self.values);
        let steps = std::mem::take(&mut self.steps);
        let kept_moves = self.moves.empty_like();
        let old = Self {
            seats: std::mem::take(&mut self.seats),
            edges: std::mem::take(&mut self.edges),
            moves: std::mem::replace(&mut self.moves, kept_moves),
            ..Self::default()
        };
        self.suspended.clear();
        if root != ROOT {
            self.original_priors.clear();
            self.gumbel_plans.clear();
        }
        let stride = self.modelled.len();
        self.in_flight = 0;
        let mut new_ids = vec![NONE; nodes.len()];
        // A parent was created before its children, so one pass in order finds each parent already processed.
        for (i, ((mut node, mut node_details), state)) in nodes.into_iter().zip(details).zip(states).enumerate() {
            let is_root = i as NodeId == root;
            let is_below = node.parent != NONE && new_ids[node.parent as usize] != NONE;
            if !is_root && (!is_below || node.status == Status::Pending) {
                continue;
            }
            let new_id = self.nodes.len() as NodeId;
            new_ids[i] = new_id;
            node.in_flight = 0;
            node.seat = self.copy_seat(&old, &node.seat);
            let others = node.first_seat as usize..node.first_seat as usize + usize::from(node.num_seats.max(1)) - 1;
            node.first_seat = self.seats.len() as u32;
            for seat in &old.seats[others] {
                let seat = self.copy_seat(&old, seat);
                self.seats.push(seat);
            }
            node_details.first_child = NONE;
            let first_reply = node_details.first_reply as usize;
            let node_replies = &replies[first_reply..first_reply + usize::from(node_details.num_replies)];
            node_details.first_reply = self.replies.len() as u32;
            self.replies.extend_from_slice(node_replies);
            let step_numbers = node_details.num_steps as usize * 2 * self.num_players;
            let node_steps = &steps[node_details.first_step as usize..][..step_numbers];
            node_details.first_step = self.steps.len() as u32;
            self.steps.extend_from_slice(node_steps);
            self.agents.extend_from_slice(&agents[i * stride..(i + 1) * stride]);
            self.values.extend_from_slice(&values[i * self.num_players..(i + 1) * self.num_players]);
            let parent = if is_root { NONE } else { new_ids[node.parent as usize] };
            node.parent = parent;
            let slot = node.slot;
            let start = node.choices as usize;
            node.choices = self.choices.len() as u32;
            if !is_root {
                let num_others = usize::from(self.nodes[parent as usize].num_seats.max(1)) - 1;
                let num_choices = num_others + self.num_drawn_replies(parent);
                self.choices.extend_from_slice(&choices[start..start + num_choices]);
            }
            self.nodes.push(node);
            self.details.push(node_details);
            self.states.push(state);
            if is_root {
                self.nodes[ROOT as usize].slot = NONE;
            } else {
                let slot = (self.nodes[parent as usize].num_seats > 0).then_some(slot);
                self.link(parent, new_id, slot);
            }
        }
    }

    /// Copies a seat with its moves and edges from an old tree; the edges do not have children yet.
    fn copy_seat(&mut self, old: &Self, seat: &Seat) -> Seat {
        let first_move = self.moves.extend_from(&old.moves, seat.first_move, seat.num_moves());
        let mut first_edge = NONE;
        if seat.num_edges > 0 {
            first_edge = self.edges.reserve(seat.num_edges, seat.num_moves());
            let edges = self.edges.block_mut(first_edge, seat.num_edges);
            for (edge, kept) in edges.iter_mut().zip(old.edges_of(seat)) {
                *edge = Edge { child: NONE, in_flight: 0, ..kept.clone() };
            }
        }
        Seat { first_move, first_edge, ..seat.clone() }
    }
}
