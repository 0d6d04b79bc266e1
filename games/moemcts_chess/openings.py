"""Opening suites as EPD and PGN files."""

from __future__ import annotations

import codecs
import functools
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moemcts.errors import MoemctsError, UsageError
from moemcts.game import Start
from moemcts_chess.board import board, python_chess, variant_tag

if TYPE_CHECKING:
    from chess.pgn import Game as PgnGame

    from moemcts_chess.game import ChessGame

# Board, side, castling, en passant, checks left, counters, checks given as Lichess writes them; the rest are
# operations, of which `id` is a name.
_EPD = re.compile(
    r"(?P<fen>\S+ [wb] \S+ \S+)(?P<checks_left> \d\+\d)?(?P<counters> \d+ \d+)?(?P<checks_given> \+\d\+\d)?"
    r"[\s;]*(?P<operations>([^\s;\d+].*)?)"
)
# Tags, lines and comments, which have no moves; or a move with a figurine, or with a letter of no English piece.
_NON_ENGLISH_MOVE = re.compile(
    r"^[\[%][^\n]*|\{[^}]*(?:\}|\Z)|;[^\n]*"
    r"|(?P<move>[\u2654-\u265f]\ufe0e?[a-h]?[1-8]?[-x]?[a-h][1-8]"
    r"|(?<![^\W_])(?![NBRQKP])[^\W\d_a-z][a-h]?[1-8]?[-x]?[a-h][1-8])",
    re.MULTILINE,
)
_NAME = re.compile(r'\bid\s+"(?P<name>[^"]*)"')
_QUOTED = re.compile(r'"[^"]*"')
_COUNTER = {name: re.compile(rf"\b{name}\s+(\d+)") for name in ("hmvc", "fmvn")}


def read_epd(game: ChessGame, path: Path) -> Iterator[Start]:
    """Yields the positions of an EPD file, or of a file with FENs. Among operations, `id` is a name, `hmvc` and `fmvn`
    are counters, and others are ignored.

    Raises MoemctsError if the file is not text.
    """
    for number, line in enumerate(_read_text(path).split("\n"), start=1):
        if line.strip() and not line.startswith("#"):
            yield _parse_epd(game, f"line {number}", " ".join(line.split()))


def read_pgn(game: ChessGame, path: Path, plies: int | None) -> Iterator[Start]:
    """Yields the final positions of the main lines of a PGN file, or those after `plies` moves.

    Raises MoemctsError if the file is not text.
    """
    for number, pgn_game in enumerate(read_games(path, _main_line_builder()), start=1):
        if not pgn_game.variations and dict(pgn_game.headers) == dict(python_chess().pgn.Headers()):
            yield Start(f"game {number}", None, fault="expected tags and moves, found neither")
            continue
        try:
            yield Start(f"game {number}", positions(game, pgn_game, plies)[-1], _opening_name(pgn_game))
        except ValueError as error:
            yield Start(f"game {number}", None, fault=str(error))


def read_games(path: Path, builder: Any) -> Iterator[PgnGame]:
    """Yields the games of a PGN file as built by a builder of python-chess, with their errors.

    Raises MoemctsError if the file is not text, UsageError for piece letters that `check_letters` rejects.
    """
    text = _read_text(path)
    check_letters(text, path)
    with io.StringIO(text) as file:
        while (pgn_game := python_chess().pgn.read_game(file, Visitor=builder)) is not None:
            yield pgn_game


def positions(
    game: ChessGame,
    pgn_game: PgnGame,
    plies: int | None = None,
    *,
    before_move: Callable[[ChessGame, Any], Any] = lambda game, state: state,
) -> list[Any]:
    """Returns the positions of a game's main line, or of its first `plies` moves, including the start.

    `before_move`, such as `claims.without_claimable_draw`, is applied to each position before a move. Raises
    ValueError if the game is not of the game's variant, or cannot be played.
    """
    start = pgn_game.board()
    expected = type(board(game.variant, game.initial_state().fen()))
    if type(start) is not expected:
        raise ValueError(f"expected a game of {game.variant}, got one of {type(start).uci_variant}")
    if game.variant == "chess" and pgn_game.headers.is_chess960():
        raise ValueError("expected a game of chess, got one of chess960")
    moves = list(pgn_game.mainline_moves())
    if pgn_game.errors and (plies is None or len(moves) < plies):
        raise ValueError(str(pgn_game.errors[0]))
    states: list[Any] = [game.parse_state(pgn_game.headers.get("FEN", "startpos"))]
    for ply, move in enumerate(moves[:plies]):
        state = states[-1] = before_move(game, states[-1])
        if not state.active_players:
            raise ValueError(f"the game is over after {ply} plies, {state.termination}, and {move.uci()} follows")
        states.append(state.play([game.parse_action(state, state.active_players[0], move.uci())]))
    return states


def check_letters(text: str, path: Path) -> None:
    """Raises UsageError if moves of a PGN file have figurines, or piece letters of a language other than English:
    readers of PGN would drop them and read a knight's move as a pawn's.
    """
    move = next((match["move"] for match in _NON_ENGLISH_MOVE.finditer(text) if match["move"]), None)
    if move is not None:
        raise UsageError(
            f"expected pieces as English letters in {path}, such as N in Nf3, found {move}; save it with those, or "
            "convert it: pgn-extract reads German and Dutch letters"
        )


def _read_text(path: Path) -> str:
    """Returns the text of a file, decoding each line as UTF-8 or else as Windows-1252, which is common in PGN files."""
    content = path.read_bytes()
    if b"\0" in content:
        raise MoemctsError(f"expected text in {path}, found binary data; unpack it if it is compressed")
    return "".join(f"{_decode(line)}\n" for line in content.removeprefix(codecs.BOM_UTF8).splitlines())


def _decode(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("cp1252", errors="replace")


def _parse_epd(game: ChessGame, place: str, line: str) -> Start:
    """Returns the position of a line, or why it is none."""
    match = _EPD.fullmatch(line)
    if match is None:
        return Start(place, None, fault=f"expected an EPD, got {line[:60]!r}")
    operations = match["operations"]
    name = _NAME.search(operations)
    counters = match["counters"]
    if counters is None:
        unquoted = _QUOTED.sub('""', operations)
        half_moves, full_moves = (_COUNTER[key].search(unquoted) for key in ("hmvc", "fmvn"))
        counters = f" {half_moves[1] if half_moves else 0} {full_moves[1] if full_moves else 1}"
    try:
        state = game.parse_state(match["fen"] + (match["checks_left"] or "") + counters + (match["checks_given"] or ""))
    except ValueError as error:
        return Start(place, None, fault=str(error))
    return Start(place, state, name["name"] if name else "")


@functools.cache
def quiet_builder() -> Any:
    """Returns a builder of games for python-chess that stores errors without logging them, and maps variants' names.

    A variation is cut at an illegal move without making that an error of the game: python-chess would read what follows
    the variation as a part of it.
    """
    pgn = python_chess().pgn

    class Builder(python_chess().pgn.GameBuilder):  # type: ignore[misc]
        depth, is_cut, is_skipping = 0, False, False
        """Depth of the current variation, 0 in the main line; whether it has been cut; whether a nested one is skipped.
        """

        def begin_variation(self) -> Any:
            if self.is_cut:
                self.is_skipping = True
                return pgn.SKIP
            self.depth += 1
            return super().begin_variation()

        def end_variation(self) -> None:
            if self.is_skipping:
                self.is_skipping = False
            elif self.depth:
                self.depth, self.is_cut = self.depth - 1, False
                super().end_variation()

        def begin_parse_san(self, board: Any, san: str) -> Any:
            if self.depth and not self.is_cut:
                try:
                    self.parse_san(board, san)
                except ValueError:
                    self.is_cut = True
            return pgn.SKIP if self.is_cut else super().begin_parse_san(board, san)

        def visit_comment(self, comment: str) -> None:
            if not self.is_cut:
                super().visit_comment(comment)

        def visit_nag(self, nag: int) -> None:
            if not self.is_cut:
                super().visit_nag(nag)

        def visit_header(self, tagname: str, tagvalue: str) -> None:
            super().visit_header(tagname, variant_tag(tagvalue) if tagname == "Variant" else tagvalue)

        def handle_error(self, error: Exception) -> None:
            self.game.errors.append(error)

    return Builder


@functools.cache
def _main_line_builder() -> Any:
    """Returns a builder of games for python-chess that reads only their main lines."""
    pgn = python_chess().pgn

    class Builder(quiet_builder()):  # type: ignore[misc]
        def begin_variation(self) -> Any:
            return pgn.SKIP

        def end_variation(self) -> None:
            """Does nothing: a skipped variation, or one after an illegal move, was never opened."""

    return Builder


def _opening_name(pgn_game: PgnGame) -> str:
    """Returns the name of the opening."""
    names = (pgn_game.headers.get(tag, "") for tag in ("ECO", "Opening", "Variation"))
    return " ".join(name for name in names if name not in ("", "?"))
