"""Agents that search by random playouts alone: a baseline for networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from moemcts.agents import Decision, Policy, Seat
from moemcts.game import Game, Views, determinize_views
from moemcts.native import playout_search
from moemcts.search.config import LARGEST_U32


class PlayoutAgent:
    """Flat Monte Carlo or UCT, without any knowledge beyond the rules.

    Each position is searched separately and natively, with `playouts` random games or for `seconds`, whichever ends
    first. With simultaneous moves, UCT lets every seat select by its own statistics; a flat search assumes that all
    others play at random.
    """

    def __init__(
        self,
        game: Game,
        *,
        playouts: int | None = None,
        seconds: float | None = None,
        exploration: float | None = None,
        depth: int | None = None,
        name: str = "playouts",
    ) -> None:
        """Takes UCB1's constant, or None for equally many playouts of each action, and the depth to which statistics
        are kept.

        `depth` 1 is a flat search, None is UCT (Kocsis and Szepesvari 2006). Without a constant, which requires depth
        1, the action with the best mean is played, otherwise the most visited one. Raises ValueError without a limit or
        for a number out of range.
        """
        if playouts is None and seconds is None:
            raise ValueError("expected a limit: playouts or seconds")
        if exploration is None and depth != 1:
            raise ValueError("expected an exploration constant for a search deeper than 1")
        for option, value in {"playouts": playouts, "depth": depth}.items():
            if value is not None and value < 1:
                raise ValueError(f"expected {option} above 0, got {value}")
            if value is not None and value > LARGEST_U32:
                raise ValueError(f"expected {option} of at most {LARGEST_U32}, got {value}")
        if seconds is not None and not 0 < seconds < float("inf"):
            raise ValueError(f"expected seconds above 0, got {seconds}")
        if exploration is not None and not 0 <= exploration < float("inf"):
            raise ValueError(f"expected an exploration constant of at least 0, got {exploration}")
        self.name = name
        self._game = game
        self._takes_best_mean = exploration is None
        self._options: Any = {"playouts": playouts, "seconds": seconds, "exploration": exploration, "depth": depth}

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        seeds = [int(seat.rng.integers(2**63)) for seat in seats]
        found = playout_search(determinize_views(self._game, views, seeds), self._game.spec, seeds, **self._options)
        decisions = []
        for arms, visits, value_sums in found:
            means = np.where(visits > 0, value_sums / np.maximum(visits, 1), -np.inf)
            # The last key is primary: visits break ties of the best mean, or means those of the most visits.
            keys = (visits, means) if self._takes_best_mean else (means, visits)
            best = np.lexsort(keys)[-1]
            decisions.append(
                Decision(
                    action=int(arms[best]),
                    # Equal visits are no recommendation.
                    policy=None if self._takes_best_mean else Policy.of(arms, visits),
                    value=float(means[best]),
                    simulations=int(visits.sum()),
                )
            )
        return decisions
