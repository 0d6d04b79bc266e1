"""What each network of an experiment is worth on held-out games, phase by phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from moemcts.evaluation import Evaluator
from moemcts.experiment.arms import SINGLE

if TYPE_CHECKING:
    from moemcts.experiment.run import Experiment, Outcomes
    from moemcts.game import FloatArray
    from moemcts.learn.dataset import Dataset

CHUNK = 1024


@dataclass(frozen=True)
class PhaseLosses:
    """Means over the samples of each phase, by its name and `all`, then over training seeds; None where none is."""

    name: str
    policy: Mapping[str, float | None]
    """Cross-entropy over all actions, illegal ones too, as in training."""
    value: Mapping[str, float | None]
    """Squared error."""
    accuracy: Mapping[str, float | None]
    """Share of samples whose action is the likeliest."""
    counts: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """Returns the numbers as JSON values."""
        return asdict(self)


def held_out_losses(experiment: Experiment, outcomes: Outcomes) -> dict[str, list[PhaseLosses]]:
    """Returns for every team the losses of the single network, of each expert, and of all experts together."""
    found: dict[str, list[PhaseLosses]] = {}
    config = experiment.config
    for arm in experiment.teams:
        gate = experiment.gate(arm.gate)
        by_seed = []
        for seed in range(config.num_seeds):
            fraction = config.training.validation_fraction
            _, held_out = outcomes.dataset.split(fraction, config.seed + seed)
            weights = held_out.phase_weights(gate)
            team = outcomes.experts[arm.name, seed]
            networks: dict[str, Evaluator] = {"single": outcomes.experts[SINGLE, seed]}
            networks |= {f"expert for {name}": team.experts[phase] for phase, name in enumerate(gate.phase_names)}
            networks["mixture"] = team
            by_seed.append(
                [
                    _means(name, _per_sample(network, held_out), weights, gate.phase_names)
                    for name, network in networks.items()
                ]
            )
        found[arm.name] = [_over_seeds(rows) for rows in zip(*by_seed, strict=True)]
    return found


def _per_sample(network: Evaluator, dataset: Dataset) -> FloatArray:
    """Returns policy loss, value loss and correctness of every sample, `[3, N]`."""
    parts = []
    for start in range(0, len(dataset), CHUNK):
        rows = np.arange(start, min(start + CHUNK, len(dataset)))
        evaluation = network.evaluate(dataset.views(rows))
        logits = evaluation.logits.astype(np.float64)
        value = evaluation.value if evaluation.value.ndim == 1 else evaluation.value[:, 0]
        actions = dataset.actions(rows)
        peak = logits.max(axis=1, keepdims=True)
        total = peak[:, 0] + np.log(np.exp(logits - peak).sum(axis=1))
        parts.append(
            np.stack(
                [
                    total - logits[np.arange(len(rows)), actions],
                    np.square(value - dataset.returns(rows)[:, 0]),
                    logits.argmax(axis=1) == actions,
                ]
            )
        )
    return np.concatenate(parts, axis=1).astype(np.float32)


def _means(name: str, per_sample: FloatArray, weights: FloatArray, phase_names: Sequence[str]) -> PhaseLosses:
    columns = {**{phase: weights[:, k] for k, phase in enumerate(phase_names)}, "all": weights.sum(axis=1)}
    totals = {phase: float(column.sum(dtype=np.float64)) for phase, column in columns.items()}
    policy, value, accuracy = (
        {phase: float(numbers @ column / totals[phase]) if totals[phase] else None for phase, column in columns.items()}
        for numbers in per_sample.astype(np.float64)
    )
    return PhaseLosses(name, policy, value, accuracy, totals)


def _over_seeds(rows: Sequence[PhaseLosses]) -> PhaseLosses:
    def mean(tables: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
        found = {key: [value for table in tables if (value := table[key]) is not None] for key in tables[0]}
        return {key: float(np.mean(values)) if values else None for key, values in found.items()}

    counts = {key: float(np.mean([row.counts[key] for row in rows])) for key in rows[0].counts}
    return PhaseLosses(
        rows[0].name,
        mean([row.policy for row in rows]),
        mean([row.value for row in rows]),
        mean([row.accuracy for row in rows]),
        counts,
    )
