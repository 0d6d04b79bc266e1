"""Agents choose actions: who sits in a seat, as opposed to the player, which is the seat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from moemcts.evaluation import Evaluator, policy_probabilities
from moemcts.game import Action, Player, Views


@dataclass
class Seat:
    """One player's place in one game: its source of randomness and what its agent remembers.

    An agent that draws only from `rng` and remembers only in `memory` plays the same game whatever other games
    share its batches.
    """

    player: Player
    rng: np.random.Generator
    memory: Any = None


class Agent(Protocol):
    """Chooses an action for each of many views at once."""

    name: str

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Action]:
        """Returns a legal action for each view; `seats[i]` is the place that view `i` is played from.

        Raises AgentFailure for the views to which it has no answer.
        """


class RandomAgent:
    """Plays legal actions with equal probability."""

    name = "random"

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Action]:
        mask = views.legal_mask()
        return [int(seat.rng.choice(np.flatnonzero(row))) for row, seat in zip(mask, seats, strict=True)]


class PolicyAgent:
    """Plays from the policy of an evaluator, without search.

    Temperature 0 takes the most probable action, 1 samples from the policy.
    """

    def __init__(self, evaluator: Evaluator, *, temperature: float = 0.0, name: str = "policy") -> None:
        self.name = name
        self._evaluator = evaluator
        self._temperature = temperature

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Action]:
        probabilities = policy_probabilities(self._evaluator.evaluate(views).logits, views.legal_mask())
        return [choose(row, self._temperature, seat.rng) for row, seat in zip(probabilities, seats, strict=True)]


def choose(weights: np.ndarray[Any, Any], temperature: float, rng: np.random.Generator) -> int:
    """Returns an index drawn with probability proportional to `weights ** (1 / temperature)`.

    At temperature 0 that is the first of the largest weights. Raises ValueError if no weight is positive.
    """
    if not weights.max() > 0:
        raise ValueError(f"expected a positive weight, got {weights!r}")
    if temperature == 0:
        return int(weights.argmax())
    with np.errstate(divide="ignore"):
        logits = np.log(weights, dtype=np.float64) / temperature
    scaled = np.exp(logits - logits.max())
    return int(rng.choice(len(scaled), p=scaled / scaled.sum()))
