"""Moves are read in every way in which python-chess reads them, and in no other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import numpy as np
import pytest
from chess_oracle import pgn, random_games, random_pgn

from moemcts_chess.board import board as make_board
from moemcts_chess.game import ChessGame
from moemcts_chess.imports import import_pgn

VARIANTS = ["chess", "antichess", "atomic", "crazyhouse", "threecheck", "horde", "racingkings", "chess960"]


def spellings(board: chess.Board, move: chess.Move, rng: np.random.Generator) -> list[str]:
    """Returns ways to write a move, right ones and wrong ones."""
    san = board.san(move).rstrip("+#")
    full = chess.square_name(move.from_square), chess.square_name(move.to_square)
    piece = chess.piece_symbol(board.piece_type_at(move.from_square) or chess.PAWN).upper() if not move.drop else ""
    into = chess.piece_symbol(move.promotion) if move.promotion else ""
    ways = [
        san,
        f"{san}+",
        f"{san}#",
        san.replace("=", ""),
        san.replace("=", "").lower(),
        san.replace("x", ""),
        san.replace("x", "-"),
        san.replace("O", "0"),
        san.replace("O", "o"),
        f"{san}=Q",
        f"{san}N",
        f"{san} e.p.",
        san[1:],
        f"{piece}{''.join(full)}",
        f"{piece}{'-'.join(full)}{into}",
        f"{piece}{'x'.join(full)}={into.upper()}",
        f"{''.join(full)}{into}",
        f"{'-'.join(full)}={into}",
        f"P{san}",
        f"K{full[1]}",
        full[1],
        f"{full[0][0]}{full[1]}",
        f"{full[0][1]}{full[1]}",
        f"N{full[0][0]}{full[1]}",
        f"R{full[0][1]}x{full[1]}",
        f"@{full[1]}",
        f"P@{full[1]}",
        f"N@{full[1]}",
        "--",
        "Z0",
        "0000",
        "O-O",
        "0-0-0+",
    ]
    return [ways[number] for number in rng.permutation(len(ways))[:12]]


def by_python_chess(board: chess.Board, text: str) -> str | None:
    try:
        move = board.parse_san(text)
    except (ValueError, IndexError):
        return None
    return board.uci(move) if move else None


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_move_is_read_however_it_is_written(variant: str) -> None:
    game = ChessGame(variant)
    rng = np.random.default_rng(0)
    num_read = num_refused = 0
    for state, board in random_games(game, 400, seed=1):
        native: Any = state
        board = make_board(game.variant, native.fen())
        if not native.active_players:
            continue
        for move in list(board.legal_moves)[:: max(board.legal_moves.count() // 3, 1)]:
            for text in spellings(board, move, rng):
                expected = by_python_chess(board, text)
                try:
                    found = native.uci(native.action(text))
                except ValueError:
                    found = None
                if expected is None and found is not None and found == uci(board, text):
                    # Ours also reads moves in UCI, where more can be written.
                    continue
                assert found == expected, f"{text} in {native.fen()}"
                num_read += found is not None
                num_refused += found is None
    assert num_read > 2000
    assert num_refused > 1000


def uci(board: chess.Board, text: str) -> str | None:
    try:
        return board.uci(board.parse_uci(text))
    except ValueError:
        return None


LENIENT = [
    # White promotes on b8 and a8, Black castles; written as programs of forty years write it.
    "1. e4 d5 2. exd5 c6 3. dxc6 Nf6 4. cxb7 Bd7 5. bxa8Q e6 6. 0-0 1-0",
    "1. e4 d5 2. exd5 c6 3. dc6 Nf6 4. cb7 Bd7 5. ba8=q e6 6. d4 Be7 7. Nf3 0-0 1-0",
    "1. e2-e4 d7-d5 2. e4xd5 Ng8-f6 3. Bf1b5+ c6 4. dxc6 Qb6 5. cxb7+ Kd8 6. b7xc8=Q+ {good} 1-0",
    "1. e2e4 e7e5 2. g1f3 b8c6 3. f1c4 f8c5 4. e1g1 g8f6 1/2-1/2",
    "1.e4 e5 2.Nf3!? $14 Nc6 (2...d6 3.d4) 3.Bb5 a6 ; Morphy\n4.Ba4 Nf6 5.O-O e.p. +/- Be7 *",
    "1. Ng1-f3 Ng8-f6 2. Nf3-g1 Nf6-g8 (2... Ne4 (2... Nd5) 3. d3) 3. Nf3 0-1",
    "(no move yet 1. d4) 1. e4 e5 1-0",
]


@pytest.mark.parametrize("text", LENIENT)
def test_a_game_is_read_as_python_chess_reads_it(text: str, tmp_path: Path) -> None:
    assert_same(pgn(text), tmp_path)


def test_random_games_are_read_in_any_spelling(tmp_path: Path) -> None:
    text = random_pgn(200)
    for old, new in (("=", ""), ("x", ""), ("O-O", "0-0")):
        text = "\n".join(line if line.startswith("[") else line.replace(old, new) for line in text.split("\n"))
    assert_same(text, tmp_path)


@pytest.mark.skipif("MOEMCTS_PGN" not in os.environ, reason="MOEMCTS_PGN names no file of games, plain text")
def test_real_games_are_read_in_any_spelling(tmp_path: Path) -> None:
    text = Path(os.environ["MOEMCTS_PGN"]).read_text(encoding="utf-8", errors="replace")
    lines = text.split("\n")
    assert_same("\n".join(line if line.startswith("[") else line.replace("=", "") for line in lines), tmp_path)


def assert_same(text: str, tmp_path: Path) -> None:
    """Imports the games, and compares them with what python-chess makes of the text."""
    from moemcts.learn.data.dataset import Dataset

    source = tmp_path / "games.pgn"
    source.write_text(text, encoding="utf-8")
    expected, num_games = list[str](), 0
    with source.open(encoding="utf-8") as file:
        while (read := chess.pgn.read_game(file)) is not None:
            if read.errors or read.headers["Result"] == "*" or not read.variations:
                continue
            num_games += 1
            expected += [move.uci() for move in read.mainline_moves()]
    game = ChessGame("chess")
    if not num_games:
        return
    report = import_pgn([source], game, tmp_path / "out", reference="chess")
    assert report.num_games == num_games
    dataset = Dataset.open(tmp_path / "out" / "train", game)
    rows = np.arange(len(dataset))
    actions = dataset.actions(rows)
    found = [game.format_action(*pair, int(action)) for pair, action in zip(dataset.views(rows), actions, strict=True)]
    assert found == expected
