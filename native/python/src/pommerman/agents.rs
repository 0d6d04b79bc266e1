//! Scripted agents: in searches, as players, and in whole games among themselves.

use super::{value_error, PommermanRules, PommermanState};
use crate::game::parse_seat;
use crate::interruption::Interruption;
use moemcts_pommerman::simple_agent::Memory;
use moemcts_pommerman::{Corners, Scripted, State};
use moemcts_tree::Rng;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

/// A scripted agent for a search: a value with a fresh memory.
#[pyclass(frozen, module = "moemcts._core")]
pub struct PommermanScripted(pub(crate) Scripted);

#[pymethods]
impl PommermanScripted {
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        parse_scripted(name).map(Self)
    }

    fn __getnewargs__(&self) -> (&'static str,) {
        (self.0.name(),)
    }
}

/// A scripted agent as a player, with a memory and its own random number generator.
#[pyclass(module = "moemcts._core")]
pub struct PommermanPlayer {
    agent: Scripted,
    rng: Rng,
}

#[pymethods]
impl PommermanPlayer {
    #[new]
    fn new(name: &str, seed: u64) -> PyResult<Self> {
        Ok(Self { agent: parse_scripted(name)?, rng: Rng::new(seed) })
    }

    /// The player described by `__reduce__`: the previous direction and recent cells if its agent has a memory.
    #[staticmethod]
    fn restored(name: &str, memory: Option<(u8, Vec<u8>)>, rng: u64) -> PyResult<Self> {
        let agent = match memory {
            Some((previous, recent)) => Scripted::Simple(Memory::new(previous, &recent).map_err(value_error)?),
            None => parse_scripted(name)?,
        };
        Ok(Self { agent, rng: Rng::new(rng) })
    }

    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (&'static str, Option<(u8, Vec<u8>)>, u64))> {
        let player = slf.borrow();
        let memory = match &player.agent {
            Scripted::Simple(memory) => Some((memory.previous, memory.recent().to_vec())),
            _ => None,
        };
        Ok((slf.get_type().getattr("restored")?, (player.agent.name(), memory, player.rng.state())))
    }

    /// The action of this player in a state.
    fn choose(&mut self, state: &PommermanState, player: i64) -> PyResult<u8> {
        let player = parse_seat(&state.0, player)?;
        Ok(self.choose_on(&state.0, player))
    }
}

impl PommermanPlayer {
    pub(crate) fn choose_on(&mut self, state: &State, player: usize) -> u8 {
        self.agent.choose(state, player, &mut self.rng)
    }
}

fn parse_scripted(name: &str) -> PyResult<Scripted> {
    Scripted::from_name(name)
        .ok_or_else(|| value_error(format!("no scripted agent named {name:?} ({})", Scripted::NAMES.join(", "))))
}

/// Plays games between scripted agents to their ends, one per seed.
///
/// Returns the lengths `[G]`, the survivors `[G, P]`, and the step of each player's death `[G, P]`, which is the length
/// of the game for survivors.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn pommerman_games<'py>(
    py: Python<'py>,
    rules: PommermanRules,
    agents: Vec<String>,
    seeds: Vec<u64>,
    is_shuffled: bool,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<bool>>, Bound<'py, PyArray2<i64>>)> {
    let num_players = rules.0.num_players();
    let agents: Vec<Scripted> = agents.iter().map(|name| parse_scripted(name)).collect::<PyResult<_>>()?;
    if agents.len() != num_players {
        return Err(value_error(format!("expected {num_players} agents, got {}", agents.len())));
    }
    let corners = if is_shuffled { Corners::Shuffled } else { Corners::Standard };
    let (mut lengths, mut survivors, mut deaths) = (Vec::new(), Vec::new(), Vec::new());
    let interruption = Interruption::default();
    py.detach(|| {
        for &seed in seeds.iter().take_while(|_| !interruption.should_stop()) {
            let mut rng = Rng::new(seed);
            let mut state = State::new(rules.0, corners, &mut rng);
            let mut seats = agents.clone();
            let mut last_steps = vec![0; num_players];
            while !state.is_over() {
                let mut actions = [0; 4];
                for (player, seat) in seats.iter_mut().enumerate() {
                    actions[player] = seat.choose(&state, player, &mut rng);
                }
                let living_before = state.living();
                state.step(actions);
                for (player, last_step) in last_steps.iter_mut().enumerate() {
                    if living_before >> player & 1 == 1 {
                        *last_step = i64::from(state.step_count());
                    }
                }
            }
            lengths.push(i64::from(state.step_count()));
            survivors.extend((0..num_players).map(|player| state.survivors() >> player & 1 == 1));
            deaths.extend(last_steps);
        }
    });
    interruption.check()?;
    let shape = [seeds.len(), num_players];
    Ok((
        PyArray1::from_vec(py, lengths),
        PyArray1::from_vec(py, survivors).reshape(shape)?,
        PyArray1::from_vec(py, deaths).reshape(shape)?,
    ))
}
