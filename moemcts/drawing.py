"""Drawings of positions for web pages: what is drawn, and which clicks mean which actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Protocol

from moemcts.game import Action, Player

Spot = tuple[float, float, float, float]
"""A clickable rectangle: left edge, upper edge, width, height, in the units of its drawing."""

_ROW_DISTANCE, _HEXAGON_HEIGHT = 3**0.5 / 2, 2 / 3**0.5
"""Distance between rows of hexagons of width 1, and the height of one."""
_THIN_STROKE = 'stroke-width="0.03" stroke-linejoin="round"'
GROUND, LINE, INK = "#e8dcc4", "#b59f78", "#3a3328"


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """One position as drawn on a page."""

    width: float
    height: float
    svg: str = ""
    """The content of `<svg viewBox="0 0 width height">`; empty if the board's script draws."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """JSON values that are passed to the board's script."""
    spots: Mapping[Action, tuple[Spot, ...]] = field(default_factory=dict)
    """Where to click for an action: one spot, or its origin and its destination. Actions without spots become
    buttons."""
    marks: Mapping[Action, Spot] = field(default_factory=dict)
    """Where to highlight an action that was played or considered, if not at its spots."""
    keys: Mapping[Action, str] = field(default_factory=dict)
    """Keyboard keys of actions, by the browser's key names: `ArrowUp`."""


class Board(Protocol):
    """How the positions of a game are shown."""

    @property
    def seats(self) -> Sequence[str]:
        """Names of the players, by player."""

    @property
    def colours(self) -> Sequence[str]:
        """CSS colours of the players, by player."""

    @property
    def page(self) -> Path | None:
        """A folder that is served to pages and holds a JavaScript module `board.js`; None if drawings are SVG.

        The module exports `mount(element, play)`, which returns an object with two methods: `show(data, actions,
        player)` draws `Drawing.data` and lets the player choose among `actions` by calling `play` with a list of them;
        `takes(action)` returns whether an action is made on the board itself.
        """

    def draw(self, state: Any, player: Player) -> Drawing:
        """Returns the drawing of a position as `player` sees it."""


def grid(
    cells: Sequence[Sequence[str]],
    *,
    colours: Mapping[str, str],
    spots: Mapping[Action, tuple[Spot, ...]],
    ground: str = GROUND,
    line: str = LINE,
    shift: float = 0.0,
    marks: Mapping[Action, Spot] | None = None,
    hole: str = "",
) -> Drawing:
    """Returns a board of cells, one unit each: a disc if `colours` has the cell's text, else the text itself.

    With a colour as `hole`, every cell has a hole of that colour, and there are no gaps between cells. With a `shift`,
    each row is moved that many units to the right of the one above, and cells are hexagons.
    """
    width = max(map(len, cells)) + shift * (len(cells) - 1)
    height = _ROW_DISTANCE * (len(cells) - 1) + _HEXAGON_HEIGHT if shift else len(cells)
    parts = []
    for row, texts in enumerate(cells):
        for column, text in enumerate(texts):
            left, top, cell_width, cell_height = cell(row, column, shift)
            x, y = left + cell_width / 2, top + cell_height / 2
            if hole:
                parts.append(f'<rect x="{left:g}" y="{top:g}" width="1.01" height="1.01" fill="{ground}"/>')
                parts.append(_disc(x, y, radius=0.4, fill=hole, stroke=line, stroke_width=0.05))
            else:
                outline = _outline(x, y, is_hexagon=bool(shift))
                parts.append(f'<path d="{outline}" fill="{ground}" stroke="{line}" {_THIN_STROKE}/>')
            if text in colours:
                parts.append(_disc(x, y, radius=0.36, fill=colours[text], stroke=INK, stroke_width=0.03))
            elif text.strip():
                parts.append(
                    f'<text x="{x:g}" y="{y + 0.02:g}" font-size="0.5" text-anchor="middle" fill="{INK}" '
                    f'dominant-baseline="central" font-family="sans-serif">{escape(text)}</text>'
                )
    return Drawing(width=width, height=height, svg="".join(parts), spots=spots, marks=marks or {})


def cell(row: int, column: int, shift: float = 0.0) -> Spot:
    """Returns the rectangle of one cell of a `grid`."""
    if shift:
        return (column + shift * row, _ROW_DISTANCE * row + (_HEXAGON_HEIGHT - _ROW_DISTANCE) / 2, 1.0, _ROW_DISTANCE)
    return (float(column), float(row), 1.0, 1.0)


def _disc(x: float, y: float, *, radius: float, fill: str, stroke: str, stroke_width: float) -> str:
    """Returns an SVG circle centred at `x`, `y`."""
    return (
        f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}" '
        f'stroke="{stroke}" stroke-width="{stroke_width:g}"/>'
    )


def _outline(x: float, y: float, *, is_hexagon: bool) -> str:
    """Returns an SVG path around the cell centred at `x`, `y`."""
    if not is_hexagon:
        return f"M{x - 0.47:g} {y - 0.47:g}h0.94v0.94h-0.94z"
    corners = [
        (0.0, -_HEXAGON_HEIGHT / 2),
        (0.5, -_HEXAGON_HEIGHT / 4),
        (0.5, _HEXAGON_HEIGHT / 4),
        (0.0, _HEXAGON_HEIGHT / 2),
        (-0.5, _HEXAGON_HEIGHT / 4),
        (-0.5, -_HEXAGON_HEIGHT / 4),
    ]
    return "M" + "L".join(f"{x + 0.97 * dx:.3f} {y + 0.97 * dy:.3f}" for dx, dy in corners) + "z"
