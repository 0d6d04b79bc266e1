//! Replies of the players that are not searched: stored with a node, or sampled at every descent.

use super::{NodeId, Status, Tree};
use crate::game::{Action, Agent, Player, Players, State};

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Returns the players whose replies a pending leaf is waiting for.
    pub fn awaited_players(&self, leaf: NodeId) -> Players {
        if self.draws_replies {
            Players::NONE
        } else {
            self.external_players(leaf)
        }
    }

    /// Returns the external players active at a node.
    pub fn external_players(&self, node: NodeId) -> Players {
        self.opponents(node).without(self.modelled)
    }

    /// Stores replies of external players, ascending, with a pending leaf or with the first suspended descent at a
    /// node.
    pub fn set_replies(&mut self, node: NodeId, replies: &[(Player, Action)]) {
        let waiting = self.suspended.iter_mut().find(|descent| descent.node == node && descent.replies.is_none());
        let is_suspended = waiting.is_some();
        if let Some(descent) = waiting {
            descent.replies = Some(replies.to_vec());
        }
        if self.draws_replies {
            return;
        }
        let modelled = self.replies_of(node).to_vec();
        let first = self.replies.len() as u32;
        self.replies.extend(modelled);
        self.replies.extend_from_slice(replies);
        self.replies[first as usize..].sort_unstable();
        let details = &mut self.details[node as usize];
        details.first_reply = first;
        details.num_replies += replies.len() as u8;
        if is_suspended {
            self.nodes[node as usize].status = Status::Expanded;
        }
    }

    /// Appends new replies of a node's opponents, by player; returns the native agents after acting.
    pub(super) fn draw_replies(
        &mut self,
        node: NodeId,
        external_replies: Option<Vec<(Player, Action)>>,
        chosen: &mut Vec<u32>,
    ) -> Result<Option<Vec<A>>, S::Error> {
        let active = self.details[node as usize].active;
        let mut agents = self.agents_of(node);
        let mut replies = external_replies.unwrap_or_default();
        for (agent, player) in agents.iter_mut().zip(self.modelled.iter()) {
            if active.contains(player) {
                replies.push((player, agent.act(&self.states[node as usize], player, &mut self.rng)?));
            }
        }
        replies.sort_unstable();
        chosen.extend(replies.into_iter().map(|(_, action)| action));
        Ok(Some(agents))
    }

    /// Returns the players active at a node that are not searched.
    pub(super) fn opponents(&self, node: NodeId) -> Players {
        self.details[node as usize].active.without(self.searched).without(Players::CHANCE)
    }

    /// Returns the number of replies stored with each child of a node.
    pub(super) fn num_drawn_replies(&self, node: NodeId) -> usize {
        if self.draws_replies {
            self.opponents(node).len()
        } else {
            0
        }
    }

    pub(super) fn agents_of(&self, node: NodeId) -> Vec<A> {
        let stride = self.modelled.len();
        self.agents[node as usize * stride..(node as usize + 1) * stride].to_vec()
    }

    pub(super) fn replies_of(&self, node: NodeId) -> &[(Player, Action)] {
        let details = &self.details[node as usize];
        &self.replies[details.first_reply as usize..details.first_reply as usize + usize::from(details.num_replies)]
    }
}
