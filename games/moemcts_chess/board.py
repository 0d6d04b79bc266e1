"""Boards of python-chess, and drawings of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import chess


PGN_VARIANTS = {
    "Standard": ("chess", "standard"),
    "From Position": ("fromposition",),
    "Chess960": ("chess960", "fischerandom", "fischerrandom"),
    "Antichess": ("antichess", "giveaway"),
    "Atomic": ("atomic", "atomicchess"),
    "Crazyhouse": ("crazyhouse",),
    "King of the Hill": ("kingofthehill", "koth"),
    "Three-check": ("threecheck", "3check"),
    "Horde": ("horde",),
    "Racing Kings": ("racingkings",),
}
"""Lichess' names in the `Variant` tags of PGN files, and their synonyms, in lower case, letters and digits only. The
native import has the same names (native/chess/src/variant.rs); python-chess treats `Giveaway` as a game of its own.
"""


def variant_tag(name: str) -> str:
    """Returns Lichess' name of the variant in a `Variant` tag, or the tag itself if it is unknown."""
    normalized = "".join(letter for letter in name if letter.isascii() and letter.isalnum()).lower()
    return next((tag for tag, names in PGN_VARIANTS.items() if normalized in names), name)


def board(variant: str, fen: str) -> chess.Board:
    """Returns the board of a variant at a FEN."""
    library = python_chess()
    if variant in ("chess", "chess960"):
        return cast("chess.Board", library.Board(fen, chess960=variant == "chess960"))
    boards: dict[str, type[chess.Board]] = {
        "antichess": library.variant.AntichessBoard,
        "atomic": library.variant.AtomicBoard,
        "crazyhouse": library.variant.CrazyhouseBoard,
        "kingofthehill": library.variant.KingOfTheHillBoard,
        "threecheck": library.variant.ThreeCheckBoard,
        "horde": library.variant.HordeBoard,
        "racingkings": library.variant.RacingKingsBoard,
    }
    return boards[variant](fen)


def text_board(state: Any) -> str:
    """Returns the board as text, White at the bottom, and its FEN."""
    fen: str = state.fen()
    rows = [
        "".join("." * int(square) if square.isdigit() else square for square in row.replace("~", ""))
        for row in fen.split(" ")[0].split("[")[0].split("/")[:8]
    ]
    lines = [f"{8 - i} {' '.join(row)}" for i, row in enumerate(rows)]
    return "\n".join([*lines, "  a b c d e f g h", fen])


def svg_board(state: Any, *, size: int = 400) -> str:
    """Returns the board as SVG, with the last move and a check marked."""
    position = state.board()
    king = position.king(position.turn) if position.is_check() else None
    return str(python_chess().svg.board(position, lastmove=_last_move(state), check=king, size=size))


def _last_move(state: Any) -> chess.Move | None:
    _, _, history = state.format().partition("; last ")
    squares = history.partition(";")[0].split()
    if not squares or squares[0].startswith("@"):
        return None
    return cast("chess.Move", python_chess().Move.from_uci(squares[0]))


def python_chess() -> Any:
    """Returns the package `chess` with the submodules used here, imported lazily."""
    import chess
    import chess.engine
    import chess.pgn
    import chess.svg
    import chess.variant

    return chess
