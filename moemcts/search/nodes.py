"""Nodes of the reference search's tree: statistics, priors and values."""

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
"""Proof numbers of an unvisited child."""


@dataclass
class SeatStatistics:
    """Statistics of the actions of one active player at a node."""

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
    """Probabilities of the outcomes at a chance node."""
    replies: dict[Player, Action] = field(default_factory=dict)
    """Replies of opponents in this position, if they are stored in nodes."""
    steps: list[tuple[Float64s, Float64s]] = field(default_factory=list)
    """Rewards and discount factors of each step from the parent, except steps that change no value."""
    children: dict[tuple[int, ...], Node] = field(default_factory=dict)
    """By the indices of the chosen actions or of the outcome, followed by the sampled replies."""
    visits: int = 0
    in_flight: int = 0
    is_pending: bool = False
    plies_left: int | None = None
    """Plies to the end of the game if known: 0 at an end, more if proven by the solver."""
    numbers: tuple[float, ...] = UNTRIED
    """Proof numbers of both players' wins, maintained with the solver."""
    scouts: int = 0
    """Number of proof-searching descents through this node."""


Path = list[tuple[Node, tuple[int, ...]]]


def untried_value(node: Node, seat: SeatStatistics, config: SearchConfig) -> float:
    """Returns the value of an untried action for a player."""
    return config.first_play_value(seat.value_sum / node.visits, seat.visited_prior)


def sample_outcome(chances: Sequence[float], number: float) -> int:
    """Returns the index of the outcome that a uniform number in [0, 1) samples from the probabilities."""
    last = 0
    for i, chance in enumerate(chances):
        if chance > 0:
            last = i
            number -= chance
            if number < 0:
                break
    return last


def priors_of(logits: NDArray[np.float32], actions: Sequence[Action], config: SearchConfig) -> NDArray[np.float32]:
    """Returns the priors of the given actions, `[n]`, from the logits of all actions, `[A]`."""
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
    """Returns priors mixed with noise, which is normalised first, `[n]`."""
    total = 0.0
    for share in noise:
        total += share
    # The noise may underflow to zero everywhere.
    shares = [share / total for share in noise] if total > 0 else [1.0 / len(noise)] * len(noise)
    mixed = [(1.0 - fraction) * float(prior) + fraction * share for prior, share in zip(priors, shares, strict=True)]
    return np.array(mixed, dtype=np.float32)


def estimates(
    spec: GameSpec, viewer: Player, value: Sequence[float], viewers: Set[Player], decided: Mapping[Player, float]
) -> list[float]:
    """Returns what one view contributes to the values of all players, `[P]`, which are means over all views.

    A value for the viewing player alone applies to its team. With a fixed sum of returns, the remainder is shared by
    the undecided players of the other teams.
    """
    num_players, total, own = spec.num_players, spec.utility_sum, value[0]
    if len(value) > 1:
        return [value[(player - viewer) % num_players] / len(viewers) for player in range(num_players)]
    team = [player for side in spec.sides if viewer in side for player in side if player not in decided]
    settled = own * len(team) + sum(decided.values())
    rest = 0.0 if total is None else (total - settled) / max(num_players - len(team) - len(decided), 1)
    num_views = len(viewers if total is not None else viewers & set(team))
    return [(own if player in team else rest) / num_views for player in range(num_players)]
