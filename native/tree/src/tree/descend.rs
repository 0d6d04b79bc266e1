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
    Under(Way),
}

/// The position of an unfinished descent: the node that it visits next.
#[derive(Clone, Copy)]
pub struct Way {
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
    pub fn descend(&mut self, config: &Config) -> Result<Progress, SearchError<S::Error>> {
        if self.nodes[ROOT as usize].status == Status::Pending {
            if self.nodes[ROOT as usize].in_flight > 0 {
                return Ok(Progress::Done(Descent::Collision));
            }
            self.hold(ROOT);
            return Ok(Progress::Done(Descent::Leaf(ROOT)));
        }
        if self.is_scout_due(config) {
            return self.scout(config).map(Progress::Done);
        }
        Ok(Progress::Under(Way { node: ROOT, depth: 0, is_new: false }))
    }

    /// Resumes the first suspended descent whose replies have been received, if there is one.
    ///
    /// If it reaches a pending leaf, it stays suspended with its replies and random state, and resumes once that leaf
    /// has been evaluated.
    pub fn resume(&mut self, config: &Config) -> Result<Option<Descent>, SearchError<S::Error>> {
        let Some(i) = self.suspended.iter().position(|descent| descent.replies.is_some()) else { return Ok(None) };
        let Suspended { node, depth, replies } = self.suspended.remove(i);
        self.release(node);
        let before = self.rng.clone();
        let descent = match self.leave(node, depth, replies.clone(), config)? {
            Progress::Done(descent) => descent,
            Progress::Under(way) => self.finish_descent(way, config)?,
        };
        if matches!(descent, Descent::Collision) {
            self.rng = before;
            self.hold(node);
            self.suspended.insert(i, Suspended { node, depth, replies });
        }
        Ok(Some(descent))
    }

    /// Completes a descent.
    pub fn finish_descent(&mut self, mut way: Way, config: &Config) -> Result<Descent, SearchError<S::Error>> {
        loop {
            match self.go_on(way, config)? {
                Progress::Done(descent) => return Ok(descent),
                Progress::Under(next) => way = next,
            }
        }
    }

    /// Continues a descent to the next existing node.
    ///
    /// That node's memory is being prefetched, which leaves time for steps in other trees before it is read; a new node
    /// is in cache anyway.
    pub fn step(&mut self, mut way: Way, config: &Config) -> Result<Progress, SearchError<S::Error>> {
        loop {
            match self.go_on(way, config)? {
                Progress::Under(next) if next.is_new => way = next,
                progress => return Ok(progress),
            }
        }
    }

    /// Advances a descent by one node.
    #[inline(always)]
    fn go_on(&mut self, way: Way, config: &Config) -> Result<Progress, SearchError<S::Error>> {
        match self.meet(way, config) {
            Some(descent) => Ok(Progress::Done(descent)),
            None => self.leave(way.node, way.depth, None, config),
        }
    }

    /// Moves from a node to the next one; `given` are the replies of external players at the node.
    #[inline(always)]
    fn leave(
        &mut self,
        at: NodeId,
        depth: u32,
        given: Option<Vec<(Player, Action)>>,
        config: &Config,
    ) -> Result<Progress, SearchError<S::Error>> {
        if self.draws_replies && given.is_none() && !self.outside(at).is_empty() {
            return Ok(Progress::Done(self.suspend(at, depth)));
        }
        let (node, is_new) = self.following(at, given, config)?;
        Ok(Progress::Under(Way { node, depth: depth + 1, is_new }))
    }

    /// Returns the next node of a descent, and whether it is new.
    #[inline(always)]
    fn following(
        &mut self,
        at: NodeId,
        given: Option<Vec<(Player, Action)>>,
        config: &Config,
    ) -> Result<(NodeId, bool), SearchError<S::Error>> {
        let mut chosen = std::mem::take(&mut self.scratch.chosen);
        let head = match self.nodes[at as usize].status {
            Status::Chance => self.draw(at, &mut chosen),
            _ => self.choose(at, config, &mut chosen),
        };
        let agents = if self.draws_replies { self.draw_replies(at, given, &mut chosen)? } else { None };
        let child = self.child(at, head, &chosen);
        let next = match child {
            Some(child) => child,
            None => self.grow(at, &chosen, agents, config)?,
        };
        self.scratch.chosen = chosen;
        Ok((next, child.is_none()))
    }

    /// Returns the result of a descent that ends at this node, or `None` if it continues.
    #[inline(always)]
    fn meet(&mut self, way: Way, config: &Config) -> Option<Descent> {
        let node = &self.nodes[way.node as usize];
        match node.status {
            Status::Chance => None,
            Status::Expanded if !node.is_scouted() => None,
            _ => Some(self.end(way, config)),
        }
    }

    /// Ends a descent at a node.
    #[inline(never)]
    fn end(&mut self, Way { node: at, depth, is_new }: Way, config: &Config) -> Descent {
        let node = &self.nodes[at as usize];
        match node.status {
            Status::Expanded | Status::Chance => {
                self.record_depth(depth);
                self.finish(at, 0);
                Descent::Terminal
            }
            Status::Terminal | Status::Proven => {
                self.record_depth(depth);
                self.finish(at, 0);
                if is_new && self.solves(config) {
                    self.prove_above(at);
                }
                Descent::Terminal
            }
            // Its evaluation is pending only for a proof; it will serve this descent too.
            Status::Pending if !is_new && self.is_only_scouted(at) => {
                self.record_depth(depth);
                self.hold(at);
                Descent::Terminal
            }
            Status::Pending if !is_new => Descent::Collision,
            Status::Pending if node.num_seats == 0 => self.suspend(at, depth),
            Status::Pending => {
                self.record_depth(depth);
                self.hold(at);
                Descent::Leaf(at)
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
