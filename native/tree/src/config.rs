//! The numbers of a search; `moemcts.search.SearchConfig` documents them for users.

use crate::game::{Player, Players};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub exploration: Exploration,
    /// An action not yet tried is worth `fpu_parent * (mean value of its node) + fpu_offset`, less
    /// `fpu_reduction` times the square root of the prior that was tried.
    pub fpu_parent: f64,
    pub fpu_offset: f64,
    pub fpu_reduction: f64,
    /// Losses that count for an action while a leaf below it is being evaluated; 0 counts visits only.
    pub virtual_loss: f64,
    pub policy_temperature: f64,
    /// Share of uniform priors in the priors of every node, in [0, 1].
    pub uniform_share: f64,
    /// Tried actions of the root are visited `sqrt(this * prior * simulations)` times at least (Wu 2019).
    pub forced_playouts: f64,
    /// How the root's actions are tried if not by PUCT.
    pub gumbel: Option<GumbelRoot>,
    /// How many moves of a node may be chosen, if not all.
    pub unpruning: Option<Unpruning>,
    /// When a search ends before its last simulation.
    pub early_end: Option<EarlyEnd>,
    /// Simulations of a search that ends where those left cannot change which action is visited most; more where the
    /// limit is higher, whereas one that is raised in steps is not yet what it will be.
    pub smart_pruning: Option<u32>,
    pub noise_fraction: f64,
    pub noise_alpha: f64,
    /// Whether ends of the game prove positions above them.
    pub solver: bool,
    /// After how many simulations one more descent looks for a proof; 0 is never.
    pub proof_interval: u32,
    /// Leaves that one tree may have in one batch.
    pub leaves_per_tree: usize,
    pub limits: Limits,
    /// What returns sum to, if the game has a fixed sum.
    pub utility_sum: Option<f64>,
    /// Who wins and loses together; none where each plays alone.
    pub teams: Vec<Players>,
    /// What a value is worth one step before.
    pub discount: f64,
    /// Whether opponents reply anew at every descent; otherwise once per node.
    pub draws_replies: bool,
    pub num_actions: usize,
}

impl Config {
    /// Returns the players of a player's team, itself among them.
    pub fn team_of(&self, player: Player) -> Players {
        let team = self.teams.iter().find(|team| team.contains(player));
        team.copied().unwrap_or(Players::one(player))
    }
}

/// The numbers of the Gumbel root (Danihelka et al., Policy improvement by planning with Gumbel, 2022).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GumbelRoot {
    /// Actions tried at most.
    pub considered: u32,
    /// What is added to the most visits of an action.
    pub visit_offset: f64,
    /// What a value of 1 is worth in logits per visit.
    pub value_scale: f64,
    /// Factor of the noise.
    pub noise: f64,
    /// Simulations that are divided among the actions.
    pub simulations: u32,
}

/// The numbers of progressive unpruning (Chaslot et al., Progressive strategies for Monte-Carlo tree search, 2008).
#[derive(Clone, Debug, PartialEq)]
pub struct Unpruning {
    /// Visits from which on a node is pruned.
    pub visits: u32,
    /// Moves that are left then.
    pub moves: u32,
    /// Visits that have to be surpassed for each further move, ascending.
    pub thresholds: std::sync::Arc<[f64]>,
}

impl Unpruning {
    /// Returns how many moves of a node of so many visits may be chosen.
    pub fn width(&self, visits: u32) -> u32 {
        if visits < self.visits {
            return u32::MAX;
        }
        let more = self.thresholds.partition_point(|&threshold| f64::from(visits) > threshold);
        self.moves.saturating_add(more as u32)
    }
}

/// The numbers of virtual expansions (Ye et al., Spending thinking time wisely, 2022).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarlyEnd {
    /// Simulations that a search would have.
    pub simulations: u32,
    /// Simulations between two looks.
    pub interval: u32,
    /// Simulations before which no search ends.
    pub least: u32,
    /// Difference of two virtual policies below which it ends.
    pub tolerance: f64,
}

/// PUCT's exploration by visits `n` of a node: `(c_init + ln((n + c_base + 1) / c_base)) * sqrt(n)`.
///
/// (AlphaZero, Silver et al. 2018, pseudocode.) The first values are kept, as a logarithm per node and descent
/// costs as much as the rest of a small game's search.
#[derive(Clone, Debug, PartialEq)]
pub struct Exploration {
    c_init: f64,
    c_base: f64,
    table: std::sync::Arc<[f64]>,
}

impl Exploration {
    const KEPT: u32 = 4096;

    pub fn new(c_init: f64, c_base: f64) -> Self {
        let empty = Self { c_init, c_base, table: [].into() };
        let table = (0..Self::KEPT).map(|visits| empty.compute(visits)).collect();
        Self { table, ..empty }
    }

    pub fn at(&self, visits: u32) -> f64 {
        match self.table.get(visits as usize) {
            Some(&scale) => scale,
            None => self.compute(visits),
        }
    }

    fn compute(&self, visits: u32) -> f64 {
        let visits = f64::from(visits);
        (self.c_init + ((visits + self.c_base + 1.0) / self.c_base).ln()) * visits.sqrt()
    }
}

/// Where a search stops: at whichever limit is met first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Descents made for this search.
    pub simulations: u32,
    /// Nodes in the tree, those kept from an earlier search included.
    pub nodes: u32,
    pub time: Option<Duration>,
    /// Things in one array of a tree, such as nodes, moves or edges, from which on it is full.
    pub entries: usize,
}

impl Limits {
    /// Half of what a number in a tree names: what one more descent adds has a number yet.
    pub const ENTRIES: usize = 1 << 31;
}
