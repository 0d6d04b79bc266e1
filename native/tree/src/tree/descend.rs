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

/// How far a descent is.
pub enum Progress {
    Done(Descent),
    /// It comes to a node next, whose memory was asked for.
    Under(Way),
}

/// The place of a descent that is under way: the node that it comes to next.
#[derive(Clone, Copy)]
pub struct Way {
    node: NodeId,
    depth: u32,
    is_new: bool,
}

/// A descent that waits for replies of players outside, and these once they came.
///
/// Where replies are kept, that is where nobody searched is active; elsewhere they come together with evaluations.
#[derive(Clone)]
pub(super) struct Suspended {
    pub node: NodeId,
    depth: u32,
    pub replies: Option<Vec<(Player, Action)>>,
}

impl<S: State, A: Agent<S>> Tree<S, A> {
    /// Begins a descent: from the root by the best action of each seat until something new, known or waiting is met.
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

    /// Goes on with the first descent whose replies came, if there is one.
    ///
    /// Where it meets a leaf that waits it stays where it was, with its replies and what was drawn for it: it goes on
    /// once that leaf waits no more.
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

    /// Goes on with a descent to its end.
    pub fn finish_descent(&mut self, mut way: Way, config: &Config) -> Result<Descent, SearchError<S::Error>> {
        loop {
            match self.go_on(way, config)? {
                Progress::Done(descent) => return Ok(descent),
                Progress::Under(next) => way = next,
            }
        }
    }

    /// Goes on with a descent to the next node that was there before.
    ///
    /// The memory of that node was asked for. Before it is read there is time for steps in other trees; a new node lies
    /// in a near cache.
    pub fn step(&mut self, mut way: Way, config: &Config) -> Result<Progress, SearchError<S::Error>> {
        loop {
            match self.go_on(way, config)? {
                Progress::Under(next) if next.is_new => way = next,
                progress => return Ok(progress),
            }
        }
    }

    /// Goes on with a descent by one node.
    #[inline(always)]
    fn go_on(&mut self, way: Way, config: &Config) -> Result<Progress, SearchError<S::Error>> {
        match self.meet(way, config) {
            Some(descent) => Ok(Progress::Done(descent)),
            None => self.leave(way.node, way.depth, None, config),
        }
    }

    /// Goes from a node to the one after it; `given` are the replies there of players outside.
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

    /// Returns the node after another on the way down, and whether it is new.
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

    /// Returns what a descent came to at a node; None where it goes on.
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
            // It waits for a proof's sake only: its evaluation will do for this descent too.
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
