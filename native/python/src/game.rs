//! Shared implementation of the State, Views and Search classes of native games.

use moemcts_tree::memory::zeros;
use moemcts_tree::{Action, Agent, Observe, Player, Players, SearchError, State, CHANCE};
use numpy::{PyArray1, PyArray2, PyArray3, PyArray4, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};
use pyo3::BoundObject;

/// Conversion of a game's values from and to Python.
pub trait Binding: Send + Sync + 'static {
    type State: State<Error: Into<PyErr> + Send> + Send + Sync + 'static;
    type Agent: Agent<Self::State> + Send + Sync + 'static;
    /// Whether the game runs without the interpreter, and so in parallel.
    const IS_NATIVE: bool;

    /// Returns copies of the views in a Python object.
    fn extract_views(&self, views: &Bound<'_, PyAny>) -> PyResult<Vec<(Self::State, Player)>>;

    /// Returns views as a Python object.
    fn new_views<'py>(&self, py: Python<'py>, pairs: Vec<(Self::State, Player)>) -> PyResult<Bound<'py, PyAny>>;

    /// Returns a 64-bit hash of the rules and encodings of a state's game; 0 for a game written in Python.
    fn rules_key(&self, state: &Self::State) -> u64;

    /// Returns the native agent in a Python object.
    fn extract_agent(&self, object: &Bound<'_, PyAny>) -> PyResult<Self::Agent>;
}

/// `moemcts.errors.UnlawfulGame`, a ValueError.
static UNLAWFUL_GAME: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// `moemcts.game.View`.
static VIEW: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Converts a search error to the exception that Python code expects.
pub fn search_error<E: Into<PyErr>>(error: SearchError<E>) -> PyErr {
    match error {
        SearchError::Game(error) => error.into(),
        SearchError::Replies { .. } => PyRuntimeError::new_err(error.to_string()),
        error if error.is_contract_violation() => Python::attach(|py| unlawful_game(py, error.to_string())),
        error => PyValueError::new_err(error.to_string()),
    }
}

/// Returns the exception for a violation of the contract of games.
pub fn unlawful_game(py: Python<'_>, reason: String) -> PyErr {
    match UNLAWFUL_GAME.import(py, "moemcts.errors", "UnlawfulGame") {
        Ok(kind) => PyErr::from_type(kind.clone(), reason),
        Err(error) => error,
    }
}

/// Returns the exception for roots that are no views of a search's game.
pub fn not_views(expected: &str, object: &Bound<'_, PyAny>) -> PyErr {
    let kind = object.get_type().name().map_or_else(|_| "another type".into(), |name| name.to_string());
    PyTypeError::new_err(format!("expected {expected}, as views of the search's game are, got {kind}"))
}

/// Returns players as Python numbers them: chance is -1.
pub fn player_numbers(players: Players) -> Vec<i64> {
    players.iter().map(|player| if player == CHANCE { -1 } else { player as i64 }).collect()
}

/// Converts a player number from Python, with -1 as chance.
pub fn parse_player(number: i64) -> PyResult<Player> {
    if number == -1 {
        return Ok(CHANCE);
    }
    player_below(Players::MAX, number).map_err(PyValueError::new_err)
}

/// Converts a player number from Python; raises ValueError unless it is a player of the state's game.
pub fn parse_seat<S: Observe>(state: &S, number: i64) -> PyResult<Player> {
    player_below(state.dimensions().num_players, number).map_err(PyValueError::new_err)
}

/// Returns the player of this number; the error says what was expected.
pub fn player_below(num_players: usize, number: i64) -> Result<Player, String> {
    let player = usize::try_from(number).ok().filter(|&player| player < num_players);
    player.ok_or_else(|| format!("expected a player below {num_players}, got {number}"))
}

/// Converts action numbers from Python, without a check whether they are legal.
pub fn parse_actions(numbers: &[i64]) -> PyResult<Vec<Action>> {
    let action = |&number: &i64| Action::try_from(number).map_err(|_| number);
    numbers.iter().map(action).collect::<Result<_, _>>().map_err(|number| {
        PyValueError::new_err(format!("expected legal actions, integers of at least 0, got {number}"))
    })
}

pub fn active_players<S: State<Error: Into<PyErr>>>(state: &S) -> PyResult<Players> {
    state.active_players().map_err(Into::into)
}

pub fn legal_actions<S: State<Error: Into<PyErr>>>(state: &S, player: Player) -> PyResult<Vec<Action>> {
    check_active(state, player)?;
    let mut actions = Vec::new();
    state.legal_actions(player, &mut actions).map_err(Into::into)?;
    Ok(actions)
}

pub fn search_actions<S: State<Error: Into<PyErr>>>(state: &S, player: Player) -> PyResult<Vec<Action>> {
    check_active(state, player)?;
    let mut actions = Vec::new();
    state.search_actions(player, &mut actions).map_err(Into::into)?;
    Ok(actions)
}

/// Returns the position after a joint action; raises ValueError unless each active player has one legal action, or if
/// the game is over.
pub fn play<S: State<Error: Into<PyErr>>>(state: &S, joint: &[Action]) -> PyResult<S> {
    let players = active_players(state)?;
    if players.is_empty() {
        // An empty joint action would match zero active players, but a game that is over cannot be played.
        return Err(PyValueError::new_err("expected a position in which the game goes on, got one where it is over"));
    }
    if joint.len() != players.len() {
        return Err(PyValueError::new_err(format!(
            "expected one action for each of the active players {:?}, got {joint:?}",
            player_numbers(players)
        )));
    }
    for (player, action) in players.iter().zip(joint) {
        let legal = legal_actions(state, player)?;
        if !legal.contains(action) {
            return Err(PyValueError::new_err(format!(
                "expected a legal action of {}, one of {legal:?}, got {action}",
                player_name(player)
            )));
        }
    }
    let mut child = state.clone();
    child.play(joint).map_err(Into::into)?;
    Ok(child)
}

pub fn returns<'py, S: Observe<Error: Into<PyErr>>>(py: Python<'py>, state: &S) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let mut out = vec![0.0; state.dimensions().num_players];
    state.returns(&mut out).map_err(Into::into)?;
    Ok(PyArray1::from_vec(py, out))
}

pub fn rewards<'py, S: Observe<Error: Into<PyErr>>>(py: Python<'py>, state: &S) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let mut out = vec![0.0; state.dimensions().num_players];
    state.rewards(&mut out).map_err(Into::into)?;
    Ok(PyArray1::from_vec(py, out))
}

/// Returns the probabilities of the outcomes of chance; raises ValueError if the position is not a chance node.
pub fn chances<'py, S: State<Error: Into<PyErr>>>(py: Python<'py>, state: &S) -> PyResult<Bound<'py, PyArray1<f32>>> {
    if !active_players(state)?.contains(CHANCE) {
        return Err(PyValueError::new_err("expected a position where chance moves"));
    }
    let mut out = Vec::new();
    state.chances(&mut out).map_err(Into::into)?;
    Ok(PyArray1::from_vec(py, out))
}

pub fn is_decided<S: Observe<Error: Into<PyErr>>>(state: &S, player: i64) -> PyResult<bool> {
    state.is_decided(parse_seat(state, player)?).map_err(Into::into)
}

pub fn observation<'py, S: Observe<Error: Into<PyErr>>>(
    py: Python<'py>,
    state: &S,
    player: i64,
) -> PyResult<Bound<'py, PyArray3<f32>>> {
    let player = parse_seat(state, player)?;
    let shape = state.dimensions().observation;
    let mut out = vec![0.0; shape.iter().product()];
    state.observe(player, &mut out).map_err(Into::into)?;
    PyArray1::from_vec(py, out).reshape(shape)
}

/// Encodes all views without the interpreter, `[N, C, H, W]`, in the first rows of `out` or in a new array.
pub fn observations<'py, S: Observe<Error: Into<PyErr> + Send> + Sync>(
    py: Python<'py>,
    pairs: &[(S, Player)],
    out: Option<Bound<'py, PyArray4<f32>>>,
) -> PyResult<Bound<'py, PyArray4<f32>>> {
    let shape = pairs.first().map_or([0; 3], |(state, _)| state.dimensions().observation);
    encode_planes(py, pairs.len(), shape, out, |row, planes| {
        let (state, player) = &pairs[row];
        state.observe(*player, planes).map_err(Into::into)
    })
}

/// Returns the planes that `observe` writes for each row, `[N, C, H, W]`; it gets planes of zeros.
///
/// They are in the first rows of `out`, which is `[M, C, H, W]` with `M >= N`, or in a new array.
pub fn encode_planes<'py>(
    py: Python<'py>,
    num: usize,
    [c, h, w]: [usize; 3],
    out: Option<Bound<'py, PyArray4<f32>>>,
    observe: impl Fn(usize, &mut [f32]) -> PyResult<()> + Send + Sync,
) -> PyResult<Bound<'py, PyArray4<f32>>> {
    let size = (c * h * w).max(1);
    let write = |planes: &mut [f32], is_zero: bool| {
        planes.chunks_exact_mut(size).take(num).enumerate().try_for_each(|(row, planes)| {
            if !is_zero {
                planes.fill(0.0);
            }
            observe(row, planes)
        })
    };
    let Some(out) = out else {
        let mut planes = zeros(num * c * h * w);
        py.detach(|| write(&mut planes, true))?;
        return PyArray1::from_vec(py, planes).reshape([num, c, h, w]);
    };
    if out.shape()[0] < num || num > 0 && out.shape()[1..] != [c, h, w] {
        return Err(PyValueError::new_err(format!(
            "expected out [{num} or more, {c}, {h}, {w}], got {:?}",
            out.shape()
        )));
    }
    {
        let mut array = out.try_readwrite().map_err(|error| PyValueError::new_err(error.to_string()))?;
        let planes = array.as_slice_mut().map_err(|_| PyValueError::new_err("expected out to be contiguous"))?;
        py.detach(|| write(planes, false))?;
    }
    let rows = pyo3::types::PySlice::new(py, 0, num as isize, 1);
    out.as_any().get_item(rows)?.cast_into::<PyArray4<f32>>().map_err(Into::into)
}

/// Returns the keys of native positions; releases the interpreter.
pub fn keys<'py, S: State<Error: Into<PyErr> + Send> + Sync>(
    py: Python<'py>,
    pairs: &[(S, Player)],
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let keys: Result<_, S::Error> = py.detach(|| pairs.iter().map(|(state, _)| state.key()).collect());
    Ok(PyArray1::from_vec(py, keys.map_err(Into::into)?))
}

/// Returns the legal actions of the viewers of native positions, `[N, A]`; releases the interpreter.
pub fn legal_mask<'py, S: Observe<Error: Into<PyErr> + Send> + Sync>(
    py: Python<'py>,
    pairs: &[(S, Player)],
) -> PyResult<Bound<'py, PyArray2<bool>>> {
    let num_actions = pairs.first().map_or(0, |(state, _)| state.dimensions().num_actions);
    let mask: Result<_, S::Error> = py.detach(|| {
        let mut out = vec![false; pairs.len() * num_actions];
        let mut actions = Vec::new();
        for (row, (state, player)) in out.chunks_exact_mut(num_actions.max(1)).zip(pairs) {
            if state.active_players()?.contains(*player) {
                actions.clear();
                state.legal_actions(*player, &mut actions)?;
                actions.iter().for_each(|&action| row[action as usize] = true);
            }
        }
        Ok(out)
    });
    PyArray1::from_vec(py, mask.map_err(Into::into)?).reshape([pairs.len(), num_actions])
}

/// Returns views; raises ValueError for positions of different dimensions.
pub fn checked_pairs<S: Observe>(views: impl Iterator<Item = PyResult<(S, Player)>>) -> PyResult<Vec<(S, Player)>> {
    let mut pairs = Vec::with_capacity(views.size_hint().0);
    let mut first = None;
    for pair in views {
        let (state, player) = pair?;
        let dimensions = state.dimensions();
        let expected = *first.get_or_insert(dimensions);
        if dimensions != expected {
            return Err(PyValueError::new_err(format!(
                "expected positions of one variant, got {} players, {} actions and planes {:?}, and {}, {} and {:?}",
                expected.num_players,
                expected.num_actions,
                expected.observation,
                dimensions.num_players,
                dimensions.num_actions,
                dimensions.observation
            )));
        }
        pairs.push((state, player));
    }
    Ok(pairs)
}

/// Packed positions: the bytes of all of them, and the offsets, including the end of the last.
pub type PackedRows<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<i64>>);

/// Packs positions; `pack` appends the bytes of one.
pub fn pack_rows<'py, S>(
    py: Python<'py>,
    states: impl Iterator<Item = S>,
    pack: impl Fn(S, &mut Vec<u8>),
) -> PackedRows<'py> {
    let mut data = Vec::new();
    let mut offsets = vec![0];
    for state in states {
        pack(state, &mut data);
        offsets.push(data.len() as i64);
    }
    (PyArray1::from_vec(py, data), PyArray1::from_vec(py, offsets))
}

/// Returns the bytes of each row; raises ValueError unless offsets ascend within the data.
pub fn split_rows<'a>(data: &'a [u8], offsets: &[i64]) -> PyResult<Vec<&'a [u8]>> {
    let row = |bounds: &[i64]| data.get(usize::try_from(bounds[0]).ok()?..usize::try_from(bounds[1]).ok()?);
    offsets
        .windows(2)
        .map(|bounds| {
            row(bounds).ok_or_else(|| PyValueError::new_err(format!("expected ascending offsets, got {bounds:?}")))
        })
        .collect()
}

/// Returns the bytes and the viewer of each row; raises ValueError if the number of players differs.
pub fn split_views<'a>(data: &'a [u8], offsets: &[i64], players: &[i64]) -> PyResult<Vec<(&'a [u8], i64)>> {
    let rows = split_rows(data, offsets)?;
    if rows.len() != players.len() {
        return Err(PyValueError::new_err(format!("expected {} players, got {}", rows.len(), players.len())));
    }
    Ok(rows.into_iter().zip(players.iter().copied()).collect())
}

/// Unpacks positions without the interpreter and returns their views; raises ValueError with the row number if `unpack`
/// fails or the viewer is not a player of the game.
pub fn unpack_rows<S: Observe + Send>(
    py: Python<'_>,
    data: &[u8],
    offsets: &[i64],
    players: &[i64],
    unpack: impl Fn(&[u8]) -> Result<S, String> + Send + Sync,
) -> PyResult<Vec<(S, Player)>> {
    let views = split_views(data, offsets, players)?;
    let unpack_view = |(bytes, player): &(&[u8], i64)| {
        let state = unpack(bytes)?;
        let player = player_below(state.dimensions().num_players, *player)?;
        Ok((state, player))
    };
    let unpack_row = |(row, view)| unpack_view(view).map_err(|error: String| format!("row {row}: {error}"));
    let states: Result<Vec<_>, _> = py.detach(|| views.iter().enumerate().map(unpack_row).collect());
    checked_pairs(states.map_err(PyValueError::new_err)?.into_iter().map(Ok))
}

/// Returns the number of players of the views' game, or 0 without views.
pub fn num_players<S: Observe>(pairs: &[(S, Player)]) -> usize {
    pairs.first().map_or(0, |(state, _)| state.dimensions().num_players)
}

/// Returns the given rows in that order; raises IndexError if there is no such row.
pub fn take_rows<S: Clone>(pairs: &[(S, Player)], rows: &[i64]) -> PyResult<Vec<(S, Player)>> {
    rows.iter().map(|&number| Ok(pairs[parse_row(number, pairs.len())?].clone())).collect()
}

/// Converts a row number from Python; raises IndexError if there is no such row.
pub fn parse_row(number: i64, len: usize) -> PyResult<usize> {
    usize::try_from(number).ok().filter(|&row| row < len).ok_or_else(|| {
        pyo3::exceptions::PyIndexError::new_err(format!("expected a row of at least 0 and below {len}, got {number}"))
    })
}

/// Returns row numbers given as an array or a list, without a range check.
pub fn parse_rows(object: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    if let Ok(array) = object.cast::<PyArray1<i64>>() {
        return Ok(array.readonly().as_array().iter().copied().collect());
    }
    object.extract()
}

/// Returns a Python `View(state, player)`.
pub fn new_view<'py>(py: Python<'py>, state: impl IntoPyObject<'py>, player: Player) -> PyResult<Bound<'py, PyAny>> {
    let state = state.into_pyobject(py).map_err(Into::into)?.into_any().unbind();
    let class = VIEW.import(py, "moemcts.game", "View")?;
    class.call1(PyTuple::new(py, [state, player.into_pyobject(py)?.into_any().unbind()])?)
}

/// Returns how errors name a player.
fn player_name(player: Player) -> String {
    if player == CHANCE {
        "chance".to_owned()
    } else {
        format!("player {player}")
    }
}

fn check_active<S: State<Error: Into<PyErr>>>(state: &S, player: Player) -> PyResult<()> {
    let players = active_players(state)?;
    if players.contains(player) {
        return Ok(());
    }
    let (players, got) = (player_numbers(players), player_numbers(Players::one(player)));
    Err(PyValueError::new_err(format!("expected one of the active players {players:?}, got {}", got[0])))
}

/// Rejects agents for games without native ones.
pub fn reject_agent(object: &Bound<'_, PyAny>) -> PyResult<moemcts_tree::NoAgent> {
    Err(PyValueError::new_err(format!("this game has no native agents, got {object}")))
}
