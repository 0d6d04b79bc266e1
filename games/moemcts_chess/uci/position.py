"""Positions as interfaces give them: they may go on where our games have ended in a draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moemcts_chess.claims import CLAIMED
from moemcts_chess.game import ChessGame

DRAWS = (*CLAIMED, "insufficient material")


def read_position(game: ChessGame, fen: str, moves: Sequence[str]) -> Any:
    """Returns the state after moves from a FEN or `startpos`, with the past that repetitions look at.

    Raises ValueError naming what is no position or no legal move.
    """
    try:
        return game.parse_state(f"{fen}; moves {' '.join(moves)}")
    except ValueError:
        state: Any = game.parse_state(fen)
    for move in moves:
        if state.termination in DRAWS:
            # python-chess plays on; what happened before the draw is forgotten.
            board = state.board()
            board.push_uci(move)
            state = game.parse_state(board.fen())
        else:
            state = state.play([state.action(move)])
    return state


def any_legal_move(state: Any) -> list[str]:
    """Returns a line of one move for a draw without enough material, in which our games know no moves."""
    if state.termination != "insufficient material":
        return []
    return [move.uci() for move in list(state.board().legal_moves)[:1]]
