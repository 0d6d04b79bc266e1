"""The contents of cells as shapes in a 100 x 100 square, shared by all renderers."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    radius: float
    fill: str


@dataclass(frozen=True, kw_only=True)
class Disc:
    x: float
    y: float
    radius: float
    fill: str


@dataclass(frozen=True, kw_only=True)
class Polygon:
    points: tuple[tuple[float, float], ...]
    fill: str


@dataclass(frozen=True, kw_only=True)
class Label:
    """Text centred on a point."""

    x: float
    y: float
    size: float
    text: str
    fill: str


Shape = Box | Disc | Polygon | Label
Glyph = tuple[Shape, ...]

# Blue, crimson, green, violet: distinct from each other, wood and flames; numbers help if colours do not.
PLAYER_COLOURS = ("#2563eb", "#d6336c", "#2b9348", "#7c3aed")
BACKGROUND = "#f7f4ec"
INK = "#2b2d36"
FADED = "#a9a598"
_FLOOR = ("#ece5d3", "#e6dec9")
_FLAMES = (("#c2410c", "#ea580c", "#fdba74"), ("#ea580c", "#f59e0b", "#fde68a"), ("#f97316", "#fbbf24", "#fffbeb"))


def _square(fill: str) -> Box:
    return Box(x=0, y=0, width=100, height=100, radius=0, fill=fill)


def _rigid() -> Glyph:
    return (
        _square("#343a46"),
        Box(x=5, y=5, width=90, height=90, radius=10, fill="#545d6e"),
        Box(x=5, y=12, width=90, height=83, radius=10, fill="#454d5c"),
    )


def _wood() -> Glyph:
    planks = tuple(
        Box(x=5, y=5 + 31 * i, width=90, height=28, radius=5, fill=fill)
        for i, fill in enumerate(("#cf9f6b", "#c29059", "#b6834d"))
    )
    nails = tuple(Disc(x=x, y=19 + 31 * i, radius=3, fill="#7d5528") for i in range(3) for x in (15, 85))
    return (_square("#8a6034"), *planks, *nails)


def _flame(life: int) -> Glyph:
    outer, middle, inner = _FLAMES[life]
    size = 0.72 + 0.14 * life
    return (*(_star(50, 52, radius * size, fill) for radius, fill in ((50, outer), (36, middle), (20, inner))),)


def _star(x: float, y: float, radius: float, fill: str) -> Polygon:
    points = []
    for i in range(16):
        reach = radius if i % 2 == 0 else radius * 0.72
        angle = math.tau * i / 16
        points.append((x + reach * math.sin(angle), y - reach * math.cos(angle)))
    return Polygon(points=tuple(points), fill=fill)


def _bomb(life: int) -> Glyph:
    # The spark turns red as the explosion approaches.
    spark = "#ef4444" if life <= 3 else "#f59e0b" if life <= 6 else "#fcd34d"
    return (
        Polygon(points=((62, 26), (70, 12), (77, 16), (69, 31)), fill="#8d6e48"),
        _star(76, 12, 12, spark),
        Disc(x=48, y=57, radius=36, fill="#15171c"),
        Disc(x=37, y=43, radius=9, fill="#3c414d"),
        Label(x=48, y=58, size=44, text=str(life), fill="#ffffff"),
    )


def _badge(life: int) -> Glyph:
    """Returns the badge of a bomb under a player, in the lower right corner."""
    return (
        Disc(x=77, y=77, radius=22, fill="#ffffff"),
        Disc(x=77, y=77, radius=19, fill="#15171c"),
        Label(x=77, y=78, size=28, text=str(life), fill="#ffffff"),
    )


def _tile(fill: str, *shapes: Shape) -> Glyph:
    return (
        Box(x=12, y=12, width=76, height=76, radius=16, fill="#ffffff"),
        Box(x=17, y=17, width=66, height=66, radius=12, fill=fill),
        *shapes,
    )


def _arrow(direction: int, size: float, fill: str, *, reach: float = 0.0) -> Polygon:
    """Returns an arrowhead at the centre, or `reach` away from it: 1 up, 2 down, 3 left, 4 right."""
    dx, dy = ((0, -1), (0, 1), (-1, 0), (1, 0))[direction - 1]
    x, y = 50 + reach * dx, 50 + reach * dy
    tip = (x + size * dx, y + size * dy)
    left, right = (x - size * dy, y - size * dx), (x + size * dy, y + size * dx)
    return Polygon(points=(tip, left, right), fill=fill)


def _player(player: int, *, small: bool = False) -> Glyph:
    colour = PLAYER_COLOURS[player]
    eyes = tuple(
        shape
        for x in (38, 62)
        for shape in (Disc(x=x, y=36, radius=8, fill="#ffffff"), Disc(x=x + 1.5, y=37, radius=4, fill=INK))
    )
    body: Glyph = (
        Disc(x=50, y=50, radius=43, fill="#ffffff"),
        Disc(x=50, y=50, radius=39, fill=colour),
        *eyes,
        Label(x=50, y=66, size=36, text=str(player), fill="#ffffff"),
    )
    return body if not small else (*body[:2], Label(x=50, y=51, size=52, text=str(player), fill="#ffffff"))


GLYPHS: dict[str, Glyph] = {
    "floor0": (_square(_FLOOR[0]),),
    "floor1": (_square(_FLOOR[1]),),
    "rigid": _rigid(),
    "wood": _wood(),
    "extra-bomb": _tile(
        "#3b82f6",
        Disc(x=44, y=54, radius=19, fill="#15171c"),
        Box(x=60, y=33, width=18, height=6, radius=2, fill="#ffffff"),
        Box(x=66, y=27, width=6, height=18, radius=2, fill="#ffffff"),
    ),
    "incr-range": _tile("#f59e0b", *(_arrow(d, 13, "#ffffff", reach=14) for d in (1, 2, 3, 4))),
    "kick": _tile(
        "#10b981",
        Polygon(points=((32, 28), (50, 28), (50, 52), (70, 56), (74, 70), (32, 70)), fill="#ffffff"),
        Box(x=30, y=66, width=46, height=7, radius=3, fill="#065f46"),
    ),
    **{f"flame{life}": _flame(life) for life in range(3)},
    **{f"bomb{life}": _bomb(life) for life in range(10)},
    **{f"badge{life}": _badge(life) for life in range(10)},
    **{f"move{d}": (_arrow(d, 15, "#ffffff", reach=36), _arrow(d, 10, "#dc2626", reach=37)) for d in (1, 2, 3, 4)},
    **{f"player{player}": _player(player) for player in range(4)},
    **{f"chip{player}": _player(player, small=True) for player in range(4)},
    "chip-dead": (
        Disc(x=50, y=50, radius=39, fill="#d8d3c5"),
        Polygon(points=((28, 34), (34, 28), (72, 66), (66, 72)), fill="#8b8778"),
        Polygon(points=((66, 28), (72, 34), (34, 72), (28, 66)), fill="#8b8778"),
    ),
}
