"""The nodes of the definition's tree: statistics, priors and results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from moemcts.game import Action, GameSpec, Player, State
from moemcts.search.config import SearchConfig

Float64s = NDArray[np.float64]

UNTRIED = (1.0, 1.0)
"""Proof numbers of what nobody has looked at."""


@dataclass
class SeatStatistics:
    """What one active player knows about its actions at a node."""

    player: Player
    actions: list[Action]
    priors: NDArray[np.float32]
    visits: list[int]
    in_flight: list[int]
    value_sums: list[float]
    value_sum: float = 0.0
    visited_prior: float = 0.0


@dataclass
class Node:
    state: State
    values: NDArray[np.float32]
    seats: list[SeatStatistics] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)
    """Probabilities of the outcomes where chance moves."""
    replies: dict[Player, Action] = field(default_factory=dict)
    """What opponents do here, where their replies are kept."""
    steps: list[tuple[Float64s, Float64s]] = field(default_factory=list)
    """What each step from the parent paid and what a value is worth before it, as far as that changes anything."""
    children: dict[tuple[int, ...], Node] = field(default_factory=dict)
    """By the indices of the chosen actions or of the outcome, and by the replies drawn."""
    visits: int = 0
    in_flight: int = 0
    is_pending: bool = False
    plies_left: int | None = None
    """Plies to the end of the game where that is known: 0 at an end, more where the solver proved it."""
    numbers: tuple[float, ...] = UNTRIED
    """Proof numbers of both players' wins, kept where the solver is on."""
    scouts: int = 0
    """Descents that looked for proofs and came by."""


Path = list[tuple[Node, tuple[int, ...]]]


def untried_value(node: Node, seat: SeatStatistics, config: SearchConfig) -> float:
    """Returns what an action that was not tried is worth to a seat."""
    return config.untried(seat.value_sum / node.visits, seat.visited_prior)


def drawn(chances: Sequence[float], number: float) -> int:
    """Returns the index of the outcome that a number in [0, 1) draws, in proportion to the probabilities."""
    last = 0
    for i, chance in enumerate(chances):
        if chance > 0:
            last = i
            number -= chance
            if number < 0:
                break
    return last


def priors_of(logits: NDArray[np.float32], actions: Sequence[Action], config: SearchConfig) -> NDArray[np.float32]:
    """Returns the priors of actions, `[n]`, by the logits of all, `[A]`."""
    scaled = [float(logits[action]) / config.policy_temperature for action in actions]
    peak = max(scaled)
    peak = 0.0 if peak == -math.inf else peak
    weights = [math.exp(logit - peak) for logit in scaled]
    total = 0.0
    for weight in weights:
        total += weight
    even, share = 1.0 / len(actions), config.uniform_share
    policy = [weight / total if total else even for weight in weights]
    return np.array([(1.0 - share) * prior + share * even for prior in policy], dtype=np.float32)


def with_noise(priors: NDArray[np.float32], noise: Sequence[float], fraction: float) -> NDArray[np.float32]:
    """Returns priors with a share of noise, which need not sum to one, `[n]`."""
    total = 0.0
    for share in noise:
        total += share
    # All of it may be too small for a number.
    shares = [share / total for share in noise] if total > 0 else [1.0 / len(noise)] * len(noise)
    mixed = [(1.0 - fraction) * float(prior) + fraction * share for prior, share in zip(priors, shares, strict=True)]
    return np.array(mixed, dtype=np.float32)


def estimates(
    spec: GameSpec, viewer: Player, value: Sequence[float], viewers: Set[Player], decided: Mapping[Player, float]
) -> list[float]:
    """Returns what a view adds to the values of all players, `[P]`: they are the means of all views.

    A view that values its player alone speaks for its team, and where returns have a fixed sum, for those who share
    what is left of it: the other teams' players for whom nothing is decided.
    """
    num_players, total, own = spec.num_players, spec.utility_sum, value[0]
    if len(value) > 1:
        return [value[(player - viewer) % num_players] / len(viewers) for player in range(num_players)]
    team = [player for side in spec.sides if viewer in side for player in side if player not in decided]
    settled = own * len(team) + sum(decided.values())
    rest = 0.0 if total is None else (total - settled) / max(num_players - len(team) - len(decided), 1)
    num_views = len(viewers if total is not None else viewers & set(team))
    return [(own if player in team else rest) / num_views for player in range(num_players)]
