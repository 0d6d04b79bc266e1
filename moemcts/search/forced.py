"""Forced playouts: minimum visits of the root's tried actions, and visits without the forced ones.

Wu, Accelerating self-play learning in Go (2019), 3.2: KataGo's forced playouts and policy target pruning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def least_visits(factor: float, prior: float, num_simulations: float) -> float:
    """Returns the minimum number of visits of a tried root action; `factor` is KataGo's k, 2 there."""
    return math.sqrt(factor * prior * num_simulations)


def behind(
    factor: float, num_simulations: float, priors: Sequence[float], tried: Sequence[int], is_lost: Sequence[bool]
) -> int | None:
    """Returns the index of the action with the largest prior among tried ones below their minimum visits, if any."""
    for i in sorted(range(len(priors)), key=lambda i: -priors[i]):
        if not is_lost[i] and 0 < tried[i] < least_visits(factor, priors[i], num_simulations):
            return i
    return None


def pruned(
    factor: float,
    scale: float,
    visits: Sequence[int],
    value_sums: Sequence[float],
    priors: Sequence[float],
    is_lost: Sequence[bool],
) -> list[int]:
    """Returns visits without the forced ones: those that PUCT would not have selected with the final statistics.

    `scale` is PUCT's factor of the prior at the root. No action loses more visits than were forced, and none ends up
    with a score above that of the most visited action that is not a proven loss; actions reduced to a single visit lose
    it, too.
    """
    best = max(range(len(visits)), key=lambda i: (not is_lost[i], visits[i]))
    found = list(visits)
    if not visits[best]:
        return found
    limit = value_sums[best] / visits[best] + scale * priors[best] / (1.0 + visits[best])
    for i, n in enumerate(visits):
        if i == best or not n:
            continue
        mean, forced = value_sums[i] / n, int(least_visits(factor, priors[i], sum(visits)))
        while found[i] > max(n - forced, 0) and mean + scale * priors[i] / found[i] < limit:
            found[i] -= 1
        if found[i] < n and found[i] == 1:
            found[i] = 0
    return found
