//! The parameters of a game, by the reference's ids or individually.

use super::value_error;
use moemcts_pommerman::{variant, GameType, Rules, VARIANTS};
use pyo3::prelude::*;

/// The parameters of a game of Pommerman.
#[pyclass(frozen, eq, from_py_object, module = "moemcts._core")]
#[derive(Clone, Copy, PartialEq)]
pub struct PommermanRules(pub(crate) Rules);

#[pymethods]
impl PommermanRules {
    /// The rules of the reference's environment with this id, with optional changes.
    #[new]
    #[pyo3(signature = (id, *, first_collapse=None, max_steps=None, timeout_is_loss=false))]
    fn new(id: &str, first_collapse: Option<i64>, max_steps: Option<i64>, timeout_is_loss: bool) -> PyResult<Self> {
        let variant = variant::find(id).ok_or_else(|| value_error(format!("no Pommerman environment named {id:?}")))?;
        let mut rules = variant.rules;
        let steps = |name: &str, number: i64| {
            let error = || value_error(format!("expected {name} of at most 9999 steps, got {number}"));
            u16::try_from(number).map_err(|_| error())
        };
        if let Some(number) = first_collapse {
            rules.first_collapse = steps("first_collapse", number)?;
        }
        if let Some(number) = max_steps {
            rules.max_steps = steps("max_steps", number)?;
        }
        rules.timeout_is_loss = timeout_is_loss;
        rules.check().map_err(value_error)?;
        Ok(Self(rules))
    }

    /// The rules with these parameters; `game_type` is the reference's number.
    #[staticmethod]
    fn of(
        game_type: u8,
        board_size: u8,
        view: u8,
        blast_cap: u8,
        first_collapse: u16,
        max_steps: u16,
        timeout_is_loss: bool,
    ) -> PyResult<Self> {
        let game_type = GameType::from_number(game_type)
            .ok_or_else(|| value_error(format!("expected a game type of 1 to 4, got {game_type}")))?;
        let rules = Rules { game_type, board_size, view, blast_cap, first_collapse, max_steps, timeout_is_loss };
        rules.check().map_err(value_error)?;
        Ok(Self(rules))
    }

    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (u8, u8, u8, u8, u16, u16, bool))> {
        let Rules { game_type, board_size, view, blast_cap, first_collapse, max_steps, timeout_is_loss } = slf.get().0;
        let numbers = (game_type as u8, board_size, view, blast_cap, first_collapse, max_steps, timeout_is_loss);
        Ok((slf.get_type().getattr("of")?, numbers))
    }

    /// The number of the game type in the reference: 1 free-for-all, 2 team, 3 team with radio, 4 one against one.
    #[getter]
    fn game_type(&self) -> u8 {
        self.0.game_type as u8
    }

    #[getter]
    fn has_teams(&self) -> bool {
        self.0.game_type.has_teams()
    }

    #[getter]
    fn has_radio(&self) -> bool {
        self.0.game_type == GameType::TeamRadio
    }

    #[getter]
    fn num_players(&self) -> usize {
        self.0.num_players()
    }

    #[getter]
    fn board_size(&self) -> u8 {
        self.0.board_size
    }

    /// How many rows and columns away a player sees; 0 means everything.
    #[getter]
    fn view(&self) -> u8 {
        self.0.view
    }

    #[getter]
    fn blast_cap(&self) -> u8 {
        self.0.blast_cap
    }

    #[getter]
    fn first_collapse(&self) -> u16 {
        self.0.first_collapse
    }

    #[getter]
    fn max_steps(&self) -> u16 {
        self.0.max_steps
    }

    /// Whether the survivors of the last step have lost; otherwise they have tied.
    #[getter]
    fn timeout_is_loss(&self) -> bool {
        self.0.timeout_is_loss
    }
}

/// The ids of the reference's environments.
#[pyfunction]
pub fn pommerman_ids() -> Vec<&'static str> {
    VARIANTS.iter().map(|variant| variant.id).collect()
}
