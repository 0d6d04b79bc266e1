//! Adapter for games written in Python.

use crate::game::{unlawful, Binding};
use moemcts_tree::{Action, NoAgent, Player, Players, State, CHANCE};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Allowed excess of low-precision returns beyond [-1, 1].
const TOLERANCE: f32 = 1e-3;

/// Maximum number of characters of a value shown in an error.
const MAX_SHOWN: usize = 100;

/// The error for a `play` that returns the position that it was called on, as `moemcts.game.after_step` has it.
const PLAYED_IN_PLACE: &str =
    "expected play to return a new position and to leave its own unchanged, the game gave its own";

/// The default `State.rewards`, which returns zeros.
static NO_REWARDS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// A Python state; every method calls into the interpreter.
pub struct PythonState {
    state: Py<PyAny>,
    /// Whether its class overrides `rewards`; the others are not asked.
    pays: bool,
}

impl Clone for PythonState {
    fn clone(&self) -> Self {
        Python::attach(|py| Self { state: self.state.clone_ref(py), pays: self.pays })
    }
}

impl State for PythonState {
    type Error = PyErr;
    const HAS_REWARDS: bool = true;

    fn ply(&self) -> PyResult<u32> {
        Python::attach(|py| {
            let ply = self.state.bind(py).getattr(intern!(py, "ply"))?;
            ply.extract().map_err(refused(&ply, "a ply, an integer of at least 0"))
        })
    }

    fn active_players(&self) -> PyResult<Players> {
        Python::attach(|py| {
            let mut players = Players::NONE;
            let given = self.state.bind(py).getattr(intern!(py, "active_players"))?;
            let wanted = "active players, numbers";
            for player in given.try_iter().map_err(refused(&given, wanted))? {
                let player = player?;
                let number = player.extract().map_err(refused(&player, wanted))?;
                players = players.with(crate::game::player(number).map_err(refused(&player, wanted))?);
            }
            Ok(players)
        })
    }

    fn legal_actions(&self, player: Player, out: &mut Vec<Action>) -> PyResult<()> {
        self.actions(player, out, |py| intern!(py, "legal_actions"))
    }

    fn search_actions(&self, player: Player, out: &mut Vec<Action>) -> PyResult<()> {
        self.actions(player, out, |py| intern!(py, "search_actions"))
    }

    fn play(&mut self, joint: &[Action]) -> PyResult<()> {
        Python::attach(|py| {
            let before = self.state.bind(py);
            let after = before.call_method1(intern!(py, "play"), (joint.to_vec(),))?;
            if after.is(before) {
                return Err(unlawful(py, PLAYED_IN_PLACE.to_string()));
            }
            if !after.get_type().is(before.get_type()) {
                self.pays = pays(&after)?;
            }
            self.state = after.unbind();
            Ok(())
        })
    }

    fn returns(&self, out: &mut [f32]) -> PyResult<()> {
        Python::attach(|py| {
            let given = self.state.bind(py).call_method0(intern!(py, "returns"))?;
            write(&given, "returns", out)?;
            if out.iter().any(|number| number.abs() > 1.0 + TOLERANCE) {
                return Err(unlawful(py, format!("expected returns in [-1, 1], the game gave {out:?}")));
            }
            Ok(())
        })
    }

    fn rewards(&self, out: &mut [f32]) -> PyResult<()> {
        if !self.pays {
            return Ok(());
        }
        Python::attach(|py| write(&self.state.bind(py).call_method0(intern!(py, "rewards"))?, "rewards", out))
    }

    fn chances(&self, out: &mut Vec<f32>) -> PyResult<()> {
        Python::attach(|py| {
            let chances = self.state.bind(py).call_method0(intern!(py, "chances"))?;
            out.extend(chances.extract::<Vec<f32>>().map_err(refused(&chances, "chances, numbers"))?);
            Ok(())
        })
    }

    fn is_decided(&self, player: Player) -> PyResult<bool> {
        Python::attach(|py| {
            let is_decided = self.state.bind(py).call_method1(intern!(py, "is_decided"), (player,))?;
            is_decided.extract().map_err(refused(&is_decided, "whether a player is decided, True or False"))
        })
    }

    fn key(&self) -> PyResult<u64> {
        Python::attach(|py| {
            let key = self.state.bind(py).call_method0(intern!(py, "key"))?;
            // Python's `hash` is negative for half of all positions; its 64 bits are reinterpreted.
            let signed = |error| key.extract::<i64>().map(i64::cast_unsigned).map_err(|_| error);
            key.extract().or_else(signed).map_err(refused(&key, "a 64-bit integer as key"))
        })
    }
}

impl PythonState {
    fn actions(
        &self,
        player: Player,
        out: &mut Vec<Action>,
        method: impl Fn(Python<'_>) -> &Bound<'_, pyo3::types::PyString>,
    ) -> PyResult<()> {
        Python::attach(|py| {
            let player = if player == CHANCE { -1 } else { player as i64 };
            let actions = self.state.bind(py).call_method1(method(py), (player,))?;
            let wanted = "actions, integers of at least 0";
            for action in actions.try_iter().map_err(refused(&actions, wanted))? {
                let action = action?;
                out.push(action.extract().map_err(refused(&action, wanted))?);
            }
            Ok(())
        })
    }
}

/// Returns whether a state's class overrides `rewards`.
fn pays(state: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = state.py();
    let nothing = NO_REWARDS.import(py, "moemcts.game", "NO_REWARDS")?;
    let Some(rewards) = state.get_type().getattr_opt(intern!(py, "rewards"))? else {
        return Err(unlawful(py, format!("expected a position, the game gave {}", shown(state))));
    };
    Ok(!rewards.is(nothing))
}

/// Writes the game's numbers, one per player.
fn write(given: &Bound<'_, PyAny>, what: &str, out: &mut [f32]) -> PyResult<()> {
    let wanted = format!("{what} of {} players, all finite numbers", out.len());
    let numbers: Vec<f32> = given.extract().map_err(refused(given, &wanted))?;
    if numbers.len() != out.len() || numbers.iter().any(|number| !number.is_finite()) {
        return Err(unlawful(given.py(), format!("expected {wanted}, the game gave {numbers:?}")));
    }
    out.copy_from_slice(&numbers);
    Ok(())
}

/// Returns a function that converts Python's type and value errors about a game's value to UnlawfulGame; other errors
/// are kept.
fn refused<'a>(given: &'a Bound<'_, PyAny>, wanted: &'a str) -> impl FnOnce(PyErr) -> PyErr + 'a {
    move |error| {
        let py = given.py();
        let complaints =
            [py.get_type::<PyTypeError>(), py.get_type::<PyOverflowError>(), py.get_type::<PyValueError>()];
        if !complaints.iter().any(|kind| error.is_instance(py, kind)) {
            return error;
        }
        unlawful(py, format!("expected {wanted}, the game gave {}", shown(given)))
    }
}

/// Returns the representation of a value in errors.
fn shown(given: &Bound<'_, PyAny>) -> String {
    let text = given.repr().map_or_else(|_| given.get_type().to_string(), |text| text.to_string());
    text.chars().take(MAX_SHOWN).collect()
}

/// The game, which can create views.
pub struct PythonBinding(Py<PyAny>);

impl PythonBinding {
    pub fn new(game: Py<PyAny>) -> Self {
        Self(game)
    }
}

impl Binding for PythonBinding {
    type State = PythonState;
    type Agent = NoAgent;
    const IS_NATIVE: bool = false;

    fn pairs(&self, views: &Bound<'_, PyAny>) -> PyResult<Vec<(PythonState, Player)>> {
        (0..views.len()?)
            .map(|row| {
                let (state, player): (Bound<'_, PyAny>, Player) = views.get_item(row)?.extract()?;
                let pays = pays(&state)?;
                Ok((PythonState { state: state.unbind(), pays }, player))
            })
            .collect()
    }

    fn views<'py>(&self, py: Python<'py>, pairs: Vec<(PythonState, Player)>) -> PyResult<Bound<'py, PyAny>> {
        let pairs: Vec<_> = pairs.into_iter().map(|(state, player)| (state.state, player)).collect();
        self.0.bind(py).call_method1(intern!(py, "views"), (pairs,))
    }

    fn rules_key(&self, _: &PythonState) -> u64 {
        0
    }

    fn agent(&self, object: &Bound<'_, PyAny>) -> PyResult<NoAgent> {
        crate::game::no_agent(object)
    }
}

crate::search_class!(PythonSearch, PythonBinding, |game: &Bound<'_, PyAny>| Ok(PythonBinding(game.clone().unbind())));
