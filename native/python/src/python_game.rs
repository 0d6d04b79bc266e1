//! Adapter for games written in Python.

use crate::game::{unlawful_game, Binding};
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
    has_rewards: bool,
}

impl Clone for PythonState {
    fn clone(&self) -> Self {
        Python::attach(|py| Self { state: self.state.clone_ref(py), has_rewards: self.has_rewards })
    }
}

impl State for PythonState {
    type Error = PyErr;
    const HAS_REWARDS: bool = true;

    fn ply(&self) -> PyResult<u32> {
        Python::attach(|py| {
            let ply = self.state.bind(py).getattr(intern!(py, "ply"))?;
            ply.extract().map_err(unlawful_value(&ply, "a ply, an integer of at least 0"))
        })
    }

    fn active_players(&self) -> PyResult<Players> {
        Python::attach(|py| {
            let mut players = Players::NONE;
            let value = self.state.bind(py).getattr(intern!(py, "active_players"))?;
            let expected = "active players, numbers";
            for player in value.try_iter().map_err(unlawful_value(&value, expected))? {
                let player = player?;
                let number = player.extract().map_err(unlawful_value(&player, expected))?;
                players = players.with(crate::game::parse_player(number).map_err(unlawful_value(&player, expected))?);
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
            let state = self.state.bind(py);
            let next_state = state.call_method1(intern!(py, "play"), (joint.to_vec(),))?;
            if next_state.is(state) {
                return Err(unlawful_game(py, PLAYED_IN_PLACE.to_string()));
            }
            if !next_state.get_type().is(state.get_type()) {
                self.has_rewards = overrides_rewards(&next_state)?;
            }
            self.state = next_state.unbind();
            Ok(())
        })
    }

    fn returns(&self, out: &mut [f32]) -> PyResult<()> {
        Python::attach(|py| {
            let value = self.state.bind(py).call_method0(intern!(py, "returns"))?;
            write_numbers(&value, "returns", out)?;
            if out.iter().any(|number| number.abs() > 1.0 + TOLERANCE) {
                return Err(unlawful_game(py, format!("expected returns in [-1, 1], the game gave {out:?}")));
            }
            Ok(())
        })
    }

    fn rewards(&self, out: &mut [f32]) -> PyResult<()> {
        if !self.has_rewards {
            return Ok(());
        }
        Python::attach(|py| write_numbers(&self.state.bind(py).call_method0(intern!(py, "rewards"))?, "rewards", out))
    }

    fn chances(&self, out: &mut Vec<f32>) -> PyResult<()> {
        Python::attach(|py| {
            let chances = self.state.bind(py).call_method0(intern!(py, "chances"))?;
            out.extend(chances.extract::<Vec<f32>>().map_err(unlawful_value(&chances, "chances, numbers"))?);
            Ok(())
        })
    }

    fn is_decided(&self, player: Player) -> PyResult<bool> {
        Python::attach(|py| {
            let is_decided = self.state.bind(py).call_method1(intern!(py, "is_decided"), (player,))?;
            is_decided.extract().map_err(unlawful_value(&is_decided, "whether a player is decided, True or False"))
        })
    }

    fn key(&self) -> PyResult<u64> {
        Python::attach(|py| {
            let key = self.state.bind(py).call_method0(intern!(py, "key"))?;
            // Python's `hash` is negative for half of all positions; its 64 bits are reinterpreted.
            let signed = |error| key.extract::<i64>().map(i64::cast_unsigned).map_err(|_| error);
            key.extract().or_else(signed).map_err(unlawful_value(&key, "a 64-bit integer as key"))
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
            let expected = "actions, integers of at least 0";
            for action in actions.try_iter().map_err(unlawful_value(&actions, expected))? {
                let action = action?;
                out.push(action.extract().map_err(unlawful_value(&action, expected))?);
            }
            Ok(())
        })
    }
}

/// Returns whether a state's class overrides `rewards`.
fn overrides_rewards(state: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = state.py();
    let default_rewards = NO_REWARDS.import(py, "moemcts.game", "NO_REWARDS")?;
    let Some(rewards) = state.get_type().getattr_opt(intern!(py, "rewards"))? else {
        return Err(unlawful_game(py, format!("expected a position, the game gave {}", format_value(state))));
    };
    Ok(!rewards.is(default_rewards))
}

/// Writes the game's numbers, one per player.
fn write_numbers(value: &Bound<'_, PyAny>, what: &str, out: &mut [f32]) -> PyResult<()> {
    let expected = format!("{what} of {} players, all finite numbers", out.len());
    let numbers: Vec<f32> = value.extract().map_err(unlawful_value(value, &expected))?;
    if numbers.len() != out.len() || numbers.iter().any(|number| !number.is_finite()) {
        return Err(unlawful_game(value.py(), format!("expected {expected}, the game gave {numbers:?}")));
    }
    out.copy_from_slice(&numbers);
    Ok(())
}

/// Returns a function that converts Python's type and value errors about a game's value to UnlawfulGame; other errors
/// are kept.
fn unlawful_value<'a>(value: &'a Bound<'_, PyAny>, expected: &'a str) -> impl FnOnce(PyErr) -> PyErr + 'a {
    move |error| {
        let py = value.py();
        let conversion_errors =
            [py.get_type::<PyTypeError>(), py.get_type::<PyOverflowError>(), py.get_type::<PyValueError>()];
        if !conversion_errors.iter().any(|kind| error.is_instance(py, kind)) {
            return error;
        }
        unlawful_game(py, format!("expected {expected}, the game gave {}", format_value(value)))
    }
}

/// Returns the representation of a value in errors.
fn format_value(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| value.get_type().to_string(), |text| text.to_string());
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

    fn extract_views(&self, views: &Bound<'_, PyAny>) -> PyResult<Vec<(PythonState, Player)>> {
        (0..views.len()?)
            .map(|row| {
                let (state, player): (Bound<'_, PyAny>, Player) = views.get_item(row)?.extract()?;
                let has_rewards = overrides_rewards(&state)?;
                Ok((PythonState { state: state.unbind(), has_rewards }, player))
            })
            .collect()
    }

    fn new_views<'py>(&self, py: Python<'py>, pairs: Vec<(PythonState, Player)>) -> PyResult<Bound<'py, PyAny>> {
        let pairs: Vec<_> = pairs.into_iter().map(|(state, player)| (state.state, player)).collect();
        self.0.bind(py).call_method1(intern!(py, "views"), (pairs,))
    }

    fn rules_key(&self, _: &PythonState) -> u64 {
        0
    }

    fn extract_agent(&self, object: &Bound<'_, PyAny>) -> PyResult<NoAgent> {
        crate::game::reject_agent(object)
    }
}

crate::search_class!(PythonSearch, PythonBinding, |game: &Bound<'_, PyAny>| Ok(PythonBinding(game.clone().unbind())));
