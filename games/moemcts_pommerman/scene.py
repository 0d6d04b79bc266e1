"""The layout of a state, independent of the renderer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from moemcts_pommerman.glyphs import FADED, INK

_BOARD_GLYPHS = {1: "rigid", 2: "wood", 6: "extra-bomb", 7: "incr-range", 8: "kick"}
# Sizes in cells: around the board, above it, and per line of players below it.
MARGIN = 0.4
HEADER = 1.0
LINE = 1.0


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A glyph and its upper left corner, in cells."""

    glyph: str
    x: float
    y: float
    size: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Text:
    """A line of text vertically centred at `y`, in cells; it starts or ends at `x`."""

    text: str
    x: float
    y: float
    size: float
    fill: str = INK
    at_end: bool = False


@dataclass(frozen=True)
class Scene:
    width: float
    height: float
    marks: tuple[Mark, ...]
    texts: tuple[Text, ...]


def board_glyphs(state: Any) -> list[tuple[str, int, int]]:
    """Returns glyph, row and column of everything on the board except the floor, bottom layers first."""
    arrays = state.arrays()
    board, agents, bombs = arrays["board"].tolist(), arrays["agents"].tolist(), arrays["bombs"].tolist()
    glyphs = [
        (_BOARD_GLYPHS[value], row, column)
        for row, line in enumerate(board)
        for column, value in enumerate(line)
        if value in _BOARD_GLYPHS
    ]
    # Oldest first, so that the youngest flame of a cell, which burns longest, is shown.
    life_of_flame = {(row, column): life for row, column, life in arrays["flames"].tolist()}
    glyphs += [(f"flame{life}", row, column) for (row, column), life in life_of_flame.items()]
    glyphs += [(f"bomb{min(life, 9)}", row, column) for row, column, _, life, _, _ in bombs]
    glyphs += [(f"move{direction}", row, column) for row, column, *_, direction in bombs if direction]
    glyphs += [(f"player{player}", agent[0], agent[1]) for player, agent in enumerate(agents) if agent[5]]
    occupied = {(agent[0], agent[1]) for agent in agents if agent[5]}
    glyphs += [(f"badge{min(life, 9)}", row, column) for row, column, _, life, *_ in bombs if (row, column) in occupied]
    return glyphs


def describe_player(agent: list[int]) -> str:
    """Returns a description of a player, from its row of `PommermanState.arrays()['agents']`."""
    _, _, ammo, strength, can_kick, alive = agent
    if not alive:
        return "dead"
    plural = "" if ammo == 1 else "s"
    return f"{ammo} bomb{plural}, reach {strength - 1}{', kicks' if can_kick else ''}"


def make_scene(state: Any, caption: str = "") -> Scene:
    """Returns the board, with the step and a caption above it and the players below."""
    n = state.rules.board_size
    arrays = state.arrays()
    top = HEADER
    marks = [
        Mark(glyph=f"floor{(row + column) % 2}", x=MARGIN + column, y=top + row)
        for row in range(n)
        for column in range(n)
    ]
    marks += [Mark(glyph=glyph, x=MARGIN + column, y=top + row) for glyph, row, column in board_glyphs(state)]
    texts = [Text(text=f"step {state.ply}", x=MARGIN, y=top / 2, size=0.46)]
    if caption:
        texts.append(Text(text=caption, x=MARGIN + n, y=top / 2, size=0.38, at_end=True))
    for player, agent in enumerate(arrays["agents"].tolist()):
        x, y = MARGIN + (player % 2) * n / 2, top + n + 0.2 + (player // 2) * LINE
        alive = bool(agent[5])
        marks.append(Mark(glyph=f"chip{player}" if alive else "chip-dead", x=x, y=y + 0.1, size=0.8))
        text = describe_player(agent) if alive else f"player {player} is dead"
        texts.append(Text(text=text, x=x + 0.95, y=y + LINE / 2, size=0.38, fill=INK if alive else FADED))
    lines = (len(arrays["agents"]) + 1) // 2
    return Scene(n + 2 * MARGIN, top + n + 0.3 + lines * LINE, tuple(marks), tuple(texts))
