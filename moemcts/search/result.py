"""What a search found out about its root."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from moemcts.game import Action, FloatArray, IntArray, Player


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """Statistics of the root, for the player who searched; the four arrays have one entry per action searched."""

    player: Player
    actions: IntArray
    visits: IntArray
    values: NDArray[np.float64]
    """Mean value of each action in [-1, 1]; 0 where it was not tried."""
    priors: FloatArray
    value: float
    """Mean value of all visits, the root's own evaluation included."""
    evaluation: FloatArray
    """The root's own evaluation, `[P]`, by player."""
    num_nodes: int
    num_simulations: int
    mean_depth: float
    max_depth: int
    principal_variation: list[list[Action]] = field(default_factory=list)
    """The most visited line: per node the actions of the searched players."""

    @property
    def best_action(self) -> Action:
        """The most visited action, the first of several."""
        return int(self.actions[self.visits.argmax()])

    def policy(self, num_actions: int) -> FloatArray:
        """Returns the shares of visits over all actions, `[A]`; the priors where nothing was visited."""
        policy = np.zeros(num_actions, dtype=np.float32)
        total = self.visits.sum()
        policy[self.actions] = self.visits / total if total else self.priors
        return policy

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Self:
        """Returns the result as the native search reports it."""
        fields = dict(raw)
        sums = fields.pop("value_sums")
        return cls(values=sums / np.maximum(fields["visits"], 1), **fields)
