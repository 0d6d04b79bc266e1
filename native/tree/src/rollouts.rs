//! Truncated rollouts: agents play some steps from a leaf before the position is evaluated.

use crate::error::SearchError;
use crate::game::{decided, Agent, Player, Players, State};
use crate::playouts::Scratch;
use crate::rng::Rng;

/// The result of a rollout for each player, relative to its start.
pub struct RolloutResult {
    /// Rewards on the way, plus the decided return of players with nothing left to evaluate.
    pub rewards: Vec<f64>,
    /// Factor of the value of the final position; 0 for players with nothing left to evaluate.
    pub scales: Vec<f64>,
}

impl RolloutResult {
    pub fn new(num_players: usize) -> Self {
        Self { rewards: vec![0.0; num_players], scales: vec![0.0; num_players] }
    }
}

/// Plays `plies` steps with agents, at random for players without one, and then on until `viewer` is to move.
///
/// It stops early once the viewer's return is decided; then nothing is left to evaluate. Otherwise nothing is left only
/// for the players whose returns are final. The game is assumed to end.
pub fn roll_out<S: State, A: Agent<S>>(
    state: &mut S,
    viewer: Player,
    plies: u32,
    agents: &mut [Option<A>],
    discount: f64,
    result: &mut RolloutResult,
    rng: &mut Rng,
) -> Result<(), SearchError<S::Error>> {
    let mut scratch = Scratch::new(u32::MAX);
    let mut replies = vec![None; agents.len()];
    let RolloutResult { rewards, scales } = result;
    scratch.reset(rewards);
    for ply in 0.. {
        let players = state.active_players()?;
        if !players.contains(viewer) && (players.is_empty() || state.is_decided(viewer)?) {
            scratch.add_returns(state, Players::all(rewards.len()), rewards)?;
            break;
        }
        if ply >= plies && players.contains(viewer) {
            let decided_players = decided(state, Players::all(rewards.len()))?;
            if !decided_players.is_empty() {
                scratch.add_returns(state, decided_players, rewards)?;
            }
            break;
        }
        for player in players.iter() {
            if let Some(Some(agent)) = agents.get_mut(player) {
                replies[player] = Some(agent.act(state, player, rng)?);
            }
        }
        scratch.sample_joint(state, players, |player| replies.get(player).copied().flatten(), rng)?;
        scratch.play_step(state, discount, rewards)?;
    }
    scales.copy_from_slice(&scratch.scales);
    Ok(())
}
