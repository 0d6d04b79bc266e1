//! Chance nodes: outcomes that are sampled rather than chosen.

use crate::error::SearchError;
use crate::game::{Action, State, CHANCE};
use crate::rng::Rng;

/// Largest deviation from 1 of the sum of a node's probabilities.
const TOLERANCE: f64 = 1e-4;

/// Reads the outcomes of a chance node and their probabilities, and checks that these form a distribution.
pub(crate) fn read_outcomes<S: State>(
    state: &S,
    actions: &mut Vec<Action>,
    chances: &mut Vec<f32>,
) -> Result<(), SearchError<S::Error>> {
    actions.clear();
    chances.clear();
    state.legal_actions(CHANCE, actions)?;
    state.chances(chances)?;
    let total: f64 = chances.iter().map(|&chance| f64::from(chance)).sum();
    let is_valid = actions.len() == chances.len() && chances.iter().all(|&chance| chance >= 0.0);
    if is_valid && (total - 1.0).abs() <= TOLERANCE {
        return Ok(());
    }
    Err(SearchError::Chances { num_outcomes: actions.len(), chances: chances.clone() })
}

/// Samples an index from probabilities that sum to one.
pub(crate) fn sample(chances: impl Iterator<Item = f32>, rng: &mut Rng) -> usize {
    let mut rest = rng.uniform();
    let mut last = 0;
    for (i, chance) in chances.enumerate() {
        if chance > 0.0 {
            last = i;
            rest -= f64::from(chance);
            if rest < 0.0 {
                break;
            }
        }
    }
    last
}
