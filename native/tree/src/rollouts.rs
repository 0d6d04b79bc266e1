//! Truncated rollouts: play by agents for some steps, to where an evaluator sees more.

use crate::error::SearchError;
use crate::game::{Agent, Player, State};
use crate::playouts::{add, Scratch};
use crate::rng::Rng;

/// Plays on by agents, at random for whom there is none: `plies` steps, and on to where `viewer` moves.
///
/// It ends before where the viewer's return is decided. Leaves in `values` what was paid to each player on the way and,
/// if it ended before, what is decided. Returns what a value at the end is worth where it began, and None where nothing
/// is left to be valued for the viewer.
pub fn roll_out<S: State, A: Agent<S>>(
    state: &mut S,
    viewer: Player,
    plies: u32,
    agents: &mut [Option<A>],
    discount: f64,
    values: &mut [f64],
    rng: &mut Rng,
) -> Result<Option<f64>, SearchError<S::Error>> {
    let mut scratch = Scratch::default();
    let mut replies = vec![None; agents.len()];
    let mut scale = 1.0;
    values.fill(0.0);
    for played in 0.. {
        let players = state.active_players()?;
        if !players.contains(viewer) && (players.is_empty() || state.is_decided(viewer)?) {
            scratch.zero(values.len());
            state.returns(&mut scratch.returns)?;
            add(&scratch.returns, scale, values);
            return Ok(None);
        }
        if played >= plies && players.contains(viewer) {
            break;
        }
        for player in players.iter() {
            if let Some(Some(agent)) = agents.get_mut(player) {
                replies[player] = Some(agent.act(state, player, rng)?);
            }
        }
        scratch.draw_joint(state, players, |player| replies.get(player).copied().flatten(), rng)?;
        scratch.step(state, discount, &mut scale, values)?;
    }
    Ok(Some(scale))
}
