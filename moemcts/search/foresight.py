"""Virtual expansions: predicts a root's final visits if no value changes, to end searches that would not change them.

Ye et al., Spending thinking time wisely: accelerating MCTS with virtual expansions (2022). Unlike visits, virtual
policies do not differ merely because exploration comes early and exploitation late.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

LOOKS = 32
"""Number of checks whether to end a search, evenly spaced over its simulations; the paper checks after each."""

Width = Callable[[int], int | None]


@dataclass(frozen=True, kw_only=True)
class EarlyEnd:
    """The rule for ending a search before its last simulation."""

    simulations: int
    """Simulations of a full search: N in the paper."""
    interval: int
    """Simulations between two checks."""
    least: int
    """Simulations before which no search ends: r * N."""
    tolerance: float
    """L1 distance of two virtual policies below which the search ends: epsilon."""

    def look(self, simulations: int, policies: list[list[float]], foresee: Callable[[int], list[float]]) -> bool:
        """Returns whether a search ends after this many simulations; appends to the virtual `policies` if a check is
        due.

        `foresee` returns the virtual policy after that many more simulations. The search ends if the latest one is
        close to that of half as many simulations.
        """
        num_looks = simulations // self.interval
        if num_looks > len(policies):
            policy = foresee(max(self.simulations - simulations, 0))
            policies += [policy] * (num_looks - len(policies))
        half = num_looks // 2
        if num_looks * self.interval < self.least or not half:
            return False
        difference = 0.0
        for now, before in zip(policies[num_looks - 1], policies[half - 1], strict=True):
            difference += abs(now - before)
        return difference < self.tolerance


def foreseen_visits(
    num_more: int,
    exploration: Callable[[float], float],
    untried: float,
    visits: Sequence[int],
    value_sums: Sequence[float],
    priors: Sequence[float],
    is_lost: Sequence[bool],
    width: Width = lambda visits: None,
) -> list[int]:
    """Returns the visits of a root's actions after `num_more` simulations by PUCT that change no mean value.

    Untried actions keep the value `untried`. `exploration` is PUCT's factor by the root's visits, `width` the number of
    actions to choose from by the root's visits.
    """
    found = list(visits)
    means = [value_sum / n if n else untried for n, value_sum in zip(visits, value_sums, strict=True)]
    ranked = [i for i in sorted(range(len(found)), key=lambda i: -priors[i]) if not is_lost[i]]
    start = 1 + sum(visits)
    for root_visits in range(start, start + num_more if ranked else start):
        scale = exploration(float(root_visits))
        best, best_score = 0, -math.inf
        for i in ranked[: width(root_visits)]:
            score = means[i] + scale * priors[i] / (1.0 + found[i])
            if score > best_score:
                best, best_score = i, score
        found[best] += 1
    return found


def virtual_policy(visits: Sequence[int], priors: Sequence[float]) -> list[float]:
    """Returns the visit shares of the actions, in descending order of their priors."""
    total = max(sum(visits), 1)
    return [visits[i] / total for i in sorted(range(len(visits)), key=lambda i: -priors[i])]
