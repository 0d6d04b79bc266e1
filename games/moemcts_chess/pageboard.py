"""The chess family on a web page: pieces on the page's own board, pieces in hand next to it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from moemcts.drawing import Drawing, Spot
from moemcts.game import Action, Player
from moemcts_chess.game import ChessGame

POCKET = "PNBRQ"
SYMBOLS = dict(zip("pnbrqPNBRQ", "♟♞♝♜♛♙♘♗♖♕", strict=True))


class ChessBoard:
    """A board with White or the viewing player at the bottom; `page/board.js` draws `data`."""

    seats = ("White", "Black")
    colours = ("#f4f1ea", "#3a3a3a")

    def __init__(self, game: ChessGame) -> None:
        self._game = game
        self.page: Path | None = Path(str(files("moemcts_chess").joinpath("page")))

    def draw(self, state: Any, player: Player) -> Drawing:
        """Returns the placement of the FEN, the squares of each legal move, and the pockets of crazyhouse."""
        fen: str = state.fen()
        field = fen.split(" ")[0]
        placement, _, rest = field.partition("[")
        pockets, flipped = rest.rstrip("]"), player == 1
        rows = placement.replace("~", "").split("/")
        moves: dict[Action, tuple[str, str]] = {}
        spots: dict[Action, tuple[Spot, ...]] = {}
        for mover in state.active_players:
            for action in map(int, state.legal_actions(mover)):
                name = self._game.format_action(state, mover, action)
                if "@" in name:
                    piece, _, target = name.partition("@")
                    spots[action] = (_pocket(piece, is_below=mover == player), _square(target, flipped))
                else:
                    moves[action] = (name[:2], name[2:4])
                    spots[action] = (_square(name[:2], flipped), _square(name[2:4], flipped))
        has_pockets = self._game.variant == "crazyhouse"
        return Drawing(
            width=9.2 if has_pockets else 8.0,
            height=8.0,
            svg=_pockets(pockets, flipped) if has_pockets else "",
            data={"placement": "/".join(rows[:8]), "moves": moves, "flipped": flipped},
            spots=spots,
        )


def _square(name: str, flipped: bool) -> Spot:
    column, row = "abcdefgh".index(name[0]), 8 - int(name[1])
    return (float(7 - column), float(7 - row), 1.0, 1.0) if flipped else (float(column), float(row), 1.0, 1.0)


def _pocket(piece: str, *, is_below: bool) -> Spot:
    place = POCKET.index(piece.upper())
    return (8.3, float(7 - place) * 0.78 + 1.72 if is_below else place * 0.78, 0.78, 0.78)


def _pockets(held: str, flipped: bool) -> str:
    """Returns the pieces in hand of each side, as SVG next to the board."""
    parts = []
    for symbol in sorted(set(held)):
        is_white = symbol.isupper()
        x, y, width, height = _pocket(symbol, is_below=is_white != flipped)
        count = held.count(symbol)
        parts.append(
            f'<text x="{x + width / 2 - 0.1:g}" y="{y + height / 2:g}" font-size="0.6" text-anchor="middle" '
            f'dominant-baseline="central" fill="#2b2b2b">{SYMBOLS[symbol]}</text>'
            f'<text x="{x + width - 0.08:g}" y="{y + height - 0.12:g}" font-size="0.26" text-anchor="end" '
            f'fill="#6b5b3e">{count}</text>'
        )
    return "".join(parts)
