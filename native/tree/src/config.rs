//! Settings of a search; `moemcts.search.SearchConfig` documents them for users.

use crate::game::{Player, Players};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub exploration: Exploration,
    /// Value of an untried action: `fpu_parent * (mean value of its node) + fpu_offset - fpu_reduction * sqrt(prior
    /// mass of the tried actions)`.
    pub fpu_parent: f64,
    pub fpu_offset: f64,
    pub fpu_reduction: f64,
    /// Losses counted for an action per evaluation pending below it; at 0, only visits are counted.
    pub virtual_loss: f64,
    pub policy_temperature: f64,
    /// Weight of the uniform distribution in the priors of every node, in [0, 1].
    pub uniform_share: f64,
    /// Each tried root action gets at least `sqrt(forced_playouts * prior * simulations)` visits (Wu 2019).
    pub forced_playouts: f64,
    /// How root actions are selected, if not by PUCT.
    pub gumbel: Option<GumbelRoot>,
    /// Limits how many moves of a node may be selected; `None` for all.
    pub unpruning: Option<Unpruning>,
    /// Ends a search before its last simulation; `None` for never.
    pub early_end: Option<EarlyEnd>,
    /// Number of simulations of a search that ends as soon as the remaining ones cannot change the most visited action.
    /// The larger of this and the limit counts: a limit that is raised in steps is not yet the final one.
    pub smart_pruning: Option<u32>,
    pub noise_fraction: f64,
    pub noise_alpha: f64,
    /// Whether terminal positions prove the values of positions above them.
    pub solver: bool,
    /// Number of simulations per extra descent that looks for a proof; 0 for none.
    pub proof_interval: u32,
    /// Largest number of leaves per tree in one batch.
    pub leaves_per_tree: usize,
    pub limits: Limits,
    /// Sum of the returns of all players, if the game has a fixed sum.
    pub utility_sum: Option<f64>,
    /// Teams of players who win and lose together; empty if everyone plays alone.
    pub teams: Vec<Players>,
    /// Discount factor per step.
    pub discount: f64,
    /// Whether opponents' replies are sampled at every descent; otherwise once per node.
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

/// Settings of Gumbel action selection at the root (Danihelka et al., Policy improvement by planning with Gumbel,
/// 2022).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GumbelRoot {
    /// Largest number of actions considered.
    pub considered: u32,
    /// Added to the largest visit count of an action.
    pub visit_offset: f64,
    /// Scale of values in logits, per visit.
    pub value_scale: f64,
    /// Factor applied to the Gumbel noise.
    pub noise: f64,
    /// Simulation budget divided among the actions.
    pub simulations: u32,
}

/// Settings of progressive unpruning (Chaslot et al., Progressive strategies for Monte-Carlo tree search, 2008).
#[derive(Clone, Debug, PartialEq)]
pub struct Unpruning {
    /// Visit count at which a node is pruned.
    pub visits: u32,
    /// Number of moves left after pruning.
    pub moves: u32,
    /// Visit counts to exceed for each further move, ascending.
    pub thresholds: std::sync::Arc<[f64]>,
}

impl Unpruning {
    /// Returns how many moves of a node with `visits` visits may be selected.
    pub fn width(&self, visits: u32) -> u32 {
        if visits < self.visits {
            return u32::MAX;
        }
        let more = self.thresholds.partition_point(|&threshold| f64::from(visits) > threshold);
        self.moves.saturating_add(more as u32)
    }
}

/// Settings of virtual expansions (Ye et al., Spending thinking time wisely, 2022).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarlyEnd {
    /// Simulation budget of the search.
    pub simulations: u32,
    /// Simulations between two checks.
    pub interval: u32,
    /// Simulations before which no search ends.
    pub min_simulations: u32,
    /// The search ends when the L1 distance between the current virtual policy and that of half as many checks is below
    /// this.
    pub tolerance: f64,
}

/// PUCT's exploration factor for a node with `n` visits: `(c_init + ln((n + c_base + 1) / c_base)) * sqrt(n)`.
///
/// (AlphaZero, Silver et al. 2018, pseudocode.) The first values are tabulated, as one logarithm per node and descent
/// costs as much as the rest of a small game's search.
#[derive(Clone, Debug, PartialEq)]
pub struct Exploration {
    c_init: f64,
    c_base: f64,
    table: std::sync::Arc<[f64]>,
}

impl Exploration {
    const TABLE_SIZE: u32 = 4096;

    pub fn new(c_init: f64, c_base: f64) -> Self {
        let empty = Self { c_init, c_base, table: [].into() };
        let table = (0..Self::TABLE_SIZE).map(|visits| empty.compute(visits)).collect();
        Self { table, ..empty }
    }

    pub fn factor(&self, visits: u32) -> f64 {
        match self.table.get(visits as usize) {
            Some(&factor) => factor,
            None => self.compute(visits),
        }
    }

    fn compute(&self, visits: u32) -> f64 {
        let visits = f64::from(visits);
        (self.c_init + ((visits + self.c_base + 1.0) / self.c_base).ln()) * visits.sqrt()
    }
}

/// Limits of a search, which stops at the first one reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Descents made by this search.
    pub simulations: u32,
    /// Nodes in the tree, including those kept from an earlier search.
    pub nodes: u32,
    pub time: Option<Duration>,
    /// Length of any array of a tree (nodes, moves, edges, ...) at which the tree is full.
    pub entries: usize,
}

impl Limits {
    /// Half of the index range, so that whatever one more descent adds can still be indexed.
    pub const ENTRIES: usize = 1 << 31;
}
