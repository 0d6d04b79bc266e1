//! Conversion of a search's settings from Python: `SearchConfig.options`.

use moemcts_tree::{Config, EarlyEnd, Exploration, GumbelRoot, Limits, Player, Unpruning};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::time::Duration;

/// Returns an option; raises ValueError if it is missing.
pub fn option<'py, T>(options: &Bound<'py, PyDict>, name: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    let value = options
        .get_item(name)?
        .ok_or_else(|| PyValueError::new_err(format!("expected the search option {name}, got none")))?;
    value.extract().map_err(Into::into)
}

/// Returns the configuration of a search from all of its options.
pub fn config(options: &Bound<'_, PyDict>) -> PyResult<Config> {
    let simulations = option::<Option<u32>>(options, "simulations")?.unwrap_or(u32::MAX);
    Ok(Config {
        exploration: Exploration::new(option(options, "c_init")?, option(options, "c_base")?),
        fpu_parent: option(options, "fpu_parent")?,
        fpu_offset: option(options, "fpu_offset")?,
        fpu_reduction: option(options, "fpu_reduction")?,
        virtual_loss: option(options, "virtual_loss")?,
        policy_temperature: option(options, "policy_temperature")?,
        uniform_share: option(options, "uniform_share")?,
        forced_playouts: option(options, "forced_playouts")?,
        gumbel: option::<Option<(u32, f64, f64, f64, u32)>>(options, "gumbel")?.map(
            |(considered, visit_offset, value_scale, noise, simulations)| GumbelRoot {
                considered,
                visit_offset,
                value_scale,
                noise,
                simulations,
            },
        ),
        unpruning: option::<Option<(u32, u32, Vec<f64>)>>(options, "unpruning")?
            .map(|(visits, moves, thresholds)| Unpruning { visits, moves, thresholds: thresholds.into() }),
        early_end: option::<Option<(u32, u32, u32, f64)>>(options, "early_end")?.map(
            |(simulations, interval, min_simulations, tolerance)| EarlyEnd {
                simulations,
                interval,
                min_simulations,
                tolerance,
            },
        ),
        smart_pruning: option::<bool>(options, "smart_pruning")?.then_some(simulations),
        noise_fraction: option(options, "noise_fraction")?,
        noise_alpha: option(options, "noise_alpha")?,
        solver: option(options, "solver")?,
        proof_interval: option(options, "proof_interval")?,
        leaves_per_tree: option(options, "leaves_per_tree")?,
        limits: Limits {
            simulations,
            nodes: option::<Option<u32>>(options, "nodes")?.unwrap_or(u32::MAX),
            // Seconds beyond the range of a duration are no limit.
            time: option::<Option<f64>>(options, "seconds")?.and_then(|limit| Duration::try_from_secs_f64(limit).ok()),
            entries: Limits::ENTRIES,
        },
        utility_sum: option(options, "utility_sum")?,
        teams: option::<Vec<Vec<Player>>>(options, "teams")?
            .into_iter()
            .map(|team| team.into_iter().collect())
            .collect(),
        discount: option(options, "discount")?,
        draws_replies: match option::<String>(options, "replies")?.as_str() {
            "drawn" => true,
            "kept" => false,
            other => return Err(PyValueError::new_err(format!("expected replies kept or drawn, got {other:?}"))),
        },
        num_actions: option(options, "num_actions")?,
    })
}
