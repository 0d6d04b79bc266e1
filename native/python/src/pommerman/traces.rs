//! Native replay of games and decisions recorded from the reference, for tests.

use super::{flatten, value_error, PommermanRules};
use moemcts_pommerman::geometry::Geometry;
use moemcts_pommerman::trace::{DecisionRow, Decisions, Trace};
use numpy::Element;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Replays recorded games (`pommerman-trace-v1`); returns the number of steps and one line per game that differs.
#[pyfunction]
pub fn pommerman_replay(
    py: Python<'_>,
    rules: PommermanRules,
    arrays: &Bound<'_, PyDict>,
) -> PyResult<(usize, Vec<String>)> {
    let (game_off, step) = (entry::<i32>(arrays, "game_off")?, entry::<i16>(arrays, "step")?);
    let (board, items) = (entry::<u8>(arrays, "board")?, entry::<u8>(arrays, "items")?);
    let (agents, actions, rewards) =
        (entry::<i8>(arrays, "agents")?, entry::<i8>(arrays, "actions")?, entry::<i8>(arrays, "rewards")?);
    let (bombs, bomb_off) = (entry::<i8>(arrays, "bombs")?, entry::<i32>(arrays, "bomb_off")?);
    let (flames, flame_off) = (entry::<i8>(arrays, "flames")?, entry::<i32>(arrays, "flame_off")?);
    let (done, result) = (entry::<u8>(arrays, "done")?, entry::<u8>(arrays, "result")?);
    let trace = Trace {
        rules: rules.0,
        game_off: &game_off,
        step: &step,
        board: &board,
        items: &items,
        agents: &agents,
        bombs: &bombs,
        bomb_off: &bomb_off,
        flames: &flames,
        flame_off: &flame_off,
        actions: &actions,
        rewards: &rewards,
        done: &done,
        result: &result,
    };
    py.detach(|| trace.replay()).map_err(value_error)
}

/// The exact distributions of recorded SimpleAgent decisions (`pommerman-simpleagent-v1`).
///
/// Each decision is a sorted list of (action, new previous direction, whether the own position was recorded,
/// probability).
#[pyfunction]
pub fn pommerman_decisions(arrays: &Bound<'_, PyDict>) -> PyResult<Vec<Vec<DecisionRow>>> {
    let ammo = entry::<i8>(arrays, "ammo")?;
    let board = entry::<u8>(arrays, "board")?;
    let cells = board.len() / ammo.len().max(1);
    let size = (1..=11).find(|&n| Geometry::of(n).num_cells() == cells);
    let decisions = Decisions {
        size: size.ok_or_else(|| value_error(format!("expected square boards up to 11 x 11, got {cells} cells")))?,
        board: &board,
        bomb_blast_strength: &entry::<u8>(arrays, "bomb_blast_strength")?,
        position: &entry::<i8>(arrays, "position")?,
        ammo: &ammo,
        blast_strength: &entry::<i8>(arrays, "blast_strength")?,
        enemies: &entry::<u8>(arrays, "enemies")?,
        prev_direction: &entry::<i8>(arrays, "prev_direction")?,
        recent: &entry::<i8>(arrays, "recent")?,
        recent_len: &entry::<i8>(arrays, "recent_len")?,
    };
    (0..decisions.len()).map(|sample| decisions.distribution(sample).map_err(value_error)).collect()
}

fn entry<T: Element + Copy>(arrays: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<T>> {
    let array = arrays.get_item(name)?.ok_or_else(|| value_error(format!("expected an array {name:?}")))?;
    flatten(name, &array)
}
