//! Many trees that share batches.

use crate::config::Config;
use crate::error::SearchError;
use crate::game::{Action, Agent, Player, Players, State};
use crate::playouts::Stop;
use crate::rng::Rng;
use crate::tree::{Descent, NodeId, Progress, Status, Tree, Way, ROOT};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often a thread that waits for others asks whether to end.
const LOOK: Duration = Duration::from_millis(50);

/// Trees that are descended in turns: as many as memory answers at once, and no more than the nearest cache holds.
const AT_ONCE: usize = 8;

/// Nodes of all trees from which on they are: fewer are found in a near cache, where turns cost more than they gain.
const MANY_NODES: usize = 8192;

/// One evaluation that a leaf waits for.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub tree: u32,
    pub node: NodeId,
    seat: u8,
    pub player: Player,
}

/// A leaf that waits for replies of players outside.
#[derive(Clone, Copy, Debug)]
pub struct Awaiting {
    pub tree: u32,
    pub node: NodeId,
    pub players: Players,
}

pub struct Search<S, A> {
    pub config: Config,
    pub trees: Vec<Tree<S, A>>,
    rows: Vec<Option<Row>>,
    outstanding: usize,
    pub awaiting: Vec<Awaiting>,
    started: Instant,
    pub num_batches: u64,
    pub num_rows: u64,
    /// Whether an error left leaves behind that nobody asks about any more.
    has_failed: bool,
}

impl<S: State, A: Agent<S>> Search<S, A> {
    pub fn new(config: Config) -> Self {
        Self {
            config,
            trees: Vec::new(),
            rows: Vec::new(),
            outstanding: 0,
            awaiting: Vec::new(),
            started: Instant::now(),
            num_batches: 0,
            num_rows: 0,
            has_failed: false,
        }
    }

    /// Starts a search of these trees; a tree that was searched before goes on with what it knows.
    ///
    /// Its time counts from `started`: to prepare many trees, or a large one, takes a part of it.
    pub fn reset(&mut self, mut trees: Vec<Tree<S, A>>, started: Instant) {
        for tree in &mut trees {
            tree.simulations = 0;
            tree.num_scouts = 0;
            tree.depth_sum = 0;
            tree.max_depth = 0;
            tree.forget_foreseen();
            tree.renumber(&self.config);
            if tree.nodes[ROOT as usize].status == Status::Expanded {
                tree.add_noise(&self.config);
            }
        }
        self.take();
        self.trees = trees;
        self.num_batches = 0;
        self.num_rows = 0;
        self.started = started;
    }

    /// Says that nobody was told of leaves that were found: until the next `reset` there is no going on.
    pub fn fail(&mut self) {
        self.has_failed = true;
    }

    /// Hands out the trees; the search is empty afterwards, and nothing in it waits any more.
    pub fn take(&mut self) -> Vec<Tree<S, A>> {
        self.rows.clear();
        self.awaiting.clear();
        self.outstanding = 0;
        self.has_failed = false;
        std::mem::take(&mut self.trees)
    }

    /// Descends in all trees; returns the new rows, none when the search is over.
    ///
    /// After an error it fails until the next `reset`: leaves were found that nobody was told of.
    pub fn select(&mut self, stop: Stop<'_>) -> Result<Range<usize>, SearchError<S::Error>> {
        let num_nodes: usize = self.trees.iter().map(|tree| tree.nodes.len()).sum();
        let leaves = if self.has_failed {
            Err(SearchError::Failed)
        } else if self.trees.len() > 1 && num_nodes >= MANY_NODES {
            self.collect_in_turns(stop)
        } else {
            let Self { config, trees, started, .. } = self;
            trees.iter_mut().map(|tree| collect(tree, config, *started, stop)).collect()
        };
        self.noted(leaves)
    }

    /// Returns the leaves of all trees, collected in a few of them at a time; they are the same.
    ///
    /// Each step of a descent waits for memory. Those of other trees are made meanwhile, and change nothing in it.
    fn collect_in_turns(&mut self, stop: Stop<'_>) -> Result<Vec<Vec<Descent>>, SearchError<S::Error>> {
        let Self { config, trees, started, .. } = self;
        let mut leaves: Vec<Vec<Descent>> = Vec::new();
        leaves.resize_with(trees.len(), Vec::new);
        let mut following = trees.iter_mut().enumerate();
        let mut begin = || -> Result<_, SearchError<S::Error>> {
            following.next().map(|(i, tree)| Ok((i, Collection::begin(tree, config)?))).transpose()
        };
        let mut lanes = Vec::with_capacity(AT_ONCE);
        while lanes.len() < AT_ONCE {
            let Some(lane) = begin()? else { break };
            lanes.push(lane);
        }
        while !lanes.is_empty() {
            let mut at = 0;
            while at < lanes.len() {
                let (tree, collection) = &mut lanes[at];
                if collection.go_on(Tree::step, config, *started, stop)? {
                    at += 1;
                    continue;
                }
                leaves[*tree] = std::mem::take(&mut collection.leaves);
                match begin()? {
                    Some(lane) => lanes[at] = lane,
                    None => drop(lanes.swap_remove(at)),
                }
            }
        }
        Ok(leaves)
    }

    /// Does what `select` does with all cores, where there are several trees; the result is the same.
    ///
    /// This thread asks `stop` meanwhile, the others do not; an answer that comes after the last leaf counts too.
    pub fn select_parallel(&mut self, stop: Stop<'_>) -> Result<Range<usize>, SearchError<S::Error>>
    where
        S: Send,
        A: Send,
        S::Error: Send,
    {
        if self.has_failed {
            return Err(SearchError::Failed);
        }
        if self.trees.len() == 1 {
            return self.select(stop);
        }
        let config = &self.config;
        let started = self.started;
        let trees = &mut self.trees;
        let is_stopped = AtomicBool::new(false);
        let stops = || is_stopped.load(Ordering::Relaxed);
        let (found, finds) = mpsc::channel();
        let leaves: Result<Vec<_>, _> = rayon::in_place_scope(|scope| {
            scope.spawn(|_| {
                let leaves = trees.par_iter_mut().map(|tree| collect(tree, config, started, &stops)).collect();
                // Nobody waits any more where this thread panics.
                let _ = found.send(leaves);
            });
            loop {
                match finds.recv_timeout(LOOK) {
                    Ok(_) if stops() => return Err(SearchError::Interrupted),
                    Ok(leaves) => return leaves,
                    Err(RecvTimeoutError::Timeout) => is_stopped.store(stop(), Ordering::Relaxed),
                    Err(RecvTimeoutError::Disconnected) => return Err(SearchError::Interrupted),
                }
            }
        });
        self.noted(leaves)
    }

    pub fn row(&self, row: usize) -> Option<&Row> {
        self.rows.get(row)?.as_ref()
    }

    /// Gives the replies that `awaiting` asks for, in its order, players ascending.
    pub fn reply(&mut self, actions: &[Action]) -> Result<(), SearchError<S::Error>> {
        let expected = self.awaiting.iter().map(|leaf| leaf.players.len()).sum();
        if actions.len() != expected {
            return Err(SearchError::Replies { expected, got: actions.len() });
        }
        let mut actions = actions.iter().copied();
        for leaf in std::mem::take(&mut self.awaiting) {
            let replies: Vec<_> = leaf.players.iter().zip(&mut actions).collect();
            self.trees[leaf.tree as usize].reply(leaf.node, &replies);
        }
        Ok(())
    }

    /// Takes the evaluation of one row, whose `logits` are asked for by action.
    pub fn receive(
        &mut self,
        row: usize,
        logits: impl Fn(Action) -> f32,
        value: &[f32],
    ) -> Result<(), SearchError<S::Error>> {
        let Some(found) = self.rows.get_mut(row).and_then(Option::take) else {
            return Err(SearchError::Row(row));
        };
        self.outstanding -= 1;
        let tree = &mut self.trees[found.tree as usize];
        let received = tree.receive(found.node, found.seat, row, logits, value, &self.config);
        self.has_failed |= received.is_err();
        received
    }

    /// Numbers the views of new leaves, or remembers that there is no going on.
    fn noted(
        &mut self,
        leaves: Result<Vec<Vec<Descent>>, SearchError<S::Error>>,
    ) -> Result<Range<usize>, SearchError<S::Error>> {
        self.has_failed |= leaves.is_err();
        Ok(self.note(leaves?))
    }

    fn note(&mut self, leaves: Vec<Vec<Descent>>) -> Range<usize> {
        if self.outstanding == 0 {
            self.rows.clear();
        }
        let start = self.rows.len();
        for (t, (tree, nodes)) in self.trees.iter().zip(leaves).enumerate() {
            for descent in nodes {
                let (node, players) = match descent {
                    Descent::Leaf(node) => (node, tree.awaited(node)),
                    Descent::Suspended(node) => (node, tree.outside(node)),
                    Descent::Terminal | Descent::Collision => continue,
                };
                if !players.is_empty() {
                    self.awaiting.push(Awaiting { tree: t as u32, node, players });
                }
                if matches!(descent, Descent::Suspended(_)) {
                    continue;
                }
                for (seat, player) in tree.viewers(node).enumerate() {
                    self.rows.push(Some(Row { tree: t as u32, node, seat: seat as u8, player }));
                }
            }
        }
        let new = self.rows.len() - start;
        self.outstanding += new;
        self.num_rows += new as u64;
        self.num_batches += u64::from(new > 0);
        start..self.rows.len()
    }
}

/// Returns the leaves of one tree's share of a batch, and the descents that wait for replies.
fn collect<S: State, A: Agent<S>>(
    tree: &mut Tree<S, A>,
    config: &Config,
    started: Instant,
    stop: Stop<'_>,
) -> Result<Vec<Descent>, SearchError<S::Error>> {
    let mut collection = Collection::begin(tree, config)?;
    let to_its_end = |tree: &mut Tree<S, A>, way, config: &Config| tree.finish_descent(way, config).map(Progress::Done);
    while collection.go_on(to_its_end, config, started, stop)? {}
    Ok(collection.leaves)
}

/// One tree's share of a batch while it is collected.
struct Collection<'a, S, A> {
    tree: &'a mut Tree<S, A>,
    leaves: Vec<Descent>,
    num_descents: u32,
    way: Option<Way>,
    /// What the tree drew from before the descent under way.
    rng: Rng,
    /// Whether a descent met a leaf that waits: the batch ends.
    has_collided: bool,
}

impl<'a, S: State, A: Agent<S>> Collection<'a, S, A> {
    fn begin(tree: &'a mut Tree<S, A>, config: &Config) -> Result<Self, SearchError<S::Error>> {
        let (mut leaves, mut has_collided) = (Vec::new(), false);
        while !has_collided {
            match tree.resume(config)? {
                Some(Descent::Terminal) => {}
                Some(Descent::Collision) => has_collided = true,
                Some(descent) => leaves.push(descent),
                None => break,
            }
        }
        let rng = tree.rng.clone();
        Ok(Self { tree, leaves, num_descents: 0, way: None, rng, has_collided })
    }

    /// Begins a descent, or goes on with the one under way as far as `advance` does; returns whether there is more to do.
    #[inline]
    fn go_on(
        &mut self,
        advance: impl Fn(&mut Tree<S, A>, Way, &Config) -> Result<Progress, SearchError<S::Error>>,
        config: &Config,
        started: Instant,
        stop: Stop<'_>,
    ) -> Result<bool, SearchError<S::Error>> {
        let progress = match self.way.take() {
            Some(way) => advance(self.tree, way, config)?,
            None if self.has_collided || self.is_over(config, started, stop)? => return Ok(false),
            None => {
                self.rng.clone_from(&self.tree.rng);
                self.tree.descend(config)?
            }
        };
        match progress {
            Progress::Under(way) => self.way = Some(way),
            Progress::Done(Descent::Terminal) => {}
            Progress::Done(Descent::Collision) => {
                // The next batch begins with what this descent drew: if it were drawn anew, outcomes and replies whose
                // leaves wait, which are those with few of them, would come up too seldom.
                self.tree.rng.clone_from(&self.rng);
                return Ok(false);
            }
            Progress::Done(descent) => self.leaves.push(descent),
        }
        Ok(true)
    }

    /// Returns whether no further descent is to be made; if one is, it is counted.
    fn is_over(&mut self, config: &Config, started: Instant, stop: Stop<'_>) -> Result<bool, SearchError<S::Error>> {
        if self.leaves.len() >= config.leaves_per_tree || self.tree.is_over(config) {
            return Ok(true);
        }
        self.num_descents += 1;
        if self.num_descents.is_multiple_of(64) && stop() {
            return Err(SearchError::Interrupted);
        }
        let is_first = self.tree.nodes[ROOT as usize].visits == 0;
        // Looking at the clock costs as much as a descent of a small game does.
        let is_due = self.tree.simulations.is_multiple_of(16) || self.leaves.is_empty();
        Ok(!is_first && is_due && config.limits.time.is_some_and(|limit| started.elapsed() >= limit))
    }
}
