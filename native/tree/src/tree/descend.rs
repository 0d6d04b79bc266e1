//! Descents: from the root by the best edges until something new, known or waiting is met.

use super::{NodeId, Status, Tree, ROOT};
use crate::config::Config;
use crate::error::SearchError;
use crate::game::{Action, Agent, Player, State};

/// What one descent came to.
pub enum Descent {
    Leaf(NodeId),
    Terminal,
    /// It met a leaf that is already waiting for its evaluation.
    Collision,
    /// It waits at a node for replies of players outside.
    Suspended(NodeId),
}

/// A descent that waits for replies of players outside, and these once they came.
///
/// Where replies are kept, that is where nobody searched is active; elsewhere they come together with evaluations.
pub(super) struct Suspended {
    pub node: NodeId,
    depth: u32,
    pub replies: Option<Vec<(Player, Action)>>,
}

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Goes down from the root by the best action of each seat until something new, known or waiting is met.
    pub fn descend(&mut self, config: &Config) -> Result<Descent, SearchError<S::Error>> {
        if self.nodes[ROOT as usize].status == Status::Pending {
            if self.nodes[ROOT as usize].in_flight > 0 {
                return Ok(Descent::Collision);
            }
            self.hold(ROOT);
            return Ok(Descent::Leaf(ROOT));
        }
        if self.is_scout_due(config) {
            return self.scout(config);
        }
        self.go_down(ROOT, 0, None, config)
    }

    /// Goes on with the first descent whose replies came, if there is one.
    pub fn resume(&mut self, config: &Config) -> Result<Option<Descent>, SearchError<S::Error>> {
        let Some(i) = self.suspended.iter().position(|descent| descent.replies.is_some()) else { return Ok(None) };
        let Suspended { node, depth, replies } = self.suspended.remove(i);
        self.release(node);
        self.go_down(node, depth, replies, config).map(Some)
    }

    /// Returns how many descents wait for replies.
    pub fn num_suspended(&self) -> usize {
        self.suspended.len()
    }

    /// Goes down from a node; `given` are the replies there of players outside.
    fn go_down(
        &mut self,
        mut at: NodeId,
        mut depth: u32,
        mut given: Option<Vec<(Player, Action)>>,
        config: &Config,
    ) -> Result<Descent, SearchError<S::Error>> {
        loop {
            if self.draws_replies && given.is_none() && !self.outside(at).is_empty() {
                return Ok(self.suspend(at, depth));
            }
            let mut chosen = std::mem::take(&mut self.scratch.chosen);
            match self.nodes[at as usize].status {
                Status::Chance => self.draw(at, &mut chosen),
                _ => self.choose(at, config, &mut chosen),
            }
            let agents = if self.draws_replies { self.draw_replies(at, given.take(), &mut chosen)? } else { None };
            let child = self.child(at, &chosen);
            let next = match child {
                Some(child) => child,
                None => self.grow(at, &chosen, agents, config)?,
            };
            self.scratch.chosen = chosen;
            depth += 1;
            at = next;
            let node = &self.nodes[at as usize];
            match node.status {
                Status::Expanded if node.is_scouted() => {
                    self.record_depth(depth);
                    self.finish(at, 0);
                    return Ok(Descent::Terminal);
                }
                Status::Expanded | Status::Chance => {}
                Status::Terminal | Status::Proven => {
                    self.record_depth(depth);
                    self.finish(at, 0);
                    if child.is_none() && self.solves(config) {
                        self.prove_above(at);
                    }
                    return Ok(Descent::Terminal);
                }
                // It waits for a proof's sake only: its evaluation will do for this descent too.
                Status::Pending if child.is_some() && self.is_only_scouted(at) => {
                    self.record_depth(depth);
                    self.hold(at);
                    return Ok(Descent::Terminal);
                }
                Status::Pending if child.is_some() => return Ok(Descent::Collision),
                Status::Pending if node.num_seats == 0 => return Ok(self.suspend(at, depth)),
                Status::Pending => {
                    self.record_depth(depth);
                    self.hold(at);
                    return Ok(Descent::Leaf(at));
                }
            }
        }
    }

    fn suspend(&mut self, node: NodeId, depth: u32) -> Descent {
        self.hold(node);
        self.suspended.push(Suspended { node, depth, replies: None });
        Descent::Suspended(node)
    }

    fn record_depth(&mut self, depth: u32) {
        self.depth_sum += u64::from(depth);
        self.max_depth = self.max_depth.max(depth);
    }
}
