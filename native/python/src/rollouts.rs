//! Truncated rollouts of native views.

use crate::game::num_players;
use crate::interruption::Interruption;
use crate::playouts::check_discount;
use moemcts_tree::{roll_out as roll_one, Agent, Observe, Player, Rng, RolloutResult, SearchError};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Each player's rewards on the way, plus the decided return of players with nothing left to evaluate, `[N, P]`.
pub type Rewards<'py> = Bound<'py, PyArray2<f32>>;

/// Factor of each player's value of the final position, `[N, P]`; 0 if nothing is left to evaluate.
pub type Scales<'py> = Bound<'py, PyArray2<f32>>;

/// Plays on from each view with an agent per player; returns the final positions, the rewards and the factors.
///
/// A row depends only on its position, its player and the seed.
#[allow(clippy::type_complexity)]
pub fn roll_out<'py, S, A>(
    py: Python<'py>,
    pairs: &[(S, Player)],
    plies: u32,
    agents: &[Option<A>],
    seed: u64,
    discount: f64,
) -> PyResult<(Vec<(S, Player)>, Rewards<'py>, Scales<'py>)>
where
    S: Observe<Error: Into<PyErr> + Send> + Send + Sync,
    A: Agent<S> + Sync,
{
    let num_players = num_players(pairs);
    if !pairs.is_empty() && agents.len() != num_players {
        let got = agents.len();
        return Err(PyValueError::new_err(format!(
            "expected an agent or None for each of {num_players} players, got {got}"
        )));
    }
    check_discount(discount)?;
    let interruption = Interruption::default();
    let results: Result<_, SearchError<S::Error>> = py.detach(|| {
        let mut ends = Vec::with_capacity(pairs.len());
        let mut rewards = Vec::with_capacity(pairs.len() * agents.len());
        let mut scales = Vec::with_capacity(pairs.len() * agents.len());
        let mut result = RolloutResult::new(agents.len());
        for (state, player) in pairs {
            if interruption.should_stop() {
                return Err(SearchError::Interrupted);
            }
            let mut rng = Rng::new(seed ^ state.key()?.rotate_left(1) ^ (*player as u64).rotate_right(1));
            let mut state = state.clone();
            let mut agents = agents.to_vec();
            roll_one(&mut state, *player, plies, &mut agents, discount, &mut result, &mut rng)?;
            ends.push((state, *player));
            rewards.extend(result.rewards.iter().map(|&value| value as f32));
            scales.extend(result.scales.iter().map(|&scale| scale as f32));
        }
        Ok((ends, rewards, scales))
    });
    let (ends, rewards, scales) = results.map_err(|error| interruption.to_exception(error))?;
    let table = |numbers| PyArray1::from_vec(py, numbers).reshape([pairs.len(), agents.len()]);
    Ok((ends, table(rewards)?, table(scales)?))
}
