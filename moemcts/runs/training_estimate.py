"""Estimates what a training will do, stage by stage, and how long it will take, from a second of real work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moemcts.game import State
from moemcts.plugins import plugins
from moemcts.runs.experiment.estimate import (
    BATCH,
    FIGURE,
    FIRST_STEP,
    LIBRARIES,
    OPTIMISERS,
    TRAINING_COST,
    Estimate,
    Played,
    Sizes,
    assumed,
    bytes_of_training,
    bytes_per_sample,
    data_seconds,
    encoding_rate,
    has_samples,
    interval_of,
    network_rate,
    play_some,
    sizes_of,
)
from moemcts.runs.learning import data_players
from moemcts.runs.learning_cost import Seen, cost_of, steps_of
from moemcts.runs.training import Training

LOOKED_AT = 4096
"""Approximate number of samples, in whole games, from which the sizes of phases are estimated."""
FIGURES = 4
"""Figures in the report of a training."""


@dataclass(frozen=True, kw_only=True)
class StagePlan:
    """One stage of a training."""

    learns_from: str
    """Description of the phases it learns from."""
    experts: tuple[str, ...]
    """The phases whose experts the stage is for."""
    samples: int
    """Approximate number of samples it learns from."""
    steps: int | None
    """Approximate maximum number of steps; None if the scheme does not state the stage's length."""


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """What a training will do, and how long it will take."""

    stages: tuple[StagePlan, ...]
    looked_at: str
    """Description of the samples or games from which the sizes of phases are estimated."""
    estimate: Estimate


def training_plan(training: Training) -> TrainingPlan:
    """Returns what a training will do, ignoring parts that are already done; writes nothing.

    The sizes of phases are estimated from some of the samples, or from games of the configured agents if there are no
    samples yet. Rates are measured on a processor of this machine.
    """
    config, game = training.config, training.game
    sizes = sizes_of(training)
    played = None if has_samples(training) else play_some(game, data_players(config, game))
    seen, states = _looked_at(training, played)
    if played is None:
        looked_at = f"{len(seen.plies):,} samples"
    else:
        looked_at = f"{len(played.games)} games played for this estimate"
    return TrainingPlan(
        stages=tuple(_stages(training, seen, sizes)),
        looked_at=looked_at,
        estimate=_estimate(training, seen, states, sizes, played),
    )


def _looked_at(training: Training, played: Played | None) -> tuple[Seen, list[State]]:
    """Returns the phases of some positions, and some of these positions."""
    if played is not None:
        return Seen.of(training.gate, training.game, played.games), played.states
    part = training.sources().training.some_games(LOOKED_AT)
    rows = np.arange(len(part))
    views = part.views(rows)
    seen = Seen(games=part.games(), plies=views.plies(), phases=np.asarray(training.gate.weights(views)))
    return seen, [views[int(row)].state for row in rows[:: max(1, len(rows) // 512)]]


def _stages(training: Training, seen: Seen, sizes: Sizes) -> list[StagePlan]:
    from moemcts.learn.training.stage import stage_steps

    names = training.gate.phase_names
    steps = steps_of(plugins().scheme(training.config.scheme), training.gate.num_phases)
    if steps is None:
        return [StagePlan(learns_from="all", experts=tuple(names), samples=round(sizes.learned), steps=None)]
    found = []
    for step in steps:
        num_samples = round(seen.share(step.stage) * sizes.learned)
        found.append(
            StagePlan(
                learns_from=step.stage.describe(names),
                experts=tuple(names[expert] for expert in step.experts),
                samples=num_samples,
                steps=stage_steps(training.config.training, step.stage, np.ones(num_samples, dtype=np.float32)),
            )
        )
    return found


def _estimate(training: Training, seen: Seen, states: list[State], sizes: Sizes, played: Played | None) -> Estimate:
    config, game = training.config, training.game
    num_experts = training.gate.num_phases
    interval = interval_of(config.training, sizes.learned)
    cost = cost_of(plugins().scheme(config.scheme), num_experts, seen, config.training.epochs, interval=interval)
    learned, measured = cost.passes * sizes.learned, cost.measurements * sizes.measured
    rate, num_parameters = network_rate(game, config.network, states, BATCH)
    # Every expert evaluates every held-out sample, and so does the baseline.
    num_rated = sizes.rated * (num_experts + bool(config.baseline))
    return Estimate(
        data=data_seconds(config.data, played, sizes),
        training=OPTIMISERS
        + (learned * TRAINING_COST + measured) / rate
        + (learned + measured) / encoding_rate(game, states)
        + FIRST_STEP * cost.trainings,
        losses=num_rated / rate,
        assumed=assumed(config.training),
        report=LIBRARIES + FIGURES * FIGURE,
        num_bytes=int(
            (config.data.to_play + sizes.imported) * bytes_per_sample(game, states)
            + bytes_of_training(cost.trainings * num_parameters)
        ),
    )
