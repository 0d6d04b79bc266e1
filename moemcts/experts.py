"""A gate and one evaluator per phase, which together are an evaluator."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from moemcts.errors import unknown_name
from moemcts.evaluation import Evaluation, Evaluator, check_alike, looks_at_batches
from moemcts.game import FloatArray, Game, IntArray, Views
from moemcts.gates import HardGate, PhaseGate, row_that_is_wrong

QUEUE = "queue"
"""The name of what `ExpertQueue` does, beside those of `ROUTINGS`."""


@dataclass(frozen=True, kw_only=True)
class Routing:
    """Which experts evaluate which views, and what follows from that for those who ask."""

    name: str
    route: Callable[[Views, FloatArray, Sequence[Evaluator]], Evaluation]
    """Evaluates N views, given the phase weights `[N, K]` and the K experts."""
    looks_at_batches: bool = False
    """Whether the expert that a view gets depends on the views beside it."""
    asks_one_each: bool = False
    """Whether every view is evaluated by the expert of its weightiest phase alone, whatever is beside it."""
    is_stacked: bool = False
    """Whether PyTorch opens the experts so that all are computed at once."""


class Evaluators(Sequence[Evaluator]):
    """Evaluators that can look at a batch together where rows belong to different ones."""

    @abstractmethod
    def evaluate_by(self, experts: IntArray, views: Views) -> Evaluation:
        """Returns one row per view, of the evaluator numbered `experts[row]`."""

    @overload
    def __getitem__(self, number: int) -> Evaluator: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[Evaluator]: ...

    def __getitem__(self, number: int | slice) -> Evaluator | Sequence[Evaluator]:
        """Returns one of them alone; it still takes part in the memory of all."""
        numbers = range(len(self))[number]
        return _Member(self, numbers) if isinstance(numbers, int) else [_Member(self, one) for one in numbers]


class _Member:
    """One of several evaluators."""

    def __init__(self, team: Evaluators, number: int) -> None:
        self._team = team
        self._number = number

    def evaluate(self, views: Views) -> Evaluation:
        return self._team.evaluate_by(np.full(len(views), self._number, dtype=np.int64), views)


class ExpertSet:
    """Evaluates each view by the experts of its phase."""

    def __init__(self, gate: PhaseGate, experts: Sequence[Evaluator], *, routing: Routing | None = None) -> None:
        """Raises ValueError unless there is one expert per phase of the gate.

        Without a routing each view has the expert of its phase, or all of them mixed where the gate is soft.
        """
        if len(experts) != gate.num_phases:
            raise ValueError(f"expected {gate.num_phases} experts, one per phase of the gate, got {len(experts)}")
        self.gate = gate
        self.experts: Sequence[Evaluator] = experts if isinstance(experts, Evaluators) else tuple(experts)
        self.routing = routing or (EACH if isinstance(gate, HardGate) else MIXTURE)

    @property
    def looks_at_batches(self) -> bool:
        """Whether what it says of a view depends on the views beside it."""
        return self.routing.looks_at_batches or any(looks_at_batches(expert) for expert in self.experts)

    def evaluate(self, views: Views) -> Evaluation:
        return self.routing.route(views, self.gate.weights(views), self.experts)

    def only(self, phases: Sequence[str], other: Evaluator) -> ExpertSet:
        """Returns a set with these experts alone, and another evaluator in the place of the rest.

        Raises UsageError for a phase that the gate does not have.
        """
        names = self.gate.phase_names
        for phase in phases:
            if phase not in names:
                raise unknown_name("phase", phase, names)
        if isinstance(other, ExpertSet) and other.gate.num_phases == 1:
            # One network needs nobody to choose it.
            other = other.experts[0]
        kept = [expert if name in phases else other for name, expert in zip(names, self.experts, strict=True)]
        return ExpertSet(self.gate, kept, routing=self.routing)


class ValuedBy:
    """Has the policy of experts and the values of another evaluator: whose part makes a search stronger can be told."""

    def __init__(self, experts: ExpertSet, other: Evaluator) -> None:
        self.experts = experts
        self.other = other

    @property
    def gate(self) -> PhaseGate:
        """That of the experts whose policy it has."""
        return self.experts.gate

    @property
    def looks_at_batches(self) -> bool:
        """Whether what it says of a view depends on the views beside it."""
        return any(looks_at_batches(one) for one in (self.experts, self.other))

    def evaluate(self, views: Views) -> Evaluation:
        return Evaluation(self.experts.evaluate(views).logits, self.other.evaluate(views).value)


def route_each(views: Views, weights: FloatArray, experts: Sequence[Evaluator]) -> Evaluation:
    """Evaluates every view by the expert of its weightiest phase: exact, one batch per expert, or one for all that
    can look at it together.
    """
    if isinstance(experts, Evaluators):
        return experts.evaluate_by(weights.argmax(axis=1), views)
    return _route(views, weights.argmax(axis=1), experts)


def route_majority(views: Views, weights: FloatArray, experts: Sequence[Evaluator]) -> Evaluation:
    """Evaluates the whole batch by the expert of its most frequent phase, ties to the earlier one.

    The papers' routing (CrazyAra, searchthread.cpp): cheaper on a GPU, wrong for the views of other phases. A batch is
    that of one search there, and here too: agents ask about the trees of different games one after the other.
    """
    votes = np.bincount(weights.argmax(axis=1), minlength=len(experts))
    return experts[int(votes.argmax())].evaluate(views)


def route_mixture(views: Views, weights: FloatArray, experts: Sequence[Evaluator]) -> Evaluation:
    """Mixes probabilities and values of all experts with the phase weights as convex coefficients.

    Probabilities are those over all actions, illegal ones too, as mixtures are trained; the search masks them. Raises
    ValueError where the weights of a view are negative or do not sum to one.
    """
    if row := row_that_is_wrong(weights):
        raise ValueError(f"expected weights of phases of at least 0 that sum to one for every view, got {row}")
    probabilities: FloatArray | None = None
    value: FloatArray | None = None
    for phase, expert in enumerate(experts):
        heard = weights[:, phase] > 0
        if not heard.any():
            continue
        # Nothing is copied where all views hear it, as they do where a gate is soft.
        rows: IntArray | slice = slice(None) if heard.all() else np.flatnonzero(heard)
        evaluation = expert.evaluate(views if isinstance(rows, slice) else views.take(rows))
        share = weights[rows, phase].astype(np.float32)
        if probabilities is None or value is None:
            probabilities = np.zeros((len(views), evaluation.logits.shape[1]), dtype=np.float32)
            value = np.zeros((len(views), *evaluation.value.shape[1:]), dtype=np.float32)
        check_alike(value, evaluation.value)
        probabilities[rows] += _shared_out(share, evaluation.logits)
        value[rows] += (share * evaluation.value.T).T
    if probabilities is None or value is None:
        raise ValueError("expected views to evaluate, got none")
    # Every legal action keeps a finite logit, so that masking is left to the search.
    np.maximum(probabilities, np.float32(1e-30), out=probabilities)
    return Evaluation(np.log(probabilities, out=probabilities), value)


EACH = Routing(name="each", route=route_each, asks_one_each=True)
STACKED = Routing(name="stacked", route=route_each, asks_one_each=True, is_stacked=True)
MAJORITY = Routing(name="majority", route=route_majority, looks_at_batches=True)
MIXTURE = Routing(name="mixture", route=route_mixture)
ROUTINGS = {one.name: one for one in (EACH, STACKED, MAJORITY, MIXTURE)}
"""The routings that look at one batch at a time, by name; `ExpertQueue` looks across batches."""
ROUTING_NAMES = (*ROUTINGS, QUEUE)


class ExpertQueue:
    """Lets views wait until a full batch for their expert has come together (`queue` routing).

    A search that runs on it has more leaves in flight than it would with `route_each`, and none is evaluated by an
    expert of another phase. Each view is answered as by `route_each`, whatever the routing of the set.
    """

    def __init__(self, experts: ExpertSet, game: Game, *, batch_size: int) -> None:
        self._set = experts
        self._game = game
        self._batch_size = batch_size
        self._waiting: list[list[tuple[Views, int, int]]] = [[] for _ in experts.experts]

    def push(self, views: Views, rows: IntArray) -> Iterator[tuple[IntArray, Evaluation]]:
        """Adds views under the given row numbers, and yields what full batches gave: row numbers, evaluation."""
        phases = self._set.gate.weights(views).argmax(axis=1)
        for i, phase in enumerate(phases):
            self._waiting[phase].append((views, i, int(rows[i])))
        for phase, waiting in enumerate(self._waiting):
            while len(waiting) >= self._batch_size:
                yield self._evaluate(phase, waiting[: self._batch_size])
                del waiting[: self._batch_size]

    def drain(self) -> Iterator[tuple[IntArray, Evaluation]]:
        """Yields the fullest batch that is waiting, if any, however small."""
        phase = max(range(len(self._waiting)), key=lambda k: len(self._waiting[k]))
        if self._waiting[phase]:
            batch, self._waiting[phase] = self._waiting[phase], []
            yield self._evaluate(phase, batch)

    def _evaluate(self, phase: int, batch: Sequence[tuple[Views, int, int]]) -> tuple[IntArray, Evaluation]:
        together = self._game.views([views[i] for views, i, _ in batch])
        return np.array([row for _, _, row in batch], dtype=np.int64), self._set.experts[phase].evaluate(together)


def _shared_out(share: FloatArray, logits: FloatArray) -> FloatArray:
    """Returns a share of one per row, `[N]`, among all actions by their probabilities, `[N, A]`."""
    weights: FloatArray = np.subtract(logits, logits.max(axis=1, keepdims=True), dtype=np.float32)
    np.exp(weights, out=weights)
    weights *= (share / weights.sum(axis=1))[:, None]
    return weights


def _route(views: Views, phases: IntArray, experts: Sequence[Evaluator]) -> Evaluation:
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
        check_alike(value, part.value)
        # Straight to where they belong: put together first, they would be copied twice.
        logits[rows], value[rows] = part.logits, part.value
    if logits is None or value is None:
        raise ValueError("expected at least one view to evaluate, got none")
    return Evaluation(logits, value)
