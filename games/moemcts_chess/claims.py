"""Draws that players may claim, and how games continue if nobody did."""

from __future__ import annotations

from typing import Any

from moemcts_chess.game import ChessGame

CLAIMED = ("fifty moves", "threefold repetition")
"""Draws that end our games at once, but that players may decline to claim."""


def without_claimable_draw(game: ChessGame, state: Any) -> Any:
    """Returns the state without the history that makes it a claimable draw, if it is one."""
    if state.termination not in CLAIMED:
        return state
    words = state.fen().split()
    words[-2] = "0"
    return game.parse_state(" ".join(words))
