"""A gate and one evaluator per phase, combined into one evaluator."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from moemcts.coroutines import EvaluationRequest
from moemcts.errors import unknown_name
from moemcts.evaluation import Evaluation, Evaluator, check_same_shape, is_batch_dependent
from moemcts.game import FloatArray, Game, IntArray, Views
from moemcts.gates import HardGate, PhaseGate, first_invalid_row

QUEUE = "queue"
"""The name of the routing by `ExpertQueue`, in addition to those in `ROUTINGS`."""


@dataclass(frozen=True, kw_only=True)
class Routing:
    """How views are assigned to experts, and the properties of the resulting evaluator."""

    name: str
    route: Callable[[Views, FloatArray, Sequence[Evaluator]], Evaluation]
    """Evaluates N views, given the phase weights `[N, K]` and the K experts."""
    is_batch_dependent: bool = False
    """Whether the expert of a view depends on the other views of the batch."""
    is_top_one: bool = False
    """Whether each view is evaluated by one expert, that of its phase with the largest weight, whatever else is in the
    batch."""
    is_stacked: bool = False
    """Whether PyTorch loads the experts such that all are computed in one pass."""


class Evaluators(Sequence[Evaluator]):
    """Evaluators that can evaluate one batch jointly when its rows belong to different evaluators."""

    @abstractmethod
    def evaluate_by(self, experts: IntArray, views: Views) -> Evaluation:
        """Returns one row per view, from the evaluator with index `experts[row]`."""

    @overload
    def __getitem__(self, number: int) -> Evaluator: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[Evaluator]: ...

    def __getitem__(self, number: int | slice) -> Evaluator | Sequence[Evaluator]:
        """Returns one evaluator, or a list of them, which delegate to `evaluate_by` and share its state."""
        numbers = range(len(self))[number]
        if isinstance(numbers, int):
            return _Member(self, numbers)
        return [_Member(self, member) for member in numbers]


class _Member:
    """One evaluator of `Evaluators`."""

    def __init__(self, evaluators: Evaluators, number: int) -> None:
        self._evaluators = evaluators
        self._number = number

    def evaluate(self, views: Views) -> Evaluation:
        return self._evaluators.evaluate_by(np.full(len(views), self._number, dtype=np.int64), views)


class ExpertSet:
    """Evaluates each view with the experts of its phase."""

    def __init__(self, gate: PhaseGate, experts: Sequence[Evaluator], *, routing: Routing | None = None) -> None:
        """Raises ValueError unless there is one expert per phase of the gate.

        The default routing is `EACH` for a hard gate and `MIXTURE` for a soft one.
        """
        if len(experts) != gate.num_phases:
            raise ValueError(f"expected {gate.num_phases} experts, one per phase of the gate, got {len(experts)}")
        self.gate = gate
        self.experts: Sequence[Evaluator] = experts if isinstance(experts, Evaluators) else tuple(experts)
        self.routing = routing or (EACH if isinstance(gate, HardGate) else MIXTURE)

    @property
    def is_batch_dependent(self) -> bool:
        """Whether the evaluation of a view depends on the other views of the batch."""
        return self.routing.is_batch_dependent or any(is_batch_dependent(expert) for expert in self.experts)

    def evaluate(self, views: Views) -> Evaluation:
        return self.routing.route(views, self.gate.weights(views), self.experts)

    def only(self, phases: Sequence[str], other: Evaluator) -> ExpertSet:
        """Returns a set that keeps the experts of these phases and replaces the others by another evaluator.

        Raises UsageError for a phase that the gate does not have.
        """
        names = self.gate.phase_names
        for phase in phases:
            if phase not in names:
                raise unknown_name("phase", phase, names)
        if isinstance(other, ExpertSet) and other.gate.num_phases == 1:
            # A single network needs no gate.
            other = other.experts[0]
        experts = [expert if name in phases else other for name, expert in zip(names, self.experts, strict=True)]
        return ExpertSet(self.gate, experts, routing=self.routing)


class PolicyValueSplit:
    """Combines the policy of experts with the values of another evaluator, to tell which of them improves a search."""

    def __init__(self, experts: ExpertSet, other: Evaluator) -> None:
        self.experts = experts
        self.other = other

    @property
    def gate(self) -> PhaseGate:
        """The gate of the experts that provide the policy."""
        return self.experts.gate

    @property
    def is_batch_dependent(self) -> bool:
        """Whether the evaluation of a view depends on the other views of the batch."""
        return is_batch_dependent(self.experts) or is_batch_dependent(self.other)

    def evaluate(self, views: Views) -> Evaluation:
        return Evaluation(self.experts.evaluate(views).logits, self.other.evaluate(views).value)


def route_each(views: Views, weights: FloatArray, experts: Sequence[Evaluator]) -> Evaluation:
    """Evaluates every view with the expert of its phase with the largest weight: exact, in one batch per expert, or in
    one for all if the experts are `Evaluators`.
    """
    if isinstance(experts, Evaluators):
        return experts.evaluate_by(weights.argmax(axis=1), views)
    return _evaluate_per_phase(views, weights.argmax(axis=1), experts)


def route_majority(views: Views, weights: FloatArray, experts: Sequence[Evaluator]) -> Evaluation:
    """Evaluates the whole batch with the expert of its most frequent phase; ties go to the earlier phase.

    The papers' routing (CrazyAra, searchthread.cpp): cheaper on a GPU, but uses the wrong expert for views of other
    phases. A batch comes from one search, there and here: agents evaluate the trees of different games one after the
    other.
    """
    votes = np.bincount(weights.argmax(axis=1), minlength=len(experts))
    return experts[int(votes.argmax())].evaluate(views)


def route_mixture(views: Views, weights: FloatArray, experts: Sequence[Evaluator]) -> Evaluation:
    """Averages probabilities and values of all experts, with the phase weights as convex coefficients.

    Probabilities are over all actions, illegal ones included, as mixtures are trained; the search masks them. Raises
    ValueError if the weights of a view are negative or do not sum to one.
    """
    if row := first_invalid_row(weights):
        raise ValueError(f"expected phase weights that are non-negative and sum to one for every view, got {row}")
    probabilities: FloatArray | None = None
    value: FloatArray | None = None
    for phase, expert in enumerate(experts):
        has_weight = weights[:, phase] > 0
        if not has_weight.any():
            continue
        # Views are not copied for an expert with weight in all of them, the usual case with soft gates.
        rows: IntArray | slice = slice(None) if has_weight.all() else np.flatnonzero(has_weight)
        evaluation = expert.evaluate(views if isinstance(rows, slice) else views.take(rows))
        share = weights[rows, phase].astype(np.float32)
        if probabilities is None or value is None:
            probabilities = np.zeros((len(views), evaluation.logits.shape[1]), dtype=np.float32)
            value = np.zeros((len(views), *evaluation.value.shape[1:]), dtype=np.float32)
        check_same_shape(value, evaluation.value)
        probabilities[rows] += _scaled_softmax(evaluation.logits, share)
        value[rows] += (share * evaluation.value.T).T
    if probabilities is None or value is None:
        raise ValueError("expected at least one view to evaluate, got none")
    # All logits stay finite, so that masking is left to the search.
    np.maximum(probabilities, np.float32(1e-30), out=probabilities)
    return Evaluation(np.log(probabilities, out=probabilities), value)


EACH = Routing(name="each", route=route_each, is_top_one=True)
STACKED = Routing(name="stacked", route=route_each, is_top_one=True, is_stacked=True)
MAJORITY = Routing(name="majority", route=route_majority, is_batch_dependent=True)
MIXTURE = Routing(name="mixture", route=route_mixture)
ROUTINGS = {routing.name: routing for routing in (EACH, STACKED, MAJORITY, MIXTURE)}
"""The routings that handle one batch at a time, by name; `ExpertQueue` works across batches."""
ROUTING_NAMES = (*ROUTINGS, QUEUE)


class ExpertQueue:
    """Queues views until there is a full batch for their expert (`queue` routing).

    A search that uses it has more leaves in flight than with `route_each`, and no leaf is evaluated by the expert of
    another phase. Each view gets the evaluation of `route_each`, whatever the routing of the set.
    """

    def __init__(self, experts: ExpertSet, game: Game, *, batch_size: int) -> None:
        self._experts = experts
        self._game = game
        self._batch_size = batch_size
        self._waiting: list[list[tuple[Views, int, int]]] = [[] for _ in experts.experts]

    def push(self, views: Views, rows: IntArray) -> Iterator[tuple[IntArray, EvaluationRequest]]:
        """Queues views under the given row numbers; yields the row numbers and the request of each full batch."""
        phases = self._experts.gate.weights(views).argmax(axis=1)
        for i, phase in enumerate(phases):
            self._waiting[phase].append((views, i, int(rows[i])))
        for phase, waiting in enumerate(self._waiting):
            while len(waiting) >= self._batch_size:
                yield self._request(phase, waiting[: self._batch_size])
                del waiting[: self._batch_size]

    def drain(self) -> Iterator[tuple[IntArray, EvaluationRequest]]:
        """Yields the request of the longest queue, if any view is waiting, however short it is."""
        phase = max(range(len(self._waiting)), key=lambda k: len(self._waiting[k]))
        if self._waiting[phase]:
            batch, self._waiting[phase] = self._waiting[phase], []
            yield self._request(phase, batch)

    def _request(self, phase: int, batch: Sequence[tuple[Views, int, int]]) -> tuple[IntArray, EvaluationRequest]:
        """Returns the row numbers of a batch, and the request to evaluate it."""
        rows = np.array([row for _, _, row in batch], dtype=np.int64)
        joined = self._game.views([views[i] for views, i, _ in batch])
        return rows, (self._experts.experts[phase], joined)


def _scaled_softmax(logits: FloatArray, scale: FloatArray) -> FloatArray:
    """Returns the softmax of `logits`, `[N, A]`, times the scale of each row, `[N]`."""
    weights: FloatArray = np.subtract(logits, logits.max(axis=1, keepdims=True), dtype=np.float32)
    np.exp(weights, out=weights)
    weights *= (scale / weights.sum(axis=1))[:, None]
    return weights


def _evaluate_per_phase(views: Views, phases: IntArray, experts: Sequence[Evaluator]) -> Evaluation:
    """Evaluates the views of each phase, `[N]`, in one batch."""
    present = np.unique(phases)
    if len(present) == 1:
        return experts[int(present[0])].evaluate(views)
    logits: FloatArray | None = None
    value: FloatArray | None = None
    for phase in present:
        rows = np.flatnonzero(phases == phase)
        part = experts[int(phase)].evaluate(views.take(rows))
        if logits is None or value is None:
            logits = np.empty((len(views), *part.logits.shape[1:]), dtype=part.logits.dtype)
            value = np.empty((len(views), *part.value.shape[1:]), dtype=part.value.dtype)
        check_same_shape(value, part.value)
        # Written in place: concatenating first would copy the rows twice.
        logits[rows], value[rows] = part.logits, part.value
    if logits is None or value is None:
        raise ValueError("expected at least one view to evaluate, got none")
    return Evaluation(logits, value)
