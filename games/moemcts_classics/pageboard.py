"""The classic games on a web page: stones on cells, drawn as SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from moemcts.drawing import Drawing, Spot, cell, grid
from moemcts.game import Action, Player
from moemcts_classics.board import BoardGame

DARK, LIGHT = "#2b2d36", "#f8f5ee"
RED, YELLOW, BLUE = "#d1495b", "#f2c14e", "#3b6ea5"
HOLE = "#e9eff5"


class StonesBoard:
    """A board whose cells hold stones; a placement is clicked on its cell, a move on its start and end."""

    page: Path | None = None

    def __init__(
        self,
        game: BoardGame[Any],
        *,
        stones: Mapping[str, str],
        seats: tuple[str, str],
        ground: str,
        line: str,
        shift: float = 0.0,
        has_column_actions: bool = False,
    ) -> None:
        """Takes the colours of stones by letter, the first player's first, and the offset of each row to the right in
        cells; if actions are columns, every cell of a column can be clicked.
        """
        self._game = game
        self._stones = dict(stones)
        self._ground, self._line = ground, line
        self._shift = shift
        self._has_column_actions = has_column_actions
        self.seats = seats
        self.colours = tuple(stones.values())

    def draw(self, state: Any, player: Player) -> Drawing:
        rows = state.drawn()
        cells = [[letter if letter in self._stones else "" for letter in row] for row in rows]
        spots: dict[Action, tuple[Spot, ...]] = {}
        marks: dict[Action, Spot] = {}
        for mover in state.active_players:
            for action in map(int, state.legal_actions(mover)):
                cells_of_action = self._game.cells(mover, action)
                if self._has_column_actions:
                    (_, column), *_ = cells_of_action
                    spots[action] = ((float(column), 0.0, 1.0, float(len(cells_of_action))),)
                    marks[action] = cell(sum(not row[column] for row in cells) - 1, column)
                elif cells_of_action:
                    spots[action] = tuple(cell(row, column, self._shift) for row, column in cells_of_action)
        return grid(
            cells,
            colours=self._stones,
            spots=spots,
            marks=marks,
            shift=self._shift,
            ground=self._ground,
            line=self._line,
            hole=HOLE if self._has_column_actions else "",
        )


_WOODEN = partial(StonesBoard, stones={"x": RED, "o": BLUE}, ground="#e8dcc4", line="#cdb98f")
_OTHELLO = partial(
    StonesBoard, stones={"x": DARK, "o": LIGHT}, seats=("Black", "White"), ground="#3f8f63", line="#2f6e4b"
)
BOARDS: Mapping[str, Callable[[BoardGame[Any]], StonesBoard]] = {
    "connect-four": partial(
        StonesBoard,
        stones={"x": YELLOW, "o": RED},
        seats=("Yellow", "Red"),
        ground=BLUE,
        line="#2d5580",
        has_column_actions=True,
    ),
    "othello": _OTHELLO,
    "othello-6x6": _OTHELLO,
    "hex": partial(_WOODEN, seats=("Red", "Blue"), shift=0.5),
    "breakthrough": partial(
        StonesBoard, stones={"w": LIGHT, "b": DARK}, seats=("White", "Black"), ground="#c5a076", line="#ecdab9"
    ),
    "tic-tac-toe": partial(_WOODEN, seats=("x", "o")),
}
"""The appearance of each game, by name."""
