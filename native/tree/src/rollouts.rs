//! Truncated rollouts: play by agents for some steps, to where an evaluator sees more.

use crate::error::SearchError;
use crate::game::{decided, Agent, Player, Players, State};
use crate::playouts::Scratch;
use crate::rng::Rng;

/// What a rollout was worth to each player where it began.
pub struct Worth {
    /// What was paid on the way, and for whom nothing is left to be valued what is decided.
    pub paid: Vec<f64>,
    /// What a value at the end is worth; 0 where nothing is left to be valued.
    pub scales: Vec<f64>,
}

impl Worth {
    pub fn new(num_players: usize) -> Self {
        Self { paid: vec![0.0; num_players], scales: vec![0.0; num_players] }
    }
}

/// Plays on by agents, at random for whom there is none: `plies` steps, and on to where `viewer` moves.
///
/// It ends before where the viewer's return is decided, and nothing is left to be valued then. Where it ends otherwise,
/// nothing is left for those players whose returns are final. The game is taken to end.
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
