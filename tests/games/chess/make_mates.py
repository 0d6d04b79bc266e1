"""Makes mates.txt: positions in which the side to move forces mate in exactly three moves.

    python tests/games/chess/make_mates.py > tests/games/chess/mates.txt

Half of the games begin in the standard position, the others with two kings and three to six more pieces on random
squares. A random side plays alpha-beta moves of depth 2, the other does so one time in four and plays randomly
otherwise. The first mate in three of each game is kept if python-chess confirms it by exhaustive search: five plies
force mate, three do not.
"""

from __future__ import annotations

from collections.abc import Iterator

import chess
import numpy as np

from moemcts.plugins import plugins

NUM_MATES = 50
MATE_IN_THREE = 30_000 - 5
"""The score of a win in five plies in native/chess/src/alpha_beta.rs."""
AHEAD = 300
"""Centipawns from which a search for a mate is made."""
MAX_PLIES = 100


def main() -> None:
    """Prints the file."""
    print("# Mates in three, one position per line, made by make_mates.py next to this file.")
    seen: set[str] = set()
    seed = 0
    while len(seen) < NUM_MATES:
        # As many from the standard position as from endgames.
        is_ending = len(seen) % 2 == 1
        for fen in mates_in_three(np.random.default_rng(seed), is_ending=is_ending):
            if fen not in seen and is_mate(chess.Board(fen), 3) and not is_mate(chess.Board(fen), 2):
                seen.add(fen)
                print(fen, flush=True)
                break
        seed += 1


def mates_in_three(rng: np.random.Generator, *, is_ending: bool) -> Iterator[str]:
    """Yields the positions of one game that alpha-beta calls a mate in three."""
    game = plugins().game("chess")
    state = game.parse_state(ending(rng)) if is_ending else game.initial_state(0)
    strong = int(rng.integers(2))
    for _ in range(MAX_PLIES):
        if not state.active_players:
            return
        (player,) = state.active_players
        # Without the move history, which the positions of the file do not have.
        fen = game.format_state(state).split(";")[0]
        fresh = game.views([(game.parse_state(fen), player)])
        ((best, score, _, _),) = fresh.alpha_beta(depth=2)
        if player == strong and score > AHEAD and fresh.alpha_beta(depth=5)[0][1] == MATE_IN_THREE:
            yield fen
        is_random = player != strong and rng.integers(4)
        state = state.play([int(rng.choice(state.legal_actions(player))) if is_random else best])


def ending(rng: np.random.Generator) -> str:
    """Returns a legal position of two kings and three to six other pieces, none of them castling."""
    while True:
        board = chess.Board(None)
        num_others = int(rng.integers(3, 7))
        for i, square in enumerate(rng.choice(64, 2 + num_others, replace=False)):
            role = chess.KING if i < 2 else int(rng.integers(chess.PAWN, chess.KING))
            board.set_piece_at(int(square), chess.Piece(role, i % 2 == 0))
        if board.is_valid() and not board.is_game_over():
            return board.fen()


def is_mate(board: chess.Board, moves: int) -> bool:
    """Returns whether the side to move can force mate within `moves` moves, by exhaustive search."""
    for move in sorted(board.legal_moves, key=board.gives_check, reverse=True):
        if moves == 1 and not board.gives_check(move):
            break
        board.push(move)
        is_forced = board.is_checkmate() if moves == 1 else is_lost(board, moves - 1)
        board.pop()
        if is_forced:
            return True
    return False


def is_lost(board: chess.Board, moves: int) -> bool:
    """Returns whether every reply leads to a mate within `moves` moves, or the position is checkmate."""
    replies = list(board.legal_moves)
    if not replies:
        return board.is_check()
    for reply in replies:
        board.push(reply)
        is_forced = not board.is_insufficient_material() and is_mate(board, moves)
        board.pop()
        if not is_forced:
            return False
    return True


if __name__ == "__main__":
    main()
