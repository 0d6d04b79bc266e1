//! The adapter through which a game written in Python enters the native tree.

use crate::game::Binding;
use moemcts_tree::{Action, NoAgent, Player, Players, State, CHANCE};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// How far returns of low precision may be outside [-1, 1].
const TOLERANCE: f32 = 1e-3;

/// `State.rewards` itself, which says that nothing is paid.
static NO_REWARDS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// A Python state; every method asks the interpreter.
pub struct PythonState {
    state: Py<PyAny>,
    /// Whether its class says what steps pay; most pay nothing, and need not be asked.
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
        Python::attach(|py| self.state.bind(py).getattr(intern!(py, "ply"))?.extract())
    }

    fn active_players(&self) -> PyResult<Players> {
        Python::attach(|py| {
            let mut players = Players::NONE;
            for player in self.state.bind(py).getattr(intern!(py, "active_players"))?.try_iter()? {
                players = players.with(crate::game::player(player?.extract()?)?);
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
            if !after.get_type().is(before.get_type()) {
                self.pays = pays(&after)?;
            }
            self.state = after.unbind();
            Ok(())
        })
    }

    fn returns(&self, out: &mut [f32]) -> PyResult<()> {
        Python::attach(|py| {
            let returns: Vec<f32> = self.state.bind(py).call_method0(intern!(py, "returns"))?.extract()?;
            write(&returns, "returns", out)?;
            if returns.iter().any(|number| number.abs() > 1.0 + TOLERANCE) {
                return Err(PyValueError::new_err(format!("expected returns in [-1, 1], got {returns:?}")));
            }
            Ok(())
        })
    }

    fn rewards(&self, out: &mut [f32]) -> PyResult<()> {
        if !self.pays {
            return Ok(());
        }
        Python::attach(|py| {
            let rewards: Vec<f32> = self.state.bind(py).call_method0(intern!(py, "rewards"))?.extract()?;
            write(&rewards, "rewards", out)
        })
    }

    fn chances(&self, out: &mut Vec<f32>) -> PyResult<()> {
        Python::attach(|py| {
            let chances: Vec<f32> = self.state.bind(py).call_method0(intern!(py, "chances"))?.extract()?;
            out.extend(chances);
            Ok(())
        })
    }

    fn is_decided(&self, player: Player) -> PyResult<bool> {
        Python::attach(|py| self.state.bind(py).call_method1(intern!(py, "is_decided"), (player,))?.extract())
    }

    fn key(&self) -> PyResult<u64> {
        Python::attach(|py| self.state.bind(py).call_method0(intern!(py, "key"))?.extract())
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
            for action in actions.try_iter()? {
                out.push(action?.extract()?);
            }
            Ok(())
        })
    }
}

/// Returns whether a state's class has `rewards` of its own.
fn pays(state: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = state.py();
    let nothing = NO_REWARDS.import(py, "moemcts.game", "NO_REWARDS")?;
    Ok(!state.get_type().getattr(intern!(py, "rewards"))?.is(nothing))
}

fn write(numbers: &[f32], what: &str, out: &mut [f32]) -> PyResult<()> {
    if numbers.len() != out.len() || numbers.iter().any(|number| !number.is_finite()) {
        let num = out.len();
        return Err(PyValueError::new_err(format!("expected {what} of {num} players, all numbers, got {numbers:?}")));
    }
    out.copy_from_slice(numbers);
    Ok(())
}

/// Holds the game, which knows how to make views.
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
