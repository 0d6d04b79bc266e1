"""Plugin of the classic games."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TypeVar

from moemcts.errors import UsageError
from moemcts.game import Game
from moemcts.hookspecs import Registration, hookimpl
from moemcts_classics.agents import CarefulAgent
from moemcts_classics.breakthrough import Breakthrough
from moemcts_classics.connect_four import ConnectFour
from moemcts_classics.gates import CapturesGate, StonesGate
from moemcts_classics.hex import Hex
from moemcts_classics.othello import Othello
from moemcts_classics.pageboard import BOARDS
from moemcts_classics.tic_tac_toe import TicTacToe

STONE_GAMES = ("connect-four", "othello", "othello-6x6", "hex", "tic-tac-toe")
CAPTURE_GAMES = ("breakthrough",)

T = TypeVar("T", bound=Game)

CAPTURE_CUTS = (1, 4)
"""Closest to three equal parts: tests/games/classics/measure_cuts.py, 14,070 positions of 300 games."""


@hookimpl
def register_games() -> Sequence[Registration]:
    tables = tomllib.loads(resources.files("moemcts_classics").joinpath("presets.toml").read_text())
    board = partial(Registration, presets=tables["boards"])
    return [
        Registration(
            "connect-four",
            ConnectFour,
            "four in a row, stones fall down",
            presets=tables["boards"] | tables["connect-four"],
        ),
        board("othello", partial(Othello, 8), "stones between two others change colour, on 8 x 8"),
        board("othello-6x6", partial(Othello, 6), "the same on 6 x 6"),
        board("breakthrough", _breakthrough, "the last row reached first wins: breakthrough?rows=6"),
        board("hex", _hex, "connect two sides of a rhombus: hex?size=7"),
        Registration("tic-tac-toe", TicTacToe, "three in a row, native", presets=tables["tic-tac-toe"]),
    ]


@hookimpl
def register_gates() -> Sequence[Registration]:
    return [
        Registration("stones", _stones, "cuts by stones on the board, three equal parts", STONE_GAMES, default=True),
        Registration("captures", _captures, "cuts by pieces lost", CAPTURE_GAMES, default=True),
    ]


@hookimpl
def register_agents() -> Sequence[Registration]:
    # Not a default agent: searches would model their opponent as one, and here they play both sides.
    games = STONE_GAMES + CAPTURE_GAMES
    return [Registration("careful", _careful, "wins and prevents wins in one move, otherwise random", games)]


@hookimpl
def register_boards() -> Sequence[Registration]:
    return [Registration(name, make, "stones on cells", (name,)) for name, make in BOARDS.items()]


@hookimpl
def register_weights() -> Sequence[Registration]:
    name, summary = "connect-four", "a small network that learned from 30,720 games against itself"
    return [Registration(name, partial(_weights, name), summary, (name,), default=True)]


def _weights(name: str) -> Path:
    return Path(str(resources.files("moemcts_classics").joinpath("weights", name)))


def _breakthrough(*, rows: int = 8, columns: int = 8) -> Breakthrough:
    return _make_game(Breakthrough, rows, columns)


def _hex(*, size: int = 11) -> Hex:
    return _make_game(Hex, size)


def _make_game(make: Callable[..., T], *size: int) -> T:
    if min(size) < 1:
        raise UsageError(f"expected a board size of at least 1, got {min(size)}")
    try:
        return make(*size)
    except (ValueError, OverflowError) as error:
        raise UsageError(str(error)) from None


def _stones(game: Game, *, cuts: Sequence[int] = ()) -> StonesGate:
    _, rows, columns = game.spec.observation_shape
    cells = rows * columns
    return StonesGate(cuts or (cells // 3, 2 * cells // 3), () if cuts else ("opening", "middlegame", "endgame"))


def _captures(game: Game, *, cuts: Sequence[int] = ()) -> CapturesGate:
    pieces = sum(row.count("w") + row.count("b") for row in game.initial_state().drawn())
    names = () if cuts else ("opening", "middlegame", "endgame")
    return CapturesGate(cuts or CAPTURE_CUTS, names, num_pieces=pieces)


def _careful(game: Game) -> CarefulAgent:
    return CarefulAgent()
