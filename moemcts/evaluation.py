"""Evaluations of views: what a network, a random playout or a constant thinks of them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from moemcts.game import BoolArray, FloatArray, GameSpec, Views
from moemcts.native import playouts


@dataclass(frozen=True)
class Evaluation:
    """What an evaluator thinks of N views."""

    logits: FloatArray
    """`[N, A]`, unnormalised; the search masks and normalises over the actions it considers."""
    value: FloatArray
    """`[N]` in [-1, 1] for the viewing player, or `[N, P]`, where column `k` is for the player `k` seats further on."""


class Evaluator(Protocol):
    """Evaluates views; rows do not influence each other."""

    def evaluate(self, views: Views) -> Evaluation:
        """Returns one row per view."""


def policy_probabilities(logits: FloatArray, legal_mask: BoolArray) -> FloatArray:
    """Returns the softmax over legal actions, `[N, A]`; zero where nothing is legal."""
    masked = np.where(legal_mask, logits, -np.inf)
    peak = masked.max(axis=1, keepdims=True, initial=-1e30)
    weights = np.exp(masked - peak)
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(weights / np.where(total > 0, total, 1), dtype=np.float32)


class UniformEvaluator:
    """Thinks every action equally good and every position even; what is left is the speed of the search."""

    def __init__(self, spec: GameSpec) -> None:
        self._num_actions = spec.num_actions
        self._by_size: dict[int, Evaluation] = {}

    def evaluate(self, views: Views) -> Evaluation:
        size = len(views)
        if size not in self._by_size:
            zero = np.zeros(1, dtype=np.float32)
            # Arrays with zero strides: nothing of size [N, A] is ever written.
            logits = np.broadcast_to(zero, (size, self._num_actions))
            self._by_size[size] = Evaluation(logits, np.broadcast_to(zero, (size,)))
        return self._by_size[size]


class RolloutEvaluator:
    """Values a view by random play to the end of the game, with a uniform policy.

    The playouts of a view depend only on its position, its player and the seed.
    """

    def __init__(self, spec: GameSpec, *, num_rollouts: int = 1, seed: int = 0) -> None:
        self._spec = spec
        self._num_rollouts = num_rollouts
        self._seed = seed

    def evaluate(self, views: Views) -> Evaluation:
        means = playouts(views, self._spec, self._num_rollouts, self._seed)
        columns = np.arange(means.shape[1])
        value = np.take_along_axis(means, (columns + views.players()[:, None]) % len(columns), axis=1)
        return Evaluation(np.zeros((len(views), self._spec.num_actions), dtype=np.float32), value)


class CachedEvaluator:
    """Remembers the evaluations of the most recently seen views, by `key` and player."""

    def __init__(self, evaluator: Evaluator, *, size: int = 100_000) -> None:
        self._evaluator = evaluator
        self._size = size
        self._cache: OrderedDict[tuple[int, int], tuple[FloatArray, FloatArray]] = OrderedDict()
        self.hits = 0
        self.misses = 0

    def evaluate(self, views: Views) -> Evaluation:
        keys = [(view.state.key(), view.player) for view in (views[row] for row in range(len(views)))]
        known = {key: self._cache[key] for key in keys if key in self._cache}
        fresh = list({key: row for row, key in enumerate(keys) if key not in known}.values())
        self.hits += len(keys) - len(fresh)
        self.misses += len(fresh)
        if fresh:
            evaluation = self._evaluator.evaluate(views.take(fresh))
            for i, row in enumerate(fresh):
                known[keys[row]] = (evaluation.logits[i].copy(), evaluation.value[i].copy())
        for key in keys:
            self._cache[key] = known[key]
            self._cache.move_to_end(key)
        while len(self._cache) > self._size:
            self._cache.popitem(last=False)
        return Evaluation(np.stack([known[key][0] for key in keys]), np.stack([known[key][1] for key in keys]))
