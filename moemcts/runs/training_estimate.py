"""Estimates what a training will do, stage by stage, and how long it will take, from a second of real work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moemcts.game import State
from moemcts.plugins import plugins
from moemcts.runs.experiment.estimate import (
    BATCH,
    FIGURE_SECONDS,
    OPTIMISER_IMPORT,
    REPORT_IMPORT,
    STAGE_OVERHEAD,
    TRAINING_COST,
    Estimate,
    GameStatistics,
    Sizes,
    assumed_conditions,
    bytes_of_training,
    bytes_per_sample,
    data_seconds,
    encoding_rate,
    has_samples,
    interval_of,
    network_rate,
    sample_games,
    sizes_of,
)
from moemcts.runs.learning import data_agents
from moemcts.runs.learning_cost import PhaseSample, cost_of, steps_of
from moemcts.runs.training import Training

PHASE_SAMPLES = 4096
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
    sampled = None if has_samples(training) else sample_games(game, data_agents(config, game))
    phases, states = _sample_phases(training, sampled)
    if sampled is None:
        looked_at = f"{len(phases.plies):,} samples"
    else:
        looked_at = f"{len(sampled.games)} games played for this estimate"
    return TrainingPlan(
        stages=tuple(_stages(training, phases, sizes)),
        looked_at=looked_at,
        estimate=_estimate(training, phases, states, sizes, sampled),
    )


def _sample_phases(training: Training, sampled: GameStatistics | None) -> tuple[PhaseSample, list[State]]:
    """Returns the phases of some positions, and some of these positions."""
    if sampled is not None:
        return PhaseSample.of(training.gate, training.game, sampled.games), sampled.states
    part = training.sources().training.sample_games(PHASE_SAMPLES)
    rows = np.arange(len(part))
    views = part.views(rows)
    phases = PhaseSample(games=part.games(), plies=views.plies(), phases=np.asarray(training.gate.weights(views)))
    return phases, [views[int(row)].state for row in rows[:: max(1, len(rows) // 512)]]


def _stages(training: Training, phases: PhaseSample, sizes: Sizes) -> list[StagePlan]:
    from moemcts.learn.training.stage import stage_steps

    names = training.gate.phase_names
    steps = steps_of(plugins().scheme(training.config.scheme), training.gate.num_phases)
    if steps is None:
        return [StagePlan(learns_from="all", experts=tuple(names), samples=round(sizes.learned), steps=None)]
    stages = []
    for step in steps:
        num_samples = round(phases.share(step.stage) * sizes.learned)
        stages.append(
            StagePlan(
                learns_from=step.stage.describe(names),
                experts=tuple(names[expert] for expert in step.experts),
                samples=num_samples,
                steps=stage_steps(training.config.training, step.stage, np.ones(num_samples, dtype=np.float32)),
            )
        )
    return stages


def _estimate(
    training: Training, phases: PhaseSample, states: list[State], sizes: Sizes, sampled: GameStatistics | None
) -> Estimate:
    config, game = training.config, training.game
    num_experts = training.gate.num_phases
    interval = interval_of(config.training, sizes.learned)
    cost = cost_of(plugins().scheme(config.scheme), num_experts, phases, config.training.epochs, interval=interval)
    learned, measured = cost.passes * sizes.learned, cost.measurements * sizes.measured
    rate, num_parameters = network_rate(game, config.network, states, BATCH)
    # Every expert evaluates every held-out sample, and so does the baseline.
    num_rated = sizes.rated * (num_experts + bool(config.baseline))
    return Estimate(
        data=data_seconds(config.data, sampled, sizes),
        training=OPTIMISER_IMPORT
        + (learned * TRAINING_COST + measured) / rate
        + (learned + measured) / encoding_rate(game, states)
        + STAGE_OVERHEAD * cost.trainings,
        losses=num_rated / rate,
        assumed_conditions=assumed_conditions(config.training),
        report=REPORT_IMPORT + FIGURES * FIGURE_SECONDS,
        num_bytes=int(
            (config.data.to_play + sizes.imported) * bytes_per_sample(game, states)
            + bytes_of_training(cost.trainings * num_parameters)
        ),
    )
