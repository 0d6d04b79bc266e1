"""Selection of a move from a search result."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moemcts.agents import choose, tempered
from moemcts.game import Action
from moemcts.search.config import SearchConfig
from moemcts.search.result import SearchResult

Shares = NDArray[np.float64]
MIN_TEMPERATURE = 1e-300
"""Smaller temperatures count as 0, since visits to the power of their inverse would overflow."""


def choose_move(result: SearchResult, config: SearchConfig, ply: int, rng: np.random.Generator) -> Action:
    """Returns the action to play at `ply`, counted from the start of the game.

    Sampled in proportion to `move_weights` during the first `temperature_plies`, otherwise the first of those with the
    largest weight; with the Gumbel root, the action that remained.
    """
    weights = move_weights(result, config)
    temperature = config.temperature * config.temperature_decay**ply
    if ply >= config.temperature_plies or temperature < MIN_TEMPERATURE:
        if result.chosen is not None:
            return result.best_action
        return int(result.actions[weights.argmax()])
    shares = clip_quantile(tempered(weights, temperature), config.quantile_clipping)
    return int(result.actions[choose(shares, 1.0, rng)])


def move_weights(result: SearchResult, config: SearchConfig) -> Shares:
    """Returns the weights of a result, adjusted by mean values, `[N]` (CrazyAra).

    If the action with the largest mean value exceeds that of the action with the largest weight by more than
    `q_veto_delta`, the two swap weights. Otherwise, if the action with the second largest weight has a higher mean
    value than the first, it gains the difference times `q_value_weight` times the first's weight. Proven results, and
    results without either setting, are returned unchanged.
    """
    weights = result.weights
    if not (config.q_veto_delta or config.q_value_weight):
        return weights
    if result.plies_left is not None or len(weights) < 2 or not result.visits.any():
        return weights
    weights = weights.copy()
    first, second = np.argsort(-weights, kind="stable")[:2]
    values = np.where(result.visits > 0, result.values, -1.0)
    best = int(values.argmax())
    if (
        config.q_veto_delta > 0
        and values[best] > values[first] + config.q_veto_delta
        and result.visits[best] > 1
        and weights[best] > 0
    ):
        weights[[first, best]] = weights[[best, first]]
    elif values[second] > values[first]:
        weights[second] += (values[second] - values[first]) * config.q_value_weight * weights[first]
    return weights


def clip_quantile(shares: Shares, quantile: float) -> Shares:
    """Returns shares with the least likely actions, whose total is below `quantile`, set to zero, `[N]`.

    Equal shares are kept or removed together.
    """
    if quantile == 0:
        return shares
    ascending = np.sort(shares)
    total = np.cumsum(ascending)
    threshold = ascending[np.searchsorted(total, quantile * total[-1])]
    return np.where(shares < threshold, 0.0, shares)
