//! Random playouts and the searches that rest on them, for native views and for games written in Python.

use crate::game::Binding;
use crate::python_game::PythonBinding;
use crate::signals::Signals;
use moemcts_tree::{playout, playout_search, Arm, Player, Players, PlayoutConfig, Rng, SearchError, State};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::time::Duration;

/// Actions, visits and sums of values of one root.
pub type Arms<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// Returns the mean returns of `num` random playouts from each view, by player, `[N, P]`.
///
/// A row depends on its position, its player and the seed.
pub fn playouts<'py, S: State<Error: Into<PyErr> + Send> + Sync>(
    py: Python<'py>,
    pairs: &[(S, Player)],
    num_players: usize,
    num: u32,
    seed: u64,
    discount: f64,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    if num == 0 {
        return Err(PyValueError::new_err("expected at least one playout, got 0"));
    }
    check_discount(discount)?;
    let signals = Signals::default();
    let means: Result<Vec<f32>, SearchError<S::Error>> = py.detach(|| {
        let mut means = Vec::with_capacity(pairs.len() * num_players);
        for (state, player) in pairs {
            means.extend(mean_returns(state, *player, num_players, num, seed, discount, &signals)?);
        }
        Ok(means)
    });
    PyArray1::from_vec(py, means.map_err(|error| signals.error(error))?).reshape([pairs.len(), num_players])
}

/// Searches each view by playouts, one after the other.
pub fn search_views<'py, S: State<Error: Into<PyErr> + Send> + Sync>(
    py: Python<'py>,
    pairs: &[(S, Player)],
    num_players: usize,
    seeds: Vec<u64>,
    config: PlayoutConfig,
) -> PyResult<Vec<Arms<'py>>> {
    if seeds.len() != pairs.len() {
        return Err(PyValueError::new_err(format!("expected {} seeds, got {}", pairs.len(), seeds.len())));
    }
    let signals = Signals::default();
    let found: Result<Vec<Vec<Arm>>, _> = py.detach(|| {
        let roots = pairs.iter().zip(seeds);
        roots
            .map(|((state, player), seed)| {
                playout_search(state, *player, num_players, &config, &mut Rng::new(seed), &|| signals.came())
                    .map_err(|error| signals.error(error))
            })
            .collect()
    });
    Ok(found?
        .into_iter()
        .map(|arms| {
            (
                PyArray1::from_iter(py, arms.iter().map(|arm| i64::from(arm.action))),
                PyArray1::from_iter(py, arms.iter().map(|arm| i64::from(arm.visits))),
                PyArray1::from_iter(py, arms.iter().map(|arm| arm.value_sum)),
            )
        })
        .collect())
}

/// Checks the numbers that Python gives.
pub fn config(
    playouts: Option<u32>,
    seconds: Option<f64>,
    exploration: Option<f64>,
    depth: Option<u32>,
    discount: f64,
) -> PyResult<PlayoutConfig> {
    let is_bad = |number: Option<f64>| number.is_some_and(|number| !number.is_finite() || number < 0.0);
    if playouts.is_none() && seconds.is_none() {
        return Err(PyValueError::new_err("expected a limit: playouts or seconds"));
    }
    if playouts == Some(0) || depth == Some(0) || is_bad(seconds) || is_bad(exploration) {
        return Err(PyValueError::new_err(format!(
            "expected playouts and depth above 0, seconds and exploration not below, got \
             playouts={playouts:?}, depth={depth:?}, seconds={seconds:?}, exploration={exploration:?}"
        )));
    }
    check_discount(discount)?;
    Ok(PlayoutConfig {
        playouts: playouts.unwrap_or(u32::MAX),
        // A time that no clock can hold is no limit.
        time: seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        exploration,
        depth: depth.unwrap_or(u32::MAX),
        discount,
    })
}

/// Does what the views of native games do, for views `[(state, player)]` of a game written in Python.
#[pyfunction]
#[pyo3(signature = (views, num_players, num, seed, *, discount=1.0))]
pub fn python_playouts<'py>(
    views: &Bound<'py, PyAny>,
    num_players: usize,
    num: u32,
    seed: u64,
    discount: f64,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    playouts(views.py(), &pairs(views)?, checked(num_players)?, num, seed, discount)
}

/// Does what the views of native games do, for views `[(state, player)]` of a game written in Python.
#[pyfunction]
#[pyo3(signature = (views, num_players, seeds, *, playouts=None, seconds=None, exploration=None, depth=None, discount=1.0))]
#[allow(clippy::too_many_arguments)]
pub fn python_playout_search<'py>(
    views: &Bound<'py, PyAny>,
    num_players: usize,
    seeds: Vec<u64>,
    playouts: Option<u32>,
    seconds: Option<f64>,
    exploration: Option<f64>,
    depth: Option<u32>,
    discount: f64,
) -> PyResult<Vec<Arms<'py>>> {
    let config = config(playouts, seconds, exploration, depth, discount)?;
    search_views(views.py(), &pairs(views)?, checked(num_players)?, seeds, config)
}

fn pairs(views: &Bound<'_, PyAny>) -> PyResult<Vec<(<PythonBinding as Binding>::State, Player)>> {
    PythonBinding::new(views.clone().unbind()).pairs(views)
}

/// Raises ValueError for what is no discount.
pub fn check_discount(discount: f64) -> PyResult<()> {
    if 0.0 < discount && discount <= 1.0 {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("expected a discount in (0, 1], got {discount}")))
}

/// Returns a number of players that a set of them holds; raises ValueError for others.
pub fn checked(num_players: usize) -> PyResult<usize> {
    match num_players {
        1..=Players::MAX => Ok(num_players),
        _ => Err(PyValueError::new_err(format!("expected 1 to {} players, got {num_players}", Players::MAX))),
    }
}

fn mean_returns<S: State>(
    root: &S,
    player: Player,
    num_players: usize,
    num: u32,
    seed: u64,
    discount: f64,
    signals: &Signals,
) -> Result<impl Iterator<Item = f32>, SearchError<S::Error>> {
    let mut rng = Rng::new(seed ^ root.key()?.rotate_left(1) ^ (player as u64).rotate_right(1));
    let mut sums = vec![0.0f64; num_players];
    let mut values = vec![0.0f64; num_players];
    for _ in 0..num {
        if signals.came() {
            return Err(SearchError::Interrupted);
        }
        let mut state = root.clone();
        playout(&mut state, Players::all(num_players), discount, &mut values, &mut rng)?;
        sums.iter_mut().zip(&values).for_each(|(sum, value)| *sum += value);
    }
    Ok(sums.into_iter().map(move |sum| (sum / f64::from(num)) as f32))
}
