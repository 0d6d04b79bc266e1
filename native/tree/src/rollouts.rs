//! Truncated rollouts: agents play some steps from a leaf before the position is evaluated.

use crate::error::SearchError;
use crate::game::{decided, Agent, Player, Players, State};
use crate::playouts::Scratch;
use crate::rng::Rng;

/// The result of a rollout for each player, relative to its start.
pub struct Worth {
    /// Rewards on the way, plus the decided return of players with nothing left to evaluate.
    pub paid: Vec<f64>,
    /// Factor of the value of the final position; 0 for players with nothing left to evaluate.
    pub scales: Vec<f64>,
}

impl Worth {
    pub fn new(num_players: usize) -> Self {
        Self { paid: vec![0.0; num_players], scales: vec![0.0; num_players] }
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
    worth: &mut Worth,
    rng: &mut Rng,
) -> Result<(), SearchError<S::Error>> {
    let mut scratch = Scratch::new(u32::MAX);
    let mut replies = vec![None; agents.len()];
    let Worth { paid, scales } = worth;
    scratch.begin(paid);
    for played in 0.. {
        let players = state.active_players()?;
        if !players.contains(viewer) && (players.is_empty() || state.is_decided(viewer)?) {
            scratch.end(state, Players::all(paid.len()), paid)?;
            break;
        }
        if played >= plies && players.contains(viewer) {
            let settled = decided(state, Players::all(paid.len()))?;
            if !settled.is_empty() {
                scratch.end(state, settled, paid)?;
            }
            break;
        }
        for player in players.iter() {
            if let Some(Some(agent)) = agents.get_mut(player) {
                replies[player] = Some(agent.act(state, player, rng)?);
            }
        }
        scratch.draw_joint(state, players, |player| replies.get(player).copied().flatten(), rng)?;
        scratch.step(state, discount, paid)?;
    }
    scales.copy_from_slice(&scratch.scales);
    Ok(())
}
