"""Draws that players may claim, and how games go on where nobody did."""

from __future__ import annotations

from typing import Any

from moemcts_chess.game import ChessGame

CLAIMED = ("fifty moves", "threefold repetition")
"""Draws that our games end with at once, and that players may decline to claim."""


def playable(game: ChessGame, state: Any) -> Any:
    """Returns the state without the past that makes it a draw, where one could claim it."""
    if state.termination not in CLAIMED:
        return state
    words = state.fen().split()
    words[-2] = "0"
    return game.parse_state(" ".join(words))
