"""Measures what a routing of batches to experts changes and costs, compared with one expert per position."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from moemcts.evaluation import Evaluation
from moemcts.experts import EACH, MAJORITY, MIXTURE, QUEUE, ROUTINGS, ExpertQueue, ExpertSet
from moemcts.game import FloatArray, Game, Views
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.inference.quantise import agreement
from moemcts.learn.threads import torch_threads

MEASURED = (EACH.name, MAJORITY.name, MIXTURE.name, QUEUE)
"""The routings that differ in their answers or in how they batch."""
BATCH = 64
"""Positions per batch, drawn at random; batches of a search come from fewer stages of a game and are purer."""
NUM_BATCHES = 8
REPEATS = 3
_SURE = 60.0
"""Logit margin that puts practically all probability on one action."""


@dataclass(frozen=True, kw_only=True)
class RoutingMeasures:
    """Effects of one routing of a team on batches of positions of all phases."""

    routing: str
    agreement: float
    """Share of positions in which its most likely legal move is that of the expert of the phase."""
    kl: float
    """Mean Kullback-Leibler divergence of its policy over legal moves from that expert's, in nats."""
    value: float
    """Mean absolute difference of the values from that expert's."""
    purity: float
    """Share of the answers that come from the expert of the phase."""
    positions_per_second: float
    """On one thread, per second of CPU time; the median of a few runs."""

    def to_json(self) -> dict[str, Any]:
        """Returns the numbers as JSON values, without the name."""
        digits = {"positions_per_second": 1}
        return {k: round(v, digits.get(k, 4)) for k, v in asdict(self).items() if k != "routing"}


def measure_routings(
    team: ExpertSet, dataset: Dataset, *, names: Sequence[str] = MEASURED, seed: int = 0
) -> list[RoutingMeasures]:
    """Returns the measures of each routing on batches drawn from a dataset; raises ValueError if it has no samples."""
    if not len(dataset):
        raise ValueError("expected positions to measure routings on, got none")
    rng = np.random.default_rng(seed)
    size = min(BATCH, len(dataset))
    batches = [dataset.views(np.sort(rng.choice(len(dataset), size, replace=False))) for _ in range(NUM_BATCHES)]
    weights = [team.gate.weights(views) for views in batches]
    legal = np.concatenate([views.legal_mask() for views in batches])
    measures = []
    with torch_threads(1):
        exact = Evaluation.joined(EACH.route(*both, team.experts) for both in zip(batches, weights, strict=True))
        for name in names:
            evaluate = _evaluation(name, team, dataset.game, batches)
            evaluation, seconds = evaluate(), []
            for _ in range(REPEATS):
                started = time.process_time()
                evaluate()
                seconds.append(time.process_time() - started)
            agreed = agreement(exact, evaluation, legal)
            measures.append(
                RoutingMeasures(
                    routing=name,
                    agreement=agreed.top1,
                    kl=agreed.kl,
                    value=agreed.value,
                    purity=float(np.mean([_purity(name, *both) for both in zip(batches, weights, strict=True)])),
                    positions_per_second=len(legal) / max(statistics.median(seconds), 1e-9),
                )
            )
    return measures


def _evaluation(name: str, team: ExpertSet, game: Game, batches: Sequence[Views]) -> Callable[[], Evaluation]:
    """Returns a function that evaluates all batches with a routing, including the gate."""
    if name != QUEUE:
        route = ROUTINGS[name].route
        return lambda: Evaluation.joined(route(views, team.gate.weights(views), team.experts) for views in batches)
    return lambda: _evaluate_queued(team, game, batches)


def _evaluate_queued(team: ExpertSet, game: Game, batches: Sequence[Views]) -> Evaluation:
    queue, start = ExpertQueue(team, game, batch_size=len(batches[0])), 0
    requests = []
    for views in batches:
        requests += list(queue.push(views, np.arange(start, start + len(views))))
        start += len(views)
    while rest := list(queue.drain()):
        requests += rest
    order = np.argsort(np.concatenate([rows for rows, _ in requests]))
    whole = Evaluation.joined(expert.evaluate(views) for _, (expert, views) in requests)
    return Evaluation(whole.logits[order], whole.value[order])


def _purity(name: str, views: Views, weights: FloatArray) -> float:
    """Returns the share of answers from the expert of the phase, measured with experts that identify themselves."""
    routing = ROUTINGS.get(name, EACH)
    num_phases = weights.shape[1]
    evaluation = routing.route(views, weights, [_PhaseIdentifier(phase, num_phases) for phase in range(num_phases)])
    shares = np.exp(evaluation.logits)
    return float((shares[np.arange(len(views)), weights.argmax(axis=1)] / shares.sum(axis=1)).mean())


class _PhaseIdentifier:
    """An expert whose policy is all on the number of its own phase."""

    def __init__(self, phase: int, num_phases: int) -> None:
        self._logits = np.full(num_phases, -_SURE, dtype=np.float32)
        self._logits[phase] = 0.0

    def evaluate(self, views: Views) -> Evaluation:
        logits = np.tile(self._logits, (len(views), 1))
        return Evaluation(logits, np.zeros(len(views), dtype=np.float32))
