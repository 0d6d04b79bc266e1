"""Progressive unpruning: a node visited often goes on with few of its actions, and gets the others back one by one.

Chaslot et al., Progressive strategies for Monte-Carlo tree search (2008).
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_VISITS = 2.0**32
"""No node has so many."""


@dataclass(frozen=True, kw_only=True)
class Unpruning:
    """The numbers of progressive unpruning."""

    visits: int
    """Visits from which on a node is pruned: T of the paper."""
    actions: int
    """Actions that are left then, those with the largest priors: k_init."""
    thresholds: tuple[float, ...]
    """Visits that have to be surpassed for each further action, ascending."""

    def width(self, visits: int) -> int | None:
        """Returns how many actions of a node of so many visits may be chosen; None is all of them."""
        if visits < self.visits:
            return None
        return self.actions + sum(visits > threshold for threshold in self.thresholds)


def thresholds(first: float, factor: float) -> tuple[float, ...]:
    """Returns the visits that have to be surpassed for each further action: first, first * factor, and so on."""
    found, threshold = [], first
    while threshold < MOST_VISITS:
        found.append(threshold)
        threshold *= factor
    return tuple(found)
