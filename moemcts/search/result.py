"""The result of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from moemcts.game import Action, BoolArray, FloatArray, IntArray, Player
from moemcts.search import gumbel as gumbels
from moemcts.search.config import SearchConfig
from moemcts.search.forced import pruned
from moemcts.search.foresight import EarlyEnd, foreseen_visits
from moemcts.search.gumbel import GumbelRoot


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """Statistics of the root, for the searching player; the arrays have one entry per searched action."""

    player: Player
    actions: IntArray
    visits: IntArray
    values: NDArray[np.float64]
    """Mean value of each action in [-1, 1], its result if proven; 0 if untried."""
    priors: FloatArray
    proven: BoolArray
    """Whether each action's result is proven by the solver."""
    proof_plies: IntArray
    """Plies from the root to the end of the game along the proof of each action; 0 without a proof."""
    value: float
    """Mean value over all visits, including the root's own evaluation; the root's result if proven."""
    plies_left: int | None = None
    """Plies to the end of the game if the root's result is proven; there may be a shorter way."""
    evaluation: FloatArray
    """The root's own evaluation, or its result if proven, `[P]`, by player."""
    num_nodes: int
    num_simulations: int
    mean_depth: float
    max_depth: int
    pruned: IntArray | None = None
    """With forced playouts: visits without the forced ones; None otherwise."""
    foreseen: IntArray | None = None
    """If the search ended early by `stop_tolerance`: the predicted final visits; None otherwise."""
    improved: FloatArray | None = None
    """With the Gumbel root: the improved policy, which is more informative than visits; None otherwise."""
    chosen: Action | None = None
    """With the Gumbel root: the action that remained."""
    principal_variation: list[list[Action]] = field(default_factory=list)
    """The most visited line: the actions of the searched players at each node."""

    @property
    def best_action(self) -> Action:
        """The most visited action that is not a proven loss, the first of several; with the Gumbel root, the one that
        remained.

        If the root's result is proven: the quickest win, or else the slowest among the best.
        """
        if self.chosen is not None and self.plies_left is None:
            return self.chosen
        return int(self.actions[self.weights.argmax()])

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """How strongly the search recommends each action: its visits, unless proofs say otherwise.

        The improved policy takes the place of visits with the Gumbel root, unforced visits with forced playouts, and
        predicted visits after an early end. Proven losses have weight zero, unless all actions lose. If the root's
        result is proven, only the quickest wins have weight, or else the slowest among the best results. Without any
        visits, priors are used. The array is shared and read-only.
        """
        weights = self._weights()
        weights.flags.writeable = False
        return weights

    def policy(self, num_actions: int) -> FloatArray:
        """Returns `weights` normalised, over all actions, `[A]`."""
        policy = np.zeros(num_actions, dtype=np.float32)
        weights = self.weights
        policy[self.actions] = weights / max(weights.sum(), 1e-300)
        return policy

    @classmethod
    def of(cls, raw: Mapping[str, Any], config: SearchConfig | None = None) -> Self:
        """Creates a result from what the native search reports."""
        fields = dict(raw)
        noise = fields.pop("noise")
        if config is not None and config.gumbel is not None and len(noise):
            fields |= _recommended(config.gumbel, noise, raw)
        if config is not None and config.forced_playouts > 0 and "visits" in raw:
            fields["pruned"] = _unforced(config, raw)
        if fields.pop("is_foreseen") and config is not None and config.early_end is not None:
            fields["foreseen"] = _foreseen(config, config.early_end, raw)
        sums, proofs = fields.pop("value_sums"), fields.pop("proof_values")
        means = sums / np.maximum(fields["visits"], 1)
        return cls(values=np.where(fields["proven"], proofs, means), **fields)

    def _weights(self) -> NDArray[np.float64]:
        if self.plies_left is not None:
            return self._optimal().astype(np.float64)
        is_open = ~(self.proven & (self.values <= -1))
        better = (known for known in (self.improved, self.pruned, self.foreseen) if known is not None)
        for known in (next(better, self.visits), self.priors):
            weights = known * is_open
            if weights.any():
                return np.asarray(weights, dtype=np.float64)
        return is_open.astype(np.float64)

    def _optimal(self) -> BoolArray:
        """Returns which actions attain the root's proven result, `[N]`: the quickest wins, or else the slowest."""
        values = np.where(self.proven, self.values, -np.inf)
        is_best = values == values.max()
        plies = self.proof_plies[is_best]
        return np.asarray(is_best & (self.proof_plies == (plies.min() if values.max() > 0 else plies.max())))


def _recommended(root: GumbelRoot, noise: NDArray[np.float64], raw: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the Gumbel root's recommendation: the improved policy and the action that remained.

    Actions whose result is proven have that result, not the mean of what was found before the proof.
    """
    visits, evaluation = raw["visits"].tolist(), float(raw["evaluation"][raw["player"]])
    sums = np.where(raw["proven"], raw["visits"] * raw["proof_values"], raw["value_sums"])
    logits = gumbels.logits(root, visits, sums.tolist(), raw["priors"].tolist(), evaluation)
    chosen = gumbels.best(noise.tolist(), logits, visits, (~_lost(raw)).tolist())
    return {"improved": gumbels.improved(logits), "chosen": int(raw["actions"][chosen])}


def _foreseen(config: SearchConfig, rule: EarlyEnd, raw: Mapping[str, Any]) -> IntArray:
    """Returns the predicted visits of a root's actions after the remaining simulations, `[n]`."""
    untried = config.first_play_value(float(raw["value"]), float(raw["priors"][raw["visits"] > 0].sum()))
    visits, value_sums, priors = (raw[name].tolist() for name in ("visits", "value_sums", "priors"))
    known = (visits, value_sums, priors, _lost(raw).tolist())
    num_more = max(rule.simulations - int(raw["num_simulations"]), 0)
    found = foreseen_visits(num_more, config.exploration, untried, *known, config.width)
    return np.array(found, dtype=np.int64)


def _unforced(config: SearchConfig, raw: Mapping[str, Any]) -> IntArray:
    """Returns the visits of a root's actions without the forced ones, `[n]`."""
    visits = raw["visits"].tolist()
    scale = config.exploration(1.0 + sum(visits))
    known = (raw["value_sums"].tolist(), raw["priors"].tolist(), _lost(raw).tolist())
    left = pruned(config.forced_playouts, scale, visits, *known)
    return np.array(left, dtype=np.int64)


def _lost(raw: Mapping[str, Any]) -> BoolArray:
    """Returns which of a root's actions are proven losses, `[n]`."""
    return np.asarray(raw["proven"] & (raw["proof_values"] <= -1))
