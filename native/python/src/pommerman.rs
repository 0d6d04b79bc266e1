//! Pommerman: rules, states, views and scripted agents, and the replay functions of its tests.

use crate::game::{pack_rows, parse_seat, unpack_rows, PackedRows};
use crate::native_game;
use moemcts_pommerman::planes::PLANE_NAMES;
use moemcts_pommerman::trace::Trace;
use moemcts_pommerman::{Corners, Scripted, State};
use moemcts_tree::Rng;
use numpy::{Element, PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

mod agents;
mod rules;
mod symmetries;
mod traces;

pub use agents::{pommerman_games, PommermanPlayer, PommermanScripted};
pub use rules::{pommerman_ids, PommermanRules};
use symmetries::check_symmetry;
pub use symmetries::{pommerman_transform, pommerman_transform_actions};
pub use traces::{pommerman_decisions, pommerman_replay};

native_game! {
    binding: PommermanBinding, state: State, agent: Scripted, extract_agent: scripted,
    classes: PommermanState, PommermanViews, PommermanSearch
}

fn scripted(object: &Bound<'_, PyAny>) -> PyResult<Scripted> {
    Ok(object.cast::<PommermanScripted>()?.get().0)
}

pub(crate) fn value_error(message: String) -> PyErr {
    PyValueError::new_err(message)
}

#[pymethods]
impl PommermanState {
    /// The first state of a game on a new board; `is_shuffled` permutes the players over the corners.
    #[staticmethod]
    fn initial(rules: &PommermanRules, seed: u64, is_shuffled: bool) -> Self {
        let corners = if is_shuffled { Corners::Shuffled } else { Corners::Standard };
        Self(State::new(rules.0, corners, &mut Rng::new(seed)))
    }

    /// The state described by these arrays, in the format of the reference's traces.
    ///
    /// `board` and `items` `[n, n]` uint8, `agents` `[P, 6]`, `bombs` `[B, 6]` and `flames` `[F, 3]` int8.
    #[staticmethod]
    fn from_arrays(
        rules: &PommermanRules,
        step: i16,
        board: &Bound<'_, PyAny>,
        items: &Bound<'_, PyAny>,
        agents: &Bound<'_, PyAny>,
        bombs: &Bound<'_, PyAny>,
        flames: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (board, items) = (flatten::<u8>("board", board)?, flatten::<u8>("items", items)?);
        let (agents, bombs) = (flatten::<i8>("agents", agents)?, flatten::<i8>("bombs", bombs)?);
        let flames = flatten::<i8>("flames", flames)?;
        let (num_cells, num_players) = (usize::from(rules.0.board_size).pow(2), rules.0.num_players());
        if (board.len(), items.len(), agents.len()) != (num_cells, num_cells, 6 * num_players) {
            return Err(value_error(format!(
                "expected {num_cells} numbers of the board, as many of items and {} of agents, got {}, {} and {}",
                6 * num_players,
                board.len(),
                items.len(),
                agents.len()
            )));
        }
        if !bombs.len().is_multiple_of(6) || !flames.len().is_multiple_of(3) {
            let (bombs, flames) = (bombs.len(), flames.len());
            return Err(value_error(format!(
                "expected six numbers for each bomb and three for each flame, got {bombs} and {flames}"
            )));
        }
        Trace {
            rules: rules.0,
            game_off: &[],
            step: &[step],
            board: &board,
            items: &items,
            agents: &agents,
            bombs: &bombs,
            bomb_off: &[0, (bombs.len() / 6) as i32],
            flames: &flames,
            flame_off: &[0, (flames.len() / 3) as i32],
            actions: &[],
            rewards: &[],
            done: &[],
            result: &[],
        }
        .state(0)
        .map(Self)
        .map_err(value_error)
    }

    /// The arrays that `from_arrays` takes, bombs in the order of laying, flames oldest first.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let geometry = self.0.geometry();
        let place = |cell: u8| (geometry.row(cell) as i8, geometry.column(cell) as i8);
        let mut agents = Vec::new();
        for agent in self.0.agents() {
            let (row, column) = place(agent.cell);
            agents.extend([row, column, agent.ammo as i8, agent.blast as i8]);
            agents.extend([i8::from(agent.can_kick), i8::from(agent.alive)]);
        }
        let mut bombs = Vec::new();
        for bomb in self.0.bombs() {
            let (row, column) = place(bomb.cell);
            bombs.extend([row, column, bomb.owner as i8, bomb.life as i8, bomb.blast as i8, bomb.direction as i8]);
        }
        let mut flames = Vec::new();
        for (cell, life) in self.0.flame_list() {
            let (row, column) = place(cell);
            flames.extend([row, column, life as i8]);
        }
        let dict = PyDict::new(py);
        dict.set_item("step", self.0.step_count())?;
        dict.set_item("board", self.grid(py, &self.0.board())?)?;
        dict.set_item("items", self.grid(py, &self.0.hidden_items())?)?;
        dict.set_item("agents", table(py, agents, 6)?)?;
        dict.set_item("bombs", table(py, bombs, 6)?)?;
        dict.set_item("flames", table(py, flames, 3)?)?;
        Ok(dict)
    }

    #[getter]
    fn rules(&self) -> PommermanRules {
        PommermanRules(*self.0.rules())
    }

    /// Whether the reference says `done`, or no player is alive.
    #[getter]
    fn is_over(&self) -> bool {
        self.0.is_over()
    }

    /// The living players, ascending.
    #[getter]
    fn living<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let agents = self.0.agents().iter().enumerate();
        PyTuple::new(py, agents.filter(|(_, agent)| agent.alive).map(|(player, _)| player).collect::<Vec<_>>())
    }

    /// Plays one step as the reference does, with one action per player, dead ones included.
    ///
    /// Returns the new state, the rewards `[P]`, done, and the reference's result (0 win, 2 tie, 3 incomplete).
    fn step(&self, actions: Vec<i64>) -> PyResult<(Self, Vec<i8>, bool, u8)> {
        let num_players = self.0.num_players();
        if actions.len() != num_players || actions.iter().any(|action| !(0..=5).contains(action)) {
            return Err(value_error(format!("expected {num_players} actions of 0..=5, got {actions:?}")));
        }
        let mut joint = [0; 4];
        for (slot, action) in joint.iter_mut().zip(&actions) {
            *slot = *action as u8;
        }
        let mut next = self.0.clone();
        let outcome = next.step(joint);
        Ok((Self(next), outcome.rewards[..num_players].to_vec(), outcome.done, outcome.ending as u8))
    }

    /// What `player` observes: the reference's observation dictionary, with its maps as uint8.
    fn observed<'py>(&self, py: Python<'py>, player: i64) -> PyResult<Bound<'py, PyDict>> {
        let observation = self.0.observation(parse_seat(&self.0, player)?);
        let dict = PyDict::new(py);
        for (name, map) in [
            ("board", &observation.board),
            ("bomb_blast_strength", &observation.bomb_blast_strength),
            ("bomb_life", &observation.bomb_life),
            ("bomb_moving_direction", &observation.bomb_moving_direction),
            ("flame_life", &observation.flame_life),
        ] {
            dict.set_item(name, self.grid(py, map)?)?;
        }
        let nonzero = |values: &[u8]| PyList::new(py, values.iter().filter(|&&value| value != 0));
        dict.set_item("position", observation.position)?;
        dict.set_item("ammo", observation.ammo)?;
        dict.set_item("blast_strength", observation.blast_strength)?;
        dict.set_item("can_kick", observation.can_kick)?;
        dict.set_item("alive", nonzero(&observation.alive)?)?;
        dict.set_item("teammate", observation.teammate)?;
        dict.set_item("enemies", nonzero(&observation.enemies)?)?;
        dict.set_item("step_count", observation.step_count)?;
        Ok(dict)
    }

    /// The state as known to `player`: without hidden items, and in fog without anything out of sight.
    fn perceived(&self, player: i64) -> PyResult<Self> {
        Ok(Self(self.0.perceived(parse_seat(&self.0, player)?)))
    }

    /// The image of the state under a symmetry of the board, 0..8.
    fn transformed(&self, symmetry: usize) -> PyResult<Self> {
        check_symmetry(symmetry)?;
        Ok(Self(self.0.transformed(symmetry)))
    }

    /// Manhattan distance to the nearest living opponent that `player` sees.
    fn nearest_opponent(&self, player: i64) -> PyResult<u8> {
        Ok(self.0.nearest_opponent(parse_seat(&self.0, player)?))
    }

    fn pack<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.pack())
    }

    #[staticmethod]
    fn unpack(data: &[u8]) -> PyResult<Self> {
        State::unpack(data).map(Self).map_err(value_error)
    }

    fn to_text(&self) -> String {
        self.0.to_text()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.get_type().getattr("unpack")?, (slf.get().pack(slf.py()),)))
    }

    fn __repr__(&self) -> String {
        format!("PommermanState at {}", self.0.to_text())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __hash__(&self) -> u64 {
        self.0.hash()
    }
}

impl PommermanState {
    fn grid<'py>(&self, py: Python<'py>, cells: &[u8]) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let n = self.0.board_size();
        PyArray1::from_slice(py, &cells[..n * n]).reshape([n, n])
    }
}

#[pymethods]
impl PommermanViews {
    /// Returns the packed positions and the offsets of each, `[N + 1]`.
    fn pack<'py>(&self, py: Python<'py>) -> PackedRows<'py> {
        pack_rows(py, self.0.iter(), |(state, _), data| data.extend(state.pack()))
    }

    /// Returns views of packed positions with these rules, from the point of view of `players`, `[N]`.
    #[staticmethod]
    fn unpack(
        py: Python<'_>,
        rules: &PommermanRules,
        data: PyReadonlyArray1<'_, u8>,
        offsets: PyReadonlyArray1<'_, i64>,
        players: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<Self> {
        let (data, offsets, players) = (data.as_slice()?, offsets.as_slice()?, players.as_slice()?);
        let unpack = |bytes: &[u8]| match State::unpack(bytes)? {
            state if *state.rules() == rules.0 => Ok(state),
            state => Err(format!("expected positions with {:?}, got one with {:?}", rules.0, state.rules())),
        };
        unpack_rows(py, data, offsets, players, unpack).map(Self)
    }

    /// Manhattan distances to the nearest living opponent that the player sees, `[N]`.
    fn nearest_opponents<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.0.iter().map(|(state, player)| i64::from(state.nearest_opponent(*player))))
    }

    /// The number of living opponents, `[N]`.
    fn num_opponents<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.0.iter().map(|(state, player)| i64::from(state.num_opponents(*player))))
    }

    /// The actions chosen by scripted players, one for each view; updates their memories.
    fn choose(&self, players: Vec<Bound<'_, PommermanPlayer>>) -> PyResult<Vec<u32>> {
        if players.len() != self.0.len() {
            return Err(value_error(format!("expected {} players, got {}", self.0.len(), players.len())));
        }
        let views = self.0.iter().zip(&players);
        Ok(views.map(|((state, player), scripted)| scripted.borrow_mut().choose_on(state, *player).into()).collect())
    }
}

/// The names of the 23 planes.
#[pyfunction]
pub fn pommerman_planes() -> Vec<&'static str> {
    PLANE_NAMES.to_vec()
}

/// Returns the elements of an array of any shape in row-major order.
pub(crate) fn flatten<T: Element + Copy>(name: &str, array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    let array = array
        .cast::<PyArrayDyn<T>>()
        .map_err(|_| value_error(format!("expected {name} as an array of {}", std::any::type_name::<T>())))?;
    Ok(array.readonly().as_array().iter().copied().collect())
}

fn table<T: Element>(py: Python<'_>, numbers: Vec<T>, columns: usize) -> PyResult<Bound<'_, PyArray2<T>>> {
    let rows = numbers.len() / columns;
    PyArray1::from_vec(py, numbers).reshape([rows, columns])
}
