"""Positions from the GUI, which may continue after our games have ended in a draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moemcts_chess.claims import CLAIMED
from moemcts_chess.game import ChessGame

DRAWS = (*CLAIMED, "insufficient material")


def read_position(game: ChessGame, fen: str, moves: Sequence[str]) -> Any:
    """Returns the state after moves from a FEN or `startpos`, with the history needed for repetitions.

    Raises ValueError naming an invalid position or illegal move.
    """
    try:
        return game.parse_state(f"{fen}; moves {' '.join(moves)}")
    except ValueError:
        state: Any = game.parse_state(fen)
    for move in moves:
        if state.termination in DRAWS:
            # python-chess continues; the history before the draw is dropped.
            board = state.board()
            board.push_uci(move)
            state = game.parse_state(board.fen())
        else:
            state = state.play([state.action(move)])
    return state


def any_legal_move(state: Any) -> list[str]:
    """Returns a line of one move in a draw by insufficient material, where our games have no legal moves."""
    if state.termination != "insufficient material":
        return []
    return [move.uci() for move in list(state.board().legal_moves)[:1]]
