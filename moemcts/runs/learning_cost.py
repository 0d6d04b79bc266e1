"""The cost of a training in passes over the samples and measurements, estimated from some games."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from moemcts.game import FloatArray, Game, IntArray, State
from moemcts.gates import PhaseGate, checked_weights
from moemcts.learn.schemes.scheme import Scheme
from moemcts.learn.training.sample_weights import MIN_WEIGHT, plies_to_nearest
from moemcts.learn.training.stages import PlanStep, Stage, plan


@dataclass(frozen=True)
class LearningCost:
    """The cost of training one arm with one seed."""

    passes: float
    """Passes over all samples; a pass over a share of the samples counts as that share."""
    measurements: float
    """Measurements of all held-out samples."""
    trainings: int
    """Stages, each of which is a training of its own."""


@dataclass(frozen=True, kw_only=True)
class PhaseSample:
    """Phases of `N` positions, as a sample of the training data."""

    games: IntArray
    """The index of each position's game, `[N]`."""
    plies: IntArray
    """`[N]`."""
    phases: FloatArray
    """The weight of each phase, `[N, K]`."""

    @classmethod
    def of(cls, gate: PhaseGate, game: Game, games: Sequence[Sequence[State]]) -> Self:
        """Returns the phases of all positions in some games in which a player is to move.

        Raises MoemctsError if the gate's weights are invalid.
        """
        states = [state for positions in games for state in positions]
        weights = checked_weights(gate, game.views([(state, state.active_players[0]) for state in states]))
        return cls(
            games=np.repeat(np.arange(len(games)), [len(positions) for positions in games]),
            plies=np.array([state.ply for state in states], dtype=np.int64),
            phases=weights,
        )

    def share(self, stage: Stage) -> float:
        """Returns the share of the samples that a stage learns from."""
        counts = np.array(stage.weights) > 0
        if stage.half_life is None:
            return float(((self.phases > 0) & counts).any(axis=1).mean())
        away = plies_to_nearest(self.games, self.plies, counts[self.phases.argmax(axis=1)])
        return float(((away >= 0) & (2.0 ** (-away / stage.half_life) >= MIN_WEIGHT)).mean())


def learning_cost(
    scheme: Scheme,
    gate: PhaseGate,
    game: Game,
    games: Sequence[Sequence[State]],
    epochs: float,
    *,
    interval: float | None = None,
) -> LearningCost:
    """Returns the cost of a scheme with a gate, given representative games; see `cost_of`."""
    return cost_of(scheme, gate.num_phases, PhaseSample.of(gate, game, games), epochs, interval=interval)


def cost_of(
    scheme: Scheme, num_phases: int, sample: PhaseSample, epochs: float, *, interval: float | None = None
) -> LearningCost:
    """Returns the cost of a scheme, given representative samples; `epochs` is the configured length of a stage.

    `interval` is the number of passes over all samples between measurements; if None, one epoch of the stage.
    """
    steps = steps_of(scheme, num_phases)
    if steps is None:
        return LearningCost(scheme.cost(num_phases) * epochs, max(1.0, epochs / (interval or 1)), 1)
    lengths = [step.stage.epochs * epochs for step in steps]
    passes = [sample.share(step.stage) * length for step, length in zip(steps, lengths, strict=True)]
    measured = lengths if interval is None else [share / interval for share in passes]
    return LearningCost(
        passes=sum(passes), measurements=sum(max(1, math.ceil(number)) for number in measured), trainings=len(steps)
    )


def steps_of(scheme: Scheme, num_phases: int) -> list[PlanStep] | None:
    """Returns the stages of all experts in training order; None if the scheme does not train in stages."""
    experts = [scheme.stages_of(phase, num_phases) for phase in range(num_phases)]
    return None if any(stages is None for stages in experts) else plan([stages or () for stages in experts])
