//! A search of many trees with shared batches.

use crate::config::Config;
use crate::error::SearchError;
use crate::game::{Action, Agent, Player, Players, State};
use crate::playouts::Stop;
use crate::rng::Rng;
use crate::tree::{Cursor, Descent, NodeId, Progress, Status, Tree, ROOT};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Interval at which the calling thread polls `stop` while it waits for workers.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Number of trees descended in an interleaved way: as many as the memory system serves in parallel, few enough for the
/// L1 cache.
const NUM_INTERLEAVED: usize = 8;

/// Total number of nodes from which trees are interleaved; smaller trees stay in cache, where interleaving costs more
/// than it gains.
const MIN_NODES_TO_INTERLEAVE: usize = 8192;

/// One pending evaluation of a leaf.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub tree: u32,
    pub node: NodeId,
    seat: u8,
    pub player: Player,
}

/// A leaf that waits for replies of external players.
#[derive(Clone, Copy, Debug)]
pub struct WaitingLeaf {
    pub tree: u32,
    pub node: NodeId,
    pub players: Players,
}

pub struct Search<S, A> {
    pub config: Config,
    pub trees: Vec<Tree<S, A>>,
    rows: Vec<Option<Row>>,
    outstanding: usize,
    pub awaiting: Vec<WaitingLeaf>,
    started: Instant,
    pub num_batches: u64,
    pub num_rows: u64,
    /// Whether an error left leaves pending that no caller knows about.
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

    /// Starts a search of these trees; a tree searched before continues with its statistics.
    ///
    /// The time limit counts from `started`, as preparing many or large trees takes part of it.
    pub fn reset(&mut self, mut trees: Vec<Tree<S, A>>, started: Instant) {
        for tree in &mut trees {
            tree.simulations = 0;
            tree.num_scouts = 0;
            tree.depth_sum = 0;
            tree.max_depth = 0;
            tree.reset_early_end();
            tree.reset_proof_numbers(&self.config);
            if tree.nodes[ROOT as usize].status == Status::Expanded {
                tree.add_noise(&self.config);
            }
        }
        self.take_trees();
        self.trees = trees;
        self.num_batches = 0;
        self.num_rows = 0;
        self.started = started;
    }

    /// Marks the search as failed because found leaves were not reported; it cannot continue until the next `reset`.
    pub fn fail(&mut self) {
        self.has_failed = true;
    }

    /// Returns the trees; the search is empty afterwards and has nothing pending.
    pub fn take_trees(&mut self) -> Vec<Tree<S, A>> {
        self.rows.clear();
        self.awaiting.clear();
        self.outstanding = 0;
        self.has_failed = false;
        std::mem::take(&mut self.trees)
    }

    /// Descends in all trees; returns the new rows, none when the search is over.
    ///
    /// After an error it fails until the next `reset`, as leaves were found but not reported.
    pub fn select(&mut self, stop: Stop<'_>) -> Result<Range<usize>, SearchError<S::Error>> {
        let num_nodes: usize = self.trees.iter().map(|tree| tree.nodes.len()).sum();
        let leaves = if self.has_failed {
            Err(SearchError::Failed)
        } else if self.trees.len() > 1 && num_nodes >= MIN_NODES_TO_INTERLEAVE {
            self.collect_interleaved(stop)
        } else {
            let Self { config, trees, started, .. } = self;
            trees.iter_mut().map(|tree| collect_leaves(tree, config, *started, stop)).collect()
        };
        self.record_leaves(leaves)
    }

    /// Collects the leaves of all trees, a few trees at a time; the result is the same as one by one.
    ///
    /// Each step of a descent waits for memory, and steps in other trees hide that latency.
    fn collect_interleaved(&mut self, stop: Stop<'_>) -> Result<Vec<Vec<Descent>>, SearchError<S::Error>> {
        let Self { config, trees, started, .. } = self;
        let mut leaves: Vec<Vec<Descent>> = Vec::new();
        leaves.resize_with(trees.len(), Vec::new);
        let mut remaining = trees.iter_mut().enumerate();
        let mut start_next = || -> Result<_, SearchError<S::Error>> {
            remaining.next().map(|(i, tree)| Ok((i, LeafCollector::new(tree, config)?))).transpose()
        };
        let mut lanes = Vec::with_capacity(NUM_INTERLEAVED);
        while lanes.len() < NUM_INTERLEAVED {
            let Some(lane) = start_next()? else { break };
            lanes.push(lane);
        }
        while !lanes.is_empty() {
            let mut at = 0;
            while at < lanes.len() {
                let (tree, collector) = &mut lanes[at];
                if collector.advance(Tree::step_descent, config, *started, stop)? {
                    at += 1;
                    continue;
                }
                leaves[*tree] = std::mem::take(&mut collector.leaves);
                match start_next()? {
                    Some(lane) => lanes[at] = lane,
                    None => drop(lanes.swap_remove(at)),
                }
            }
        }
        Ok(leaves)
    }

    /// Does the same as `select` on all cores if there are several trees; the result is the same.
    ///
    /// Only the calling thread polls `stop`, and a stop after the last leaf counts too.
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
        let stop_workers = || is_stopped.load(Ordering::Relaxed);
        let (sender, receiver) = mpsc::channel();
        let leaves: Result<Vec<_>, _> = rayon::in_place_scope(|scope| {
            scope.spawn(|_| {
                let leaves =
                    trees.par_iter_mut().map(|tree| collect_leaves(tree, config, started, &stop_workers)).collect();
                // The send fails only if the receiving thread has panicked.
                let _ = sender.send(leaves);
            });
            loop {
                match receiver.recv_timeout(STOP_POLL_INTERVAL) {
                    Ok(_) if stop_workers() => return Err(SearchError::Interrupted),
                    Ok(leaves) => return leaves,
                    Err(RecvTimeoutError::Timeout) => is_stopped.store(stop(), Ordering::Relaxed),
                    Err(RecvTimeoutError::Disconnected) => return Err(SearchError::Interrupted),
                }
            }
        });
        self.record_leaves(leaves)
    }

    pub fn row(&self, row: usize) -> Option<&Row> {
        self.rows.get(row)?.as_ref()
    }

    /// Passes the replies requested by `awaiting`, in its order, players ascending.
    pub fn reply(&mut self, actions: &[Action]) -> Result<(), SearchError<S::Error>> {
        let expected = self.awaiting.iter().map(|leaf| leaf.players.len()).sum();
        if actions.len() != expected {
            return Err(SearchError::Replies { expected, got: actions.len() });
        }
        let mut actions = actions.iter().copied();
        for leaf in std::mem::take(&mut self.awaiting) {
            let replies: Vec<_> = leaf.players.iter().zip(&mut actions).collect();
            self.trees[leaf.tree as usize].set_replies(leaf.node, &replies);
        }
        Ok(())
    }

    /// Backs up the evaluation of one row; `logits` maps an action to its logit.
    pub fn add_evaluation(
        &mut self,
        row: usize,
        logits: impl Fn(Action) -> f32,
        value: &[f32],
    ) -> Result<(), SearchError<S::Error>> {
        let Some(pending) = self.rows.get_mut(row).and_then(Option::take) else {
            return Err(SearchError::Row(row));
        };
        self.outstanding -= 1;
        let tree = &mut self.trees[pending.tree as usize];
        let received = tree.add_evaluation(pending.node, pending.seat, row, logits, value, &self.config);
        self.has_failed |= received.is_err();
        received
    }

    /// Records new leaves and assigns their rows; on an error, marks the search as failed.
    fn record_leaves(
        &mut self,
        leaves: Result<Vec<Vec<Descent>>, SearchError<S::Error>>,
    ) -> Result<Range<usize>, SearchError<S::Error>> {
        self.has_failed |= leaves.is_err();
        Ok(self.assign_rows(leaves?))
    }

    fn assign_rows(&mut self, leaves: Vec<Vec<Descent>>) -> Range<usize> {
        if self.outstanding == 0 {
            self.rows.clear();
        }
        let start = self.rows.len();
        for (t, (tree, nodes)) in self.trees.iter().zip(leaves).enumerate() {
            for descent in nodes {
                let (node, players) = match descent {
                    Descent::Leaf(node) => (node, tree.awaited_players(node)),
                    Descent::Suspended(node) => (node, tree.external_players(node)),
                    Descent::Terminal | Descent::Collision => continue,
                };
                if !players.is_empty() {
                    self.awaiting.push(WaitingLeaf { tree: t as u32, node, players });
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

/// Returns one tree's leaves of a batch, and its descents that wait for replies.
fn collect_leaves<S: State, A: Agent<S>>(
    tree: &mut Tree<S, A>,
    config: &Config,
    started: Instant,
    stop: Stop<'_>,
) -> Result<Vec<Descent>, SearchError<S::Error>> {
    let mut collector = LeafCollector::new(tree, config)?;
    let finish_descent =
        |tree: &mut Tree<S, A>, cursor, config: &Config| tree.finish_descent(cursor, config).map(Progress::Done);
    while collector.advance(finish_descent, config, started, stop)? {}
    Ok(collector.leaves)
}

/// One tree's share of a batch while it is being collected.
struct LeafCollector<'a, S, A> {
    tree: &'a mut Tree<S, A>,
    leaves: Vec<Descent>,
    num_descents: u32,
    cursor: Option<Cursor>,
    /// The tree's generator before the current descent.
    rng: Rng,
    /// Whether a descent hit a pending leaf, which ends the batch.
    has_collided: bool,
}

impl<'a, S: State, A: Agent<S>> LeafCollector<'a, S, A> {
    fn new(tree: &'a mut Tree<S, A>, config: &Config) -> Result<Self, SearchError<S::Error>> {
        let (mut leaves, mut has_collided) = (Vec::new(), false);
        while !has_collided {
            match tree.resume_descent(config)? {
                Some(Descent::Terminal) => {}
                Some(Descent::Collision) => has_collided = true,
                Some(descent) => leaves.push(descent),
                None => break,
            }
        }
        let rng = tree.rng.clone();
        Ok(Self { tree, leaves, num_descents: 0, cursor: None, rng, has_collided })
    }

    /// Starts a descent or advances the current one by one `step`; returns whether there is more to do.
    #[inline]
    fn advance(
        &mut self,
        step: impl Fn(&mut Tree<S, A>, Cursor, &Config) -> Result<Progress, SearchError<S::Error>>,
        config: &Config,
        started: Instant,
        stop: Stop<'_>,
    ) -> Result<bool, SearchError<S::Error>> {
        let progress = match self.cursor.take() {
            Some(cursor) => step(self.tree, cursor, config)?,
            None if self.has_collided || self.is_over(config, started, stop)? => return Ok(false),
            None => {
                self.rng.clone_from(&self.tree.rng);
                self.tree.start_descent(config)?
            }
        };
        match progress {
            Progress::Ongoing(cursor) => self.cursor = Some(cursor),
            Progress::Done(Descent::Terminal) => {}
            Progress::Done(Descent::Collision) => {
                // The next batch starts with the random state of this descent. If it sampled again, outcomes and
                // replies with pending leaves, which are those with few leaves, would come up too rarely.
                self.tree.rng.clone_from(&self.rng);
                return Ok(false);
            }
            Progress::Done(descent) => self.leaves.push(descent),
        }
        Ok(true)
    }

    /// Returns whether no further descent is to be made; otherwise counts one.
    fn is_over(&mut self, config: &Config, started: Instant, stop: Stop<'_>) -> Result<bool, SearchError<S::Error>> {
        if self.leaves.len() >= config.leaves_per_tree || self.tree.is_over(config) {
            return Ok(true);
        }
        self.num_descents += 1;
        if self.num_descents.is_multiple_of(64) && stop() {
            return Err(SearchError::Interrupted);
        }
        let is_first = self.tree.nodes[ROOT as usize].visits == 0;
        Ok(!is_first && config.limits.time.is_some_and(|limit| started.elapsed() >= limit))
    }
}
