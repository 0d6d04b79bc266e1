"""Losses and accuracies of networks on held-out samples, per phase, as in the papers' tables of losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from moemcts.evaluation import Evaluation, Evaluator
from moemcts.experts import ExpertSet
from moemcts.game import FloatArray
from moemcts.gates import PhaseGate
from moemcts.learn.data.dataset import Dataset, chunks_of
from moemcts.learn.threads import torch_threads
from moemcts.work.progress import Advance, ignore_progress

CHUNK = 1024
"""Views per evaluated batch."""
ALL = "all"
"""The column over all phases."""
MIXTURE = "mixture"
"""The row of all experts together, each evaluating its own phase."""


@dataclass(frozen=True)
class PhaseLosses:
    """Means over the samples of each phase, keyed by its name and `all`; None for a phase without samples."""

    name: str
    policy: Mapping[str, float | None]
    """Cross-entropy over all actions, including illegal ones, as in training."""
    value: Mapping[str, float | None]
    """Squared error of the viewing player's value."""
    accuracy: Mapping[str, float | None]
    """Share of samples whose action has the largest logit."""
    counts: Mapping[str, float]
    """Number of samples: the sum of the phase's weights."""

    def to_json(self) -> dict[str, Any]:
        """Returns the numbers as JSON values."""
        return asdict(self)

    def loss(self, phase: str, *, policy_weight: float, value_weight: float) -> float | None:
        """Returns the weighted sum of both losses of a phase, as in training; None for a phase without samples."""
        policy, value = self.policy[phase], self.value[phase]
        return None if policy is None or value is None else policy_weight * policy + value_weight * value


def phase_losses(
    evaluators: Mapping[str, Evaluator], dataset: Dataset, gate: PhaseGate, advance: Advance = ignore_progress
) -> list[PhaseLosses]:
    """Returns one row per evaluator: its losses on the samples of each phase of the gate and on all samples.

    Samples count for a phase by the gate's weight. Targets are the actions played and the returns. `advance` is called
    with the number of samples done and the total.
    """
    weights = dataset.phase_weights(gate)
    chunks: dict[str, list[FloatArray]] = {name: [] for name in evaluators}
    for rows in chunks_of(np.arange(len(dataset)), CHUNK):
        views, actions, returns = dataset.views(rows), dataset.actions(rows), dataset.returns(rows)
        with torch_threads(1):
            for name, evaluator in evaluators.items():
                chunks[name].append(per_sample_losses(evaluator.evaluate(views), actions, returns[:, 0]))
        advance(int(rows[-1]) + 1, len(dataset))
    empty = np.zeros((3, 0), dtype=np.float64)
    return [
        _means(name, np.concatenate([empty, *losses], axis=1), weights, gate.phase_names)
        for name, losses in chunks.items()
    ]


def team_evaluators(team: ExpertSet) -> dict[str, Evaluator]:
    """Returns each expert of a team, keyed by its phase, and the team itself as the mixture."""
    experts = zip(team.gate.phase_names, team.experts, strict=True)
    return {**{f"expert for {name}": expert for name, expert in experts}, MIXTURE: team}


def mean_over_seeds(tables: Sequence[Sequence[PhaseLosses]]) -> list[PhaseLosses]:
    """Returns the table of means over several trainings; a cell that is None in all of them stays None."""
    return [_mean_row(rows) for rows in zip(*tables, strict=True)]


def per_sample_losses(evaluation: Evaluation, actions: np.ndarray, returns: FloatArray) -> FloatArray:
    """Returns cross-entropy, squared error and correctness, `[3, N]`, for actions and returns `[N]`."""
    logits = evaluation.logits.astype(np.float64)
    value = evaluation.value if evaluation.value.ndim == 1 else evaluation.value[:, 0]
    peak = logits.max(axis=1, keepdims=True)
    total = peak[:, 0] + np.log(np.exp(logits - peak).sum(axis=1))
    chosen = logits[np.arange(len(actions)), actions]
    return np.stack([total - chosen, np.square(value - returns), logits.argmax(axis=1) == actions])


def _means(name: str, per_sample: FloatArray, weights: FloatArray, phase_names: Sequence[str]) -> PhaseLosses:
    """Returns the means of cross-entropy, squared error and correctness, `[3, N]`, by phase weights `[N, K]`."""
    columns = {phase: weights[:, k] for k, phase in enumerate(phase_names)}
    columns[ALL] = weights.sum(axis=1)
    totals = {phase: float(column.sum(dtype=np.float64)) for phase, column in columns.items()}

    def mean(numbers: FloatArray) -> dict[str, float | None]:
        return {
            phase: float(numbers @ column / totals[phase]) if totals[phase] else None
            for phase, column in columns.items()
        }

    policy, value, accuracy = map(mean, per_sample)
    return PhaseLosses(name, policy, value, accuracy, totals)


def _mean_row(rows: Sequence[PhaseLosses]) -> PhaseLosses:
    def mean(cells: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
        known = {key: [value for cell in cells if (value := cell[key]) is not None] for key in cells[0]}
        return {key: float(np.mean(values)) if values else None for key, values in known.items()}

    return PhaseLosses(
        rows[0].name,
        mean([row.policy for row in rows]),
        mean([row.value for row in rows]),
        mean([row.accuracy for row in rows]),
        {key: float(np.mean([row.counts[key] for row in rows])) for key in rows[0].counts},
    )
