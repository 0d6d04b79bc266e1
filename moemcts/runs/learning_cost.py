"""What a training costs: how often it sees the samples and how often it is measured, from some games."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from moemcts.game import FloatArray, Game, IntArray, State
from moemcts.gates import PhaseGate
from moemcts.learn.schemes.scheme import Scheme
from moemcts.learn.training.sample_weights import FAINTEST, plies_away
from moemcts.learn.training.stages import Stage, plan


@dataclass(frozen=True)
class LearningCost:
    """Work of one arm and seed."""

    passes: float
    """How often samples are learned from, each counted by its share of all."""
    measurements: float
    """How often everything held out is measured."""
    trainings: int
    """Stages, each of which starts anew."""


def learning_cost(
    scheme: Scheme,
    gate: PhaseGate,
    game: Game,
    games: Sequence[Sequence[State]],
    epochs: float,
    *,
    interval: float | None = None,
) -> LearningCost:
    """Returns what a scheme costs with a gate where games are like these; `epochs` is a stage's configured length.

    `interval` is how often all samples could be learned from between measurements; one epoch of the stage if None.
    """
    game_of, plies, phases = _phases(gate, game, games)
    num_phases = gate.num_phases
    experts = [scheme.stages_of(phase, num_phases) for phase in range(num_phases)]
    if any(stages is None for stages in experts):
        return LearningCost(scheme.cost(num_phases) * epochs, max(1.0, epochs / (interval or 1)), 1)
    steps = plan([stages or () for stages in experts])
    lengths = [step.stage.epochs * epochs for step in steps]
    passes = [_share(step.stage, game_of, plies, phases) * length for step, length in zip(steps, lengths, strict=True)]
    measured = lengths if interval is None else [each / interval for each in passes]
    return LearningCost(
        passes=sum(passes), measurements=sum(max(1, math.ceil(each)) for each in measured), trainings=len(steps)
    )


def _phases(gate: PhaseGate, game: Game, games: Sequence[Sequence[State]]) -> tuple[IntArray, IntArray, FloatArray]:
    """Returns game, ply and phase weights of each position with somebody to move."""
    states = [state for one in games for state in one]
    game_of = np.repeat(np.arange(len(games)), [len(one) for one in games])
    plies = np.array([state.ply for state in states], dtype=np.int64)
    return game_of, plies, np.asarray(gate.weights(game.views([(state, state.active_players[0]) for state in states])))


def _share(stage: Stage, games: IntArray, plies: IntArray, phases: FloatArray) -> float:
    """Returns the share of the samples that a stage learns from."""
    counts = np.array(stage.weights) > 0
    if stage.half_life is None:
        return float(((phases > 0) & counts).any(axis=1).mean())
    away = plies_away(games, plies, counts[phases.argmax(axis=1)])
    return float(((away >= 0) & (2.0 ** (-away / stage.half_life) >= FAINTEST)).mean())
