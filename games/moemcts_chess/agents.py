"""Agents of the chess family that search without a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moemcts.agents import Decision, Seat
from moemcts.game import Game, Views
from moemcts.references import format_reference
from moemcts_chess.score import value_of_centipawns

DEFAULT_DEPTH = 3


class AlphaBetaAgent:
    """Plays the move of the native alpha-beta search (native/chess/src/alpha_beta.rs); deterministic without a time
    limit.

    It evaluates material and piece placement; in antichess it tries to lose its pieces, and in other variants it
    considers their goals.
    """

    def __init__(
        self, game: Game, *, depth: int | None = None, nodes: int | None = None, seconds: float | None = None
    ) -> None:
        """Takes limits per position, of which the first one reached ends the search; the default is three plies.

        Raises ValueError for a limit that is not positive and finite.
        """
        limits = {"depth": depth, "nodes": nodes, "seconds": seconds}
        given = {name: value for name, value in limits.items() if value is not None}
        for name, value in given.items():
            if not 0 < value < float("inf"):
                raise ValueError(f"expected {name} above 0, got {value}")
        self._limits = given or {"depth": DEFAULT_DEPTH}
        self._variant = game.spec.name
        self.name = format_reference("alpha-beta", self._limits)

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        chess_views: Any = views
        return [
            Decision(action=int(action), value=value_of_centipawns(score, self._variant), nodes=nodes, depth=depth)
            for action, score, depth, nodes in chess_views.alpha_beta(**self._limits)
        ]
