"""Which move to play, given what a search found out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moemcts.agents import choose, tempered
from moemcts.game import Action
from moemcts.search.config import SearchConfig
from moemcts.search.result import SearchResult

Shares = NDArray[np.float64]
LEAST_TEMPERATURE = 1e-300
"""Visits to the power of the inverse of less than this overflow; it is no temperature at all."""


def choose_move(result: SearchResult, config: SearchConfig, ply: int, rng: np.random.Generator) -> Action:
    """Returns the action to play at `ply`, counted from the start of the game.

    Drawn in proportion to `move_weights` during the plies of the configuration's temperature, otherwise the one with
    the largest, the first of several; with the Gumbel root the action that was left.
    """
    weights = move_weights(result, config)
    temperature = config.temperature * config.temperature_decay**ply
    if ply >= config.temperature_plies or temperature < LEAST_TEMPERATURE:
        if result.chosen is not None:
            return result.best_action
        return int(result.actions[weights.argmax()])
    shares = clip_quantile(tempered(weights, temperature), config.quantile_clipping)
    return int(result.actions[choose(shares, 1.0, rng)])


def move_weights(result: SearchResult, config: SearchConfig) -> Shares:
    """Returns the weights of a result after a word from the mean values, `[N]` (CrazyAra).

    An action whose mean value is more than `q_veto_delta` above that of the action with the largest weight, and all
    others', changes weights with it. Otherwise, where the second in weight has the higher value, it gains the
    difference times `q_value_weight` times the first's weight. A proven result leaves nothing to weigh. Where nothing
    changes, they are the result's own.
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
    """Returns shares without the least likely actions that together have less than `quantile` of them, `[N]`.

    Equal ones stay or go together.
    """
    if quantile == 0:
        return shares
    ascending = np.sort(shares)
    total = np.cumsum(ascending)
    threshold = ascending[np.searchsorted(total, quantile * total[-1])]
    return np.where(shares < threshold, 0.0, shares)
