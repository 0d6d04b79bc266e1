"""Evaluations of views, by networks, random playouts or constants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from moemcts.game import BoolArray, FloatArray, GameSpec, Views, from_own_seats
from moemcts.native import Identities, core, identities, playouts

if TYPE_CHECKING:
    from moemcts.gates import PhaseGate

MAX_ROLLOUTS = 2**32 - 1
"""The largest count of the native playouts, 32 bits."""


@dataclass(frozen=True)
class Evaluation:
    """The policy and the values of N views."""

    logits: FloatArray
    """`[N, A]`, unnormalised; the search masks and normalises over the actions it considers."""
    value: FloatArray
    """`[N]` in [-1, 1] for the viewing player, or `[N, P]`, where column `k` is for the player `k` seats after it."""

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        """Returns the rows of several evaluations, concatenated; raises ValueError if there are none."""
        evaluations = list(parts)
        logits = np.concatenate([evaluation.logits for evaluation in evaluations])
        value = np.concatenate([evaluation.value for evaluation in evaluations])
        return cls(logits, value)


def check_same_shape(value: FloatArray, other: FloatArray) -> None:
    """Raises ValueError if one value is for the viewing player and the other for all players."""
    if value.shape[1:] != other.shape[1:]:
        raise ValueError(f"expected values of one shape, [N] or [N, P], got {value.shape} and {other.shape}")


class Evaluator(Protocol):
    """Evaluates views; rows are independent of each other unless `is_batch_dependent`."""

    def evaluate(self, views: Views) -> Evaluation:
        """Returns the evaluation, one row per view."""


def is_batch_dependent(evaluator: Evaluator) -> bool:
    """Returns whether answers depend on the other views of the batch, as with experts chosen by majority.

    Such an evaluator must not be given positions of different games in one batch, as each would influence the others.
    """
    return getattr(evaluator, "is_batch_dependent", False)


def policy_probabilities(logits: FloatArray, legal_mask: BoolArray) -> FloatArray:
    """Returns the softmax over legal actions, `[N, A]`; rows without legal actions are zero."""
    masked = np.where(legal_mask, logits, -np.inf)
    peak = masked.max(axis=1, keepdims=True, initial=-1e30)
    weights = np.exp(masked - peak)
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(weights / np.where(total > 0, total, 1), dtype=np.float32)


class UniformEvaluator:
    """Rates all actions as equal and all positions as even, which leaves nothing but the cost of the search."""

    def __init__(self, spec: GameSpec) -> None:
        self._num_actions = spec.num_actions
        self._by_size: dict[int, Evaluation] = {}

    def evaluate(self, views: Views) -> Evaluation:
        size = len(views)
        if size not in self._by_size:
            zero = np.zeros(1, dtype=np.float32)
            # Arrays with zero strides: no memory of size [N, A] is ever written.
            logits = np.broadcast_to(zero, (size, self._num_actions))
            self._by_size[size] = Evaluation(logits, np.broadcast_to(zero, (size,)))
        return self._by_size[size]


class RolloutEvaluator:
    """Evaluates a view by random playouts to the end of the game, with a uniform policy.

    The playouts of a view depend only on its position, its player and the seed.
    """

    def __init__(self, spec: GameSpec, *, num_rollouts: int = 1, seed: int = 0) -> None:
        """Plays `num_rollouts` games from each view; raises ValueError unless it is from 1 to `MAX_ROLLOUTS`."""
        if not 1 <= num_rollouts <= MAX_ROLLOUTS:
            raise ValueError(f"expected 1 to {MAX_ROLLOUTS} rollouts, got {num_rollouts}")
        self._spec = spec
        self._num_rollouts = num_rollouts
        self._seed = seed

    def evaluate(self, views: Views) -> Evaluation:
        means = playouts(views, self._spec, self._num_rollouts, self._seed)
        logits = np.zeros((len(views), self._spec.num_actions), dtype=np.float32)
        return Evaluation(logits, from_own_seats(means, views.players()))


class EvaluatorWrapper:
    """Base of evaluators that wrap another one: attributes that are inherited from it."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    @property
    def is_batch_dependent(self) -> bool:
        """Whether the wrapped evaluator's answers depend on the batch."""
        return is_batch_dependent(self._evaluator)

    @property
    def gate(self) -> PhaseGate | None:
        """The wrapped evaluator's gate, which names the phases of positions; None if it has none."""
        return getattr(self._evaluator, "gate", None)


class CachedEvaluator(EvaluatorWrapper):
    """Caches an evaluator's results by the key of the position, its ply and the player; each view is evaluated once.

    When the cache is full, the oldest entries are evicted. It is thread-safe: calls are serialised. Copies, also by
    pickling, have the same size and start empty.
    """

    def __init__(self, evaluator: Evaluator, *, size: int = 100_000) -> None:
        """Caches up to `size` views; raises ValueError below 1, and for an evaluator that `is_batch_dependent`."""
        if size < 1:
            raise ValueError(f"expected a cache of at least one view, got {size}")
        if is_batch_dependent(evaluator):
            raise ValueError(
                f"expected no cache, as the evaluator's answers depend on their batch, got one of size {size}"
            )
        super().__init__(evaluator)
        self._size = size
        self._clear()

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state to copy or pickle, without the cached entries."""
        return {"_evaluator": self._evaluator, "_size": self._size}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._clear()

    def _clear(self) -> None:
        """Empties the cache."""
        self._lock = Lock()
        self._index = core.CacheIndex(self._size)
        self._is_corrupt = False
        self._logits = self._value = np.empty(0, dtype=np.float32)
        self.hits = 0
        self.misses = 0

    def evaluate(self, views: Views) -> Evaluation:
        if not len(views):
            # Not used to learn the shapes of answers: axes may have length 0.
            return self._evaluator.evaluate(views)
        with self._lock:
            return self._evaluate(views)

    def _evaluate(self, views: Views) -> Evaluation:
        if self._is_corrupt:
            self._index, self._is_corrupt = core.CacheIndex(self._size), False
        keys = identities(views)
        # The cached row of each view, -1 for none; the views to evaluate; for each view, its row among these.
        cached, missing, evaluated = self._index.find(keys)
        self.hits += len(views) - len(missing)
        self.misses += len(missing)
        if not len(missing):
            return Evaluation(self._logits[cached], self._value[cached])
        fresh = self._evaluator.evaluate(views.take(missing) if len(missing) < len(views) else views)
        if not len(self._logits):
            shapes = (fresh.logits.shape[1:], fresh.value.shape[1:])
            self._logits, self._value = (np.empty((self._size, *shape), dtype=np.float32) for shape in shapes)
        check_same_shape(self._value, fresh.value)
        # Before anything is evicted: cached rows are read before new ones may overwrite them.
        logits, value = self._logits[cached], self._value[cached]
        new = np.flatnonzero(cached < 0)
        logits[new], value[new] = fresh.logits[evaluated[new]], fresh.value[evaluated[new]]
        position_keys, plies, players = keys
        self._store((position_keys[missing], plies[missing], players[missing]), fresh)
        return Evaluation(logits, value)

    def _store(self, keys: Identities, evaluation: Evaluation) -> None:
        """Stores the last `size` rows in place of the oldest."""
        # An interruption in here, by a signal, would leave entries in the index that point to the wrong rows.
        self._is_corrupt = True
        rows = self._index.keep(keys)
        start = len(evaluation.value) - len(rows)
        self._logits[rows], self._value[rows] = evaluation.logits[start:], evaluation.value[start:]
        self._is_corrupt = False
