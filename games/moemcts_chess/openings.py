"""Opening suites as chess players keep them: EPD and PGN files."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from moemcts.game import Start, State
from moemcts_chess.board import board, python_chess

if TYPE_CHECKING:
    from chess.pgn import Game as PgnGame

    from moemcts_chess.game import ChessGame

# Board, side, castling, en passant, checks left, counters; the rest are operations, of which `id` is a name.
_EPD = re.compile(r"(?P<fen>\S+ [wb] \S+ \S+)(?P<checks> \d\+\d)?(?P<counters> \d+ \d+)?\s*;?(?P<operations>.*)")
_NAME = re.compile(r'\bid\s+"(?P<name>[^"]*)"')
_COUNTER = {name: re.compile(rf"\b{name}\s+(\d+)") for name in ("hmvc", "fmvn")}


def read_epd(game: ChessGame, path: Path) -> Iterator[Start]:
    """Yields the positions of an EPD file, or of one with FENs; `id` is a name, other operations are ignored."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            yield _epd(game, f"line {number}", " ".join(line.split()))


def read_pgn(game: ChessGame, path: Path, plies: int | None) -> Iterator[Start]:
    """Yields the positions at the ends of the main lines of a PGN file, or after `plies` of them."""
    library = python_chess()
    # Bytes that are no text stand in comments and names at worst, which say nothing here.
    with io.StringIO(path.read_text(encoding="utf-8-sig", errors="replace")) as file:
        number = 0
        while (read := library.pgn.read_game(file)) is not None:
            number += 1
            try:
                yield Start(f"game {number}", _end(game, read, plies), _title(read))
            except ValueError as error:
                yield Start(f"game {number}", None, fault=str(error))


def _epd(game: ChessGame, place: str, line: str) -> Start:
    found = _EPD.fullmatch(line)
    if found is None:
        return Start(place, None, fault=f"expected an EPD, got {line[:60]!r}")
    operations = found["operations"]
    name = _NAME.search(operations)
    counters = found["counters"]
    if counters is None:
        half, full = (_COUNTER[key].search(operations) for key in ("hmvc", "fmvn"))
        counters = f" {half[1] if half else 0} {full[1] if full else 1}"
    try:
        state = game.parse_state(found["fen"] + (found["checks"] or "") + counters)
    except ValueError as error:
        return Start(place, None, fault=str(error))
    return Start(place, state, name["name"] if name else "")


def _end(game: ChessGame, read: PgnGame, plies: int | None) -> State:
    if read.errors:
        raise ValueError(str(read.errors[0]))
    start = read.board()
    expected = type(board(game.variant, game.initial_state().fen()))
    if type(start) is not expected:
        raise ValueError(f"expected a game of {game.variant}, got one of {type(start).uci_variant}")
    state = game.parse_state(read.headers.get("FEN", "startpos"))
    for ply, move in enumerate(read.mainline_moves()):
        if ply == plies:
            break
        player = state.active_players[0]
        state = state.play([game.parse_action(state, player, move.uci())])
    return state


def _title(read: PgnGame) -> str:
    """Returns what books call their lines."""
    names = (read.headers.get(tag, "") for tag in ("ECO", "Opening", "Variation"))
    return " ".join(name for name in names if name not in ("", "?"))
