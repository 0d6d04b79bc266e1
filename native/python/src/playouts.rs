//! Random playouts and playout searches, for native views and for games written in Python.

use crate::game::Binding;
use crate::interruption::Interruption;
use crate::python_game::PythonBinding;
use moemcts_tree::{playout, playout_search, Arm, Player, Players, PlayoutConfig, Rng, SearchError, State};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::time::Duration;

/// Actions, visits and value sums of one root.
pub type Arms<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// Validated arguments of random playouts from each view.
struct Playouts<'a, S> {
    pairs: &'a [(S, Player)],
    num_players: usize,
    num: u32,
    seed: u64,
    discount: f64,
    max_plies: u32,
}

/// Validated arguments of one playout search for each view.
struct PlayoutSearches<'a, S> {
    pairs: &'a [(S, Player)],
    num_players: usize,
    seeds: Vec<u64>,
    config: PlayoutConfig,
}

/// Returns the mean returns of `num` random playouts from each view of a native game, by player, `[N, P]`.
///
/// A row depends only on its position, its player and the seed.
pub fn playouts<'py, S: State<Error: Into<PyErr> + Send> + Sync>(
    py: Python<'py>,
    pairs: &[(S, Player)],
    num_players: usize,
    num: u32,
    seed: u64,
    discount: f64,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let playouts = Playouts::new(pairs, num_players, num, seed, discount, u32::MAX)?;
    playouts.table(py, py.detach(|| playouts.means())?)
}

/// Searches each view of a native game by playouts, one after the other.
pub fn search_views<'py, S: State<Error: Into<PyErr> + Send> + Sync>(
    py: Python<'py>,
    pairs: &[(S, Player)],
    num_players: usize,
    seeds: Vec<u64>,
    config: PlayoutConfig,
) -> PyResult<Vec<Arms<'py>>> {
    let searches = PlayoutSearches::new(pairs, num_players, seeds, config)?;
    Ok(arms_to_arrays(py, py.detach(|| searches.run())?))
}

impl<'a, S: State<Error: Into<PyErr>>> Playouts<'a, S> {
    fn new(
        pairs: &'a [(S, Player)],
        num_players: usize,
        num: u32,
        seed: u64,
        discount: f64,
        max_plies: u32,
    ) -> PyResult<Self> {
        if num == 0 {
            return Err(PyValueError::new_err("expected at least one playout, got 0"));
        }
        check_discount(discount)?;
        Ok(Self { pairs, num_players, num, seed, discount, max_plies })
    }

    fn means(&self) -> PyResult<Vec<f32>> {
        let interruption = Interruption::default();
        let mut means = Vec::with_capacity(self.pairs.len() * self.num_players);
        for (state, player) in self.pairs {
            means.extend(
                self.mean_returns(state, *player, &interruption).map_err(|error| interruption.to_exception(error))?,
            );
        }
        Ok(means)
    }

    fn mean_returns(
        &self,
        root: &S,
        player: Player,
        interruption: &Interruption,
    ) -> Result<impl Iterator<Item = f32>, SearchError<S::Error>> {
        let num = self.num;
        let mut rng = Rng::new(self.seed ^ root.key()?.rotate_left(1) ^ (player as u64).rotate_right(1));
        let mut sums = vec![0.0f64; self.num_players];
        let mut values = vec![0.0f64; self.num_players];
        for _ in 0..num {
            if interruption.should_stop() {
                return Err(SearchError::Interrupted);
            }
            let mut state = root.clone();
            let watched = Players::all(self.num_players);
            playout(&mut state, watched, self.discount, self.max_plies, &mut values, &mut rng)?;
            sums.iter_mut().zip(&values).for_each(|(sum, value)| *sum += value);
        }
        Ok(sums.into_iter().map(move |sum| (sum / f64::from(num)) as f32))
    }

    fn table<'py>(&self, py: Python<'py>, means: Vec<f32>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        PyArray1::from_vec(py, means).reshape([self.pairs.len(), self.num_players])
    }
}

impl<'a, S: State<Error: Into<PyErr>>> PlayoutSearches<'a, S> {
    fn new(pairs: &'a [(S, Player)], num_players: usize, seeds: Vec<u64>, config: PlayoutConfig) -> PyResult<Self> {
        if seeds.len() != pairs.len() {
            return Err(PyValueError::new_err(format!("expected {} seeds, got {}", pairs.len(), seeds.len())));
        }
        Ok(Self { pairs, num_players, seeds, config })
    }

    fn run(&self) -> PyResult<Vec<Vec<Arm>>> {
        let interruption = Interruption::default();
        let stop = || interruption.should_stop();
        let roots = self.pairs.iter().zip(&self.seeds);
        roots
            .map(|((state, player), &seed)| {
                playout_search(state, *player, self.num_players, &self.config, &mut Rng::new(seed), &stop)
                    .map_err(|error| interruption.to_exception(error))
            })
            .collect()
    }
}

fn arms_to_arrays(py: Python<'_>, arms_of_roots: Vec<Vec<Arm>>) -> Vec<Arms<'_>> {
    arms_of_roots
        .into_iter()
        .map(|arms| {
            (
                PyArray1::from_iter(py, arms.iter().map(|arm| i64::from(arm.action))),
                PyArray1::from_iter(py, arms.iter().map(|arm| i64::from(arm.visits))),
                PyArray1::from_iter(py, arms.iter().map(|arm| arm.value_sum)),
            )
        })
        .collect()
}

/// Validates the settings that Python passes.
pub fn playout_config(
    playouts: Option<u32>,
    seconds: Option<f64>,
    exploration: Option<f64>,
    depth: Option<u32>,
    discount: f64,
) -> PyResult<PlayoutConfig> {
    let is_invalid = |number: Option<f64>| number.is_some_and(|number| !number.is_finite() || number < 0.0);
    if playouts.is_none() && seconds.is_none() {
        return Err(PyValueError::new_err("expected a limit: playouts or seconds"));
    }
    if playouts == Some(0) || depth == Some(0) || is_invalid(seconds) || is_invalid(exploration) {
        return Err(PyValueError::new_err(format!(
            "expected playouts and depth above 0, seconds and exploration not below, got \
             playouts={playouts:?}, depth={depth:?}, seconds={seconds:?}, exploration={exploration:?}"
        )));
    }
    check_discount(discount)?;
    Ok(PlayoutConfig {
        playouts: playouts.unwrap_or(u32::MAX),
        // Seconds beyond the range of a duration are no limit.
        time: seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        exploration,
        depth: depth.unwrap_or(u32::MAX),
        discount,
        max_plies: u32::MAX,
    })
}

/// Does the same as the views of native games for views `[(state, player)]` of a game written in Python. A game of more
/// than `longest` plies is unlawful.
///
/// The interpreter is not released: every method call on a state would have to wait to reacquire it.
#[pyfunction]
#[pyo3(signature = (views, num_players, longest, num, seed, *, discount=1.0))]
pub fn python_playouts<'py>(
    views: &Bound<'py, PyAny>,
    num_players: usize,
    longest: u64,
    num: u32,
    seed: u64,
    discount: f64,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let pairs = extract_views(views)?;
    let playouts =
        Playouts::new(&pairs, check_num_players(num_players)?, num, seed, discount, saturating_u32(longest))?;
    playouts.table(views.py(), playouts.means()?)
}

/// Does the same as the views of native games for views `[(state, player)]` of a game written in Python; as in
/// `python_playouts`, the interpreter is not released.
#[pyfunction]
#[pyo3(signature = (views, num_players, longest, seeds, *, playouts=None, seconds=None, exploration=None, depth=None,
    discount=1.0))]
#[allow(clippy::too_many_arguments)]
pub fn python_playout_search<'py>(
    views: &Bound<'py, PyAny>,
    num_players: usize,
    longest: u64,
    seeds: Vec<u64>,
    playouts: Option<u32>,
    seconds: Option<f64>,
    exploration: Option<f64>,
    depth: Option<u32>,
    discount: f64,
) -> PyResult<Vec<Arms<'py>>> {
    let config = PlayoutConfig {
        max_plies: saturating_u32(longest),
        ..playout_config(playouts, seconds, exploration, depth, discount)?
    };
    let pairs = extract_views(views)?;
    Ok(arms_to_arrays(views.py(), PlayoutSearches::new(&pairs, check_num_players(num_players)?, seeds, config)?.run()?))
}

fn saturating_u32(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn extract_views(views: &Bound<'_, PyAny>) -> PyResult<Vec<(<PythonBinding as Binding>::State, Player)>> {
    PythonBinding::new(views.clone().unbind()).extract_views(views)
}

/// Raises ValueError unless the discount is in (0, 1].
pub fn check_discount(discount: f64) -> PyResult<()> {
    if 0.0 < discount && discount <= 1.0 {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("expected a discount in (0, 1], got {discount}")))
}

/// Returns the number of players; raises ValueError unless it fits into a set of players.
pub fn check_num_players(num_players: usize) -> PyResult<usize> {
    match num_players {
        1..=Players::MAX => Ok(num_players),
        _ => Err(PyValueError::new_err(format!("expected 1 to {} players, got {num_players}", Players::MAX))),
    }
}
