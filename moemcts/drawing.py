"""Positions as pages show them: what is drawn, and where a click means which action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Protocol

from moemcts.game import Action, Player

Spot = tuple[float, float, float, float]
"""A rectangle that can be clicked: left edge, upper edge, width, height, in the units of its drawing."""

GROUND, LINE, INK = "#e8dcc4", "#b59f78", "#3a3328"


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """One position on a page."""

    width: float
    height: float
    svg: str = ""
    """What stands inside `<svg viewBox="0 0 width height">`; empty where the board's script draws."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """What the board's script is given, as JSON values."""
    spots: Mapping[Action, tuple[Spot, ...]] = field(default_factory=dict)
    """Where actions are clicked: one spot, or where something is taken and where it is put. Others are buttons."""
    keys: Mapping[Action, str] = field(default_factory=dict)
    """Keys that mean actions, by the browser's names: `ArrowUp`."""


class Board(Protocol):
    """How the positions of a game are shown."""

    @property
    def seats(self) -> Sequence[str]:
        """What players are called, by player."""

    @property
    def colours(self) -> Sequence[str]:
        """Of the players, in CSS."""

    @property
    def page(self) -> Path | None:
        """A folder that pages may load from, with a JavaScript module `board.js`; None where drawings are SVG.

        The module exports `mount(element, play)`. That returns an object: `show(data, actions, player)` draws
        `Drawing.data` and lets the player choose among `actions` by calling `play` with a list of them;
        `takes(action)` says whether an action is made on the board itself.
        """

    def draw(self, state: Any, player: Player) -> Drawing:
        """Returns a position as `player` looks at it."""


def grid(
    cells: Sequence[Sequence[str]],
    *,
    colours: Mapping[str, str],
    spots: Mapping[Action, tuple[Spot, ...]],
    ground: str = GROUND,
    line: str = LINE,
    marked: Sequence[tuple[int, int]] = (),
    shift: float = 0.0,
) -> Drawing:
    """Returns a board of cells, one unit each: a disc where `colours` has the cell's text, else the text itself.

    `marked` are cells, row and column, that the last move touched; each row is `shift` units to the right of the one
    above, as on a board of hexagons.
    """
    width = max(map(len, cells)) + shift * (len(cells) - 1)
    parts = []
    for row, texts in enumerate(cells):
        for column, text in enumerate(texts):
            x = column + shift * row
            stroke = INK if (row, column) in marked else line
            parts.append(
                f'<rect x="{x + 0.03:g}" y="{row + 0.03:g}" width="0.94" height="0.94" rx="0.1" fill="{ground}" '
                f'stroke="{stroke}" stroke-width="0.03"/>'
            )
            if text in colours:
                parts.append(
                    f'<circle cx="{x + 0.5:g}" cy="{row + 0.5:g}" r="0.37" fill="{colours[text]}" '
                    f'stroke="{INK}" stroke-width="0.03"/>'
                )
            elif text.strip():
                parts.append(
                    f'<text x="{x + 0.5:g}" y="{row + 0.52:g}" font-size="0.5" text-anchor="middle" fill="{INK}" '
                    f'dominant-baseline="central" font-family="sans-serif">{escape(text)}</text>'
                )
    return Drawing(width=width, height=len(cells), svg="".join(parts), spots=spots)


def cell(row: int, column: int, shift: float = 0.0) -> Spot:
    """Returns the spot of one cell of a `grid`."""
    return (column + shift * row, float(row), 1.0, 1.0)
