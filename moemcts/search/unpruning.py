"""Progressive unpruning: a node with many visits keeps only a few of its actions, and regains the others one by one.

Chaslot et al., Progressive strategies for Monte-Carlo tree search (2008).
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_VISITS = 2.0**32
"""More visits than any node has."""


@dataclass(frozen=True, kw_only=True)
class Unpruning:
    """Parameters of progressive unpruning."""

    visits: int
    """Visits from which on a node is pruned: T in the paper."""
    actions: int
    """Number of actions kept at first, those with the largest priors: k_init."""
    thresholds: tuple[float, ...]
    """Visits above which each further action is added, ascending."""

    def width(self, visits: int) -> int | None:
        """Returns the number of actions to choose from at a node with this many visits; None for all."""
        if visits < self.visits:
            return None
        return self.actions + sum(visits > threshold for threshold in self.thresholds)


def thresholds(first: float, factor: float) -> tuple[float, ...]:
    """Returns the visits above which each further action is added: first, first * factor, and so on."""
    found, threshold = [], first
    while threshold < MAX_VISITS:
        found.append(threshold)
        threshold *= factor
    return tuple(found)
