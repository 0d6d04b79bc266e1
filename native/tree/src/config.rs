//! The numbers of a search; `moemcts.search.SearchConfig` documents them for users.

use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub c_init: f64,
    pub c_base: f64,
    /// An action not yet tried is worth `fpu_parent * (mean value of its node) + fpu_offset`, less
    /// `fpu_reduction` times the square root of the prior that was tried.
    pub fpu_parent: f64,
    pub fpu_offset: f64,
    pub fpu_reduction: f64,
    /// Losses that count for an action while a leaf below it is being evaluated; 0 counts visits only.
    pub virtual_loss: f64,
    pub policy_temperature: f64,
    pub noise_fraction: f64,
    pub noise_alpha: f64,
    /// Leaves that one tree may have in one batch.
    pub leaves_per_tree: usize,
    pub limits: Limits,
    /// What returns sum to, if the game has a fixed sum.
    pub utility_sum: Option<f64>,
    pub num_actions: usize,
}

/// Where a search stops: at whichever limit is met first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Descents made for this search.
    pub simulations: u32,
    /// Nodes in the tree, those kept from an earlier search included.
    pub nodes: u32,
    pub time: Option<Duration>,
}
