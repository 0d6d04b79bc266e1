"""Rendering of states as SVG, pixels or PNG files."""

from __future__ import annotations

import functools
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from moemcts_pommerman.glyphs import BACKGROUND, GLYPHS, Box, Disc, Glyph, Label, Polygon
from moemcts_pommerman.scene import Scene, make_scene

Pixels = NDArray[np.uint8]
FONT = "Inter, 'Segoe UI', 'DejaVu Sans', sans-serif"
# Glyphs are drawn at this scale and downsampled, for anti-aliasing.
_OVERSAMPLING = 4


def to_svg(state: Any, *, cell: int = 48, caption: str = "") -> str:
    """Returns an image of the state as SVG, `cell` pixels per cell; `caption` is shown above the board."""
    scene = make_scene(state, caption)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{scene.width * cell:g}" height="{scene.height * cell:g}" '
        f'viewBox="0 0 {scene.width:g} {scene.height:g}">'
    )
    return "\n".join([head, svg_body(scene), "</svg>"])


def svg_body(scene: Scene) -> str:
    """Returns the content of an SVG element whose unit is a cell."""
    used = sorted({mark.glyph for mark in scene.marks})
    parts = [
        "<defs>",
        *(glyph_symbol(name) for name in used),
        "</defs>",
        f'<rect width="100%" height="100%" fill="{BACKGROUND}"/>',
    ]
    for mark in scene.marks:
        place = f'x="{mark.x:g}" y="{mark.y:g}" width="{mark.size:g}" height="{mark.size:g}"'
        parts.append(f'<use href="#{mark.glyph}" {place}/>')
    for text in scene.texts:
        anchor = ' text-anchor="end"' if text.at_end else ""
        parts.append(
            f'<text x="{text.x:g}" y="{text.y:g}" font-size="{text.size:g}" fill="{text.fill}" '
            f'font-family="{FONT}" dominant-baseline="central"{anchor}>{escape(text.text)}</text>'
        )
    return "\n".join(parts)


def glyph_symbol(name: str) -> str:
    """Returns a glyph as an SVG symbol with that name."""
    shapes = "".join(map(_svg_shape, GLYPHS[name]))
    return f'<symbol id="{name}" viewBox="0 0 100 100">{shapes}</symbol>'


def to_array(state: Any, *, cell: int = 40, caption: str = "") -> Pixels:
    """Returns an image of the state as `[height, width, 3]`, `cell` pixels per cell."""
    return np.asarray(to_image(state, cell=cell, caption=caption), dtype=np.uint8)


def to_image(state: Any, *, cell: int = 40, caption: str = "") -> Image.Image:
    """Returns an image of the state; raises ValueError for cells below 8 pixels."""
    if cell < 8:
        raise ValueError(f"expected at least 8 pixels per cell, got {cell}")
    return _paint(make_scene(state, caption), cell)


def save_png(path: str | Path, state: Any, *, cell: int = 48, caption: str = "") -> None:
    """Writes an image of the state."""
    to_image(state, cell=cell, caption=caption).save(path)


def _paint(scene: Scene, cell: int) -> Image.Image:
    size = (round(scene.width * cell), round(scene.height * cell))
    image = Image.new("RGBA", size, BACKGROUND)
    for mark in scene.marks:
        place = (round(mark.x * cell), round(mark.y * cell))
        image.alpha_composite(_glyph_image(mark.glyph, round(mark.size * cell)), place)
    draw = ImageDraw.Draw(image)
    for text in scene.texts:
        anchor = "rm" if text.at_end else "lm"
        draw.text((text.x * cell, text.y * cell), text.text, text.fill, _font(round(text.size * cell)), anchor)
    return image.convert("RGB")


@functools.lru_cache(maxsize=256)
def _glyph_image(name: str, size: int) -> Image.Image:
    large = size * _OVERSAMPLING
    image = Image.new("RGBA", (large, large))
    _draw_shapes(ImageDraw.Draw(image), GLYPHS[name], large / 100)
    return image.resize((size, size), Image.Resampling.LANCZOS)


def _draw_shapes(draw: ImageDraw.ImageDraw, glyph: Glyph, scale: float) -> None:
    for shape in glyph:
        match shape:
            case Box():
                corners = (shape.x, shape.y, shape.x + shape.width, shape.y + shape.height)
                draw.rounded_rectangle([scale * c for c in corners], shape.radius * scale, shape.fill)
            case Disc():
                edges = (shape.x - shape.radius, shape.y - shape.radius, shape.x + shape.radius, shape.y + shape.radius)
                draw.ellipse([scale * edge for edge in edges], shape.fill)
            case Polygon():
                draw.polygon([(x * scale, y * scale) for x, y in shape.points], shape.fill)
            case Label():
                font = _font(round(shape.size * scale))
                draw.text((shape.x * scale, shape.y * scale), shape.text, shape.fill, font, "mm")


def _svg_shape(shape: Box | Disc | Polygon | Label) -> str:
    match shape:
        case Box():
            return (
                f'<rect x="{shape.x:g}" y="{shape.y:g}" width="{shape.width:g}" height="{shape.height:g}" '
                f'rx="{shape.radius:g}" fill="{shape.fill}"/>'
            )
        case Disc():
            return f'<circle cx="{shape.x:g}" cy="{shape.y:g}" r="{shape.radius:g}" fill="{shape.fill}"/>'
        case Polygon():
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape.points)
            return f'<polygon points="{points}" fill="{shape.fill}"/>'
        case Label():
            return (
                f'<text x="{shape.x:g}" y="{shape.y:g}" font-size="{shape.size:g}" font-weight="700" '
                f'font-family="{FONT}" text-anchor="middle" dominant-baseline="central" '
                f'fill="{shape.fill}">{escape(shape.text)}</text>'
            )


@functools.lru_cache(maxsize=32)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
