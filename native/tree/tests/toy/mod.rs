//! A toy game for these tests, and a search that runs to its end.

// Not every test file uses every item.
#![allow(dead_code)]

use moemcts_tree::{hash_of, Action, Agent, Config, Exploration, Limits, Player, Players, Search, State};
use std::convert::Infallible;

/// The properties of a game: number of actions, whether both players move at once, whether steps have rewards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    pub width: Action,
    pub is_simultaneous: bool,
    pub has_rewards: bool,
}

pub const NUM_PLAYERS: usize = 2;
pub const WIDE: Shape = Shape { width: 5, is_simultaneous: false, has_rewards: false };

/// The actions played so far in a two-player game that ends at its last ply.
#[derive(Clone, Debug, Hash)]
pub struct Toy {
    pub shape: Shape,
    pub last_ply: u32,
    played: Vec<Action>,
}

impl Toy {
    pub fn new(shape: Shape, last_ply: u32, first: Action) -> Self {
        Self { shape, last_ply, played: vec![first] }
    }
}

impl State for Toy {
    type Error = Infallible;
    const HAS_REWARDS: bool = true;

    fn ply(&self) -> Result<u32, Infallible> {
        Ok(self.played.len() as u32)
    }

    fn active_players(&self) -> Result<Players, Infallible> {
        Ok(match self.ply()? {
            ply if ply >= self.last_ply => Players::NONE,
            _ if self.shape.is_simultaneous => Players::all(NUM_PLAYERS),
            ply => Players::one(ply as Player % NUM_PLAYERS),
        })
    }

    fn legal_actions(&self, _: Player, out: &mut Vec<Action>) -> Result<(), Infallible> {
        out.extend(0..self.shape.width);
        Ok(())
    }

    fn play(&mut self, joint: &[Action]) -> Result<(), Infallible> {
        self.played.push(joint.iter().fold(0, |all, action| all * self.shape.width + action));
        Ok(())
    }

    fn rewards(&self, out: &mut [f32]) -> Result<(), Infallible> {
        if self.shape.has_rewards {
            out.fill(0.125);
        }
        Ok(())
    }

    fn returns(&self, out: &mut [f32]) -> Result<(), Infallible> {
        let value = if self.key()?.is_multiple_of(2) { 1.0 } else { -1.0 };
        out.copy_from_slice(&[value, -value]);
        Ok(())
    }

    fn is_decided(&self, _: Player) -> Result<bool, Infallible> {
        Ok(self.active_players()?.is_empty())
    }

    fn key(&self) -> Result<u64, Infallible> {
        Ok(hash_of(self))
    }
}

/// Returns a basic configuration: one leaf at a time, no randomness, no effective limits.
pub fn config() -> Config {
    Config {
        exploration: Exploration::new(2.5, 19652.0),
        fpu_parent: 0.0,
        fpu_offset: -1.0,
        fpu_reduction: 0.0,
        virtual_loss: 1.0,
        policy_temperature: 1.0,
        uniform_share: 0.0,
        forced_playouts: 0.0,
        gumbel: None,
        unpruning: None,
        early_end: None,
        smart_pruning: None,
        noise_fraction: 0.0,
        noise_alpha: 0.3,
        solver: false,
        proof_interval: 0,
        leaves_per_tree: 1,
        limits: Limits { simulations: u32::MAX, nodes: u32::MAX, time: None, entries: Limits::ENTRIES },
        utility_sum: Some(0.0),
        teams: Vec::new(),
        discount: 1.0,
        draws_replies: false,
        num_actions: 8,
    }
}

/// Searches until every tree has reached a limit; the value of a leaf depends only on its position.
pub fn run<A: Agent<Toy>>(search: &mut Search<Toy, A>) {
    loop {
        let rows = search.select(&|| false).unwrap();
        if rows.is_empty() {
            return;
        }
        for row in rows {
            let pending = *search.row(row).unwrap();
            let key = search.trees[pending.tree as usize].states[pending.node as usize].key().unwrap();
            let logit = |action: Action| (hash_of(&(key, action)) % 64) as f32 / 32.0;
            let value = (hash_of(&(key, pending.player)) % 64) as f32 / 32.0 - 1.0;
            search.add_evaluation(row, logit, &[value]).unwrap();
        }
    }
}
