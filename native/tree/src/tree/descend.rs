//! Descents from the root along the best edges, to a new, terminal, proven or pending node.

use super::{NodeId, Status, Tree, ROOT};
use crate::config::Config;
use crate::error::SearchError;
use crate::game::{Action, Agent, Player, State};

/// The result of a descent.
pub enum Descent {
    Leaf(NodeId),
    Terminal,
    /// The descent reached a leaf whose evaluation is pending.
    Collision,
    /// The descent waits at a node for replies of external players.
    Suspended(NodeId),
}

/// The progress of a descent.
pub enum Progress {
    Done(Descent),
    /// The descent continues at a node, whose memory is being prefetched.
    Ongoing(Cursor),
}

/// The position of an unfinished descent: the node that it visits next.
#[derive(Clone, Copy)]
pub struct Cursor {
    node: NodeId,
    depth: u32,
    is_new: bool,
}

/// A descent that waits for replies of external players, and the replies once received.
///
/// If replies are sampled once per node, this happens only where no searched player is active; elsewhere replies are
/// received together with evaluations.
#[derive(Clone)]
pub(super) struct Suspended {
    pub node: NodeId,
    depth: u32,
    pub replies: Option<Vec<(Player, Action)>>,
}

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Starts a descent, choosing the best action of each seat, from the root to a new, terminal, proven or pending
    /// node.
    pub fn start_descent(&mut self, config: &Config) -> Result<Progress, SearchError<S::Error>> {
        if self.nodes[ROOT as usize].status == Status::Pending {
            if self.nodes[ROOT as usize].in_flight > 0 {
                return Ok(Progress::Done(Descent::Collision));
            }
            self.mark_in_flight(ROOT);
            return Ok(Progress::Done(Descent::Leaf(ROOT)));
        }
        if self.is_scout_due(config) {
            return self.scout(config).map(Progress::Done);
        }
        Ok(Progress::Ongoing(Cursor { node: ROOT, depth: 0, is_new: false }))
    }

    /// Resumes the first suspended descent whose replies have been received, if there is one.
    ///
    /// If it reaches a pending leaf, it stays suspended with its replies and random state, and resumes once that leaf
    /// has been evaluated.
    pub fn resume_descent(&mut self, config: &Config) -> Result<Option<Descent>, SearchError<S::Error>> {
        let Some(i) = self.suspended.iter().position(|descent| descent.replies.is_some()) else { return Ok(None) };
        let Suspended { node, depth, replies } = self.suspended.remove(i);
        self.unmark_in_flight(node);
        let before = self.rng.clone();
        let descent = match self.descend_from(node, depth, replies.clone(), config)? {
            Progress::Done(descent) => descent,
            Progress::Ongoing(cursor) => self.finish_descent(cursor, config)?,
        };
        if matches!(descent, Descent::Collision) {
            self.rng = before;
            self.mark_in_flight(node);
            self.suspended.insert(i, Suspended { node, depth, replies });
        }
        Ok(Some(descent))
    }

    /// Completes a descent.
    pub fn finish_descent(&mut self, mut cursor: Cursor, config: &Config) -> Result<Descent, SearchError<S::Error>> {
        loop {
            match self.advance(cursor, config)? {
                Progress::Done(descent) => return Ok(descent),
                Progress::Ongoing(next) => cursor = next,
            }
        }
    }

    /// Advances a descent to the next node that existed before.
    ///
    /// That node's memory is being prefetched, which leaves time for steps in other trees before it is read; a new node
    /// is in cache anyway.
    pub fn step_descent(&mut self, mut cursor: Cursor, config: &Config) -> Result<Progress, SearchError<S::Error>> {
        loop {
            match self.advance(cursor, config)? {
                Progress::Ongoing(next) if next.is_new => cursor = next,
                progress => return Ok(progress),
            }
        }
    }

    /// Advances a descent by one node.
    #[inline(always)]
    fn advance(&mut self, cursor: Cursor, config: &Config) -> Result<Progress, SearchError<S::Error>> {
        match self.try_end(cursor, config) {
            Some(descent) => Ok(Progress::Done(descent)),
            None => self.descend_from(cursor.node, cursor.depth, None, config),
        }
    }

    /// Moves from a node to the next one; `replies` are the replies of external players at the node.
    #[inline(always)]
    fn descend_from(
        &mut self,
        at: NodeId,
        depth: u32,
        replies: Option<Vec<(Player, Action)>>,
        config: &Config,
    ) -> Result<Progress, SearchError<S::Error>> {
        if self.draws_replies && replies.is_none() && !self.external_players(at).is_empty() {
            return Ok(Progress::Done(self.suspend(at, depth)));
        }
        let (node, is_new) = self.next_node(at, replies, config)?;
        Ok(Progress::Ongoing(Cursor { node, depth: depth + 1, is_new }))
    }

    /// Returns the next node of a descent, and whether it is new.
    #[inline(always)]
    fn next_node(
        &mut self,
        at: NodeId,
        replies: Option<Vec<(Player, Action)>>,
        config: &Config,
    ) -> Result<(NodeId, bool), SearchError<S::Error>> {
        let mut chosen = std::mem::take(&mut self.scratch.chosen);
        let first_child = match self.nodes[at as usize].status {
            Status::Chance => self.sample_outcome(at, &mut chosen),
            _ => self.select(at, config, &mut chosen),
        };
        let agents = if self.draws_replies { self.draw_replies(at, replies, &mut chosen)? } else { None };
        let child = self.child(at, first_child, &chosen);
        let next = match child {
            Some(child) => child,
            None => self.expand(at, &chosen, agents, config)?,
        };
        self.scratch.chosen = chosen;
        Ok((next, child.is_none()))
    }

    /// Returns the result of a descent that ends at this node, or `None` if it continues.
    #[inline(always)]
    fn try_end(&mut self, cursor: Cursor, config: &Config) -> Option<Descent> {
        let node = &self.nodes[cursor.node as usize];
        match node.status {
            Status::Chance => None,
            Status::Expanded if !node.is_scouted() => None,
            _ => Some(self.end_descent(cursor, config)),
        }
    }

    /// Ends a descent at a node.
    #[inline(never)]
    fn end_descent(&mut self, Cursor { node: at, depth, is_new }: Cursor, config: &Config) -> Descent {
        let node = &self.nodes[at as usize];
        match node.status {
            Status::Expanded | Status::Chance => {
                self.record_depth(depth);
                self.backup(at, 0);
                Descent::Terminal
            }
            Status::Terminal | Status::Proven => {
                self.record_depth(depth);
                self.backup(at, 0);
                if is_new && self.can_prove(config) {
                    self.prove_ancestors(at);
                }
                Descent::Terminal
            }
            // Its evaluation is pending only for a proof; it will serve this descent too.
            Status::Pending if !is_new && self.is_only_scouted(at) => {
                self.record_depth(depth);
                self.mark_in_flight(at);
                Descent::Terminal
            }
            Status::Pending if !is_new => Descent::Collision,
            Status::Pending if node.num_seats == 0 => self.suspend(at, depth),
            Status::Pending => {
                self.record_depth(depth);
                self.mark_in_flight(at);
                Descent::Leaf(at)
            }
        }
    }

    fn suspend(&mut self, node: NodeId, depth: u32) -> Descent {
        self.mark_in_flight(node);
        self.suspended.push(Suspended { node, depth, replies: None });
        Descent::Suspended(node)
    }

    fn record_depth(&mut self, depth: u32) {
        self.depth_sum += u64::from(depth);
        self.max_depth = self.max_depth.max(depth);
    }
}
