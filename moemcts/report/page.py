"""Writes the report of a run: a self-contained page, the same as Markdown, and the numbers as JSON."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from moemcts.errors import MoemctsError
from moemcts.report.markup import render_template
from moemcts.report.style import GRID, INK, MUTED, PAPER, PHASE_COLOURS, drawing
from moemcts.report.tables import Table, escape_markdown
from moemcts.store import clear_leftovers, write_bytes

if TYPE_CHECKING:
    import matplotlib.figure

_CSS_VARIABLES = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    GRID: "var(--line)",
    PAPER: "var(--page)",
    PHASE_COLOURS[0].lower(): "var(--blue)",
}


@dataclass(frozen=True)
class Figure:
    """An image with its caption."""

    name: str
    """The base name of its files; unique in the report."""
    image: matplotlib.figure.Figure | Path | Callable[[], matplotlib.figure.Figure]
    """A matplotlib figure, a function that draws one when it is written, or an SVG, PNG, GIF or JPEG file."""
    caption: str
    """What it shows, from how many samples, and what the intervals mean."""


@dataclass(frozen=True)
class Section:
    """A heading with paragraphs, tables and figures."""

    title: str
    text: str = ""
    """Paragraphs separated by blank lines; `- ` begins a list item; `code`, **bold** and [links](address)."""
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()


@dataclass(frozen=True)
class Report:
    """The report of a run."""

    title: str
    summary: str
    sections: Sequence[Section] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """All measurements, in machine-readable form."""


def write_report(folder: Path, report: Report) -> None:
    """Writes `report.html`, `report.md`, `numbers.json` and `figures/` into the folder.

    The page needs no other files and follows the reader's light or dark mode. Each file is replaced atomically, and
    leftovers of a killed writer are removed. Raises MoemctsError if a file cannot be written, ValueError for duplicate
    figure names or an unknown kind of image.
    """
    figures = [figure for section in report.sections for figure in section.figures]
    names = [figure.name for figure in figures]
    if len(set(names)) < len(names):
        raise ValueError(f"expected figures of different names, got {', '.join(names)}")
    try:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        clear_leftovers(folder)
        images = {figure.name: _write_image(folder / "figures", figure) for figure in figures}
        write_bytes(
            folder / "numbers.json",
            json.dumps(to_json_values(report.numbers), indent=2, allow_nan=False).encode() + b"\n",
        )
        write_bytes(folder / "report.md", _markdown(report, images).encode())
        write_bytes(folder / "report.html", render_template("page.html", report=report, images=images).encode())
    except OSError as error:
        raise MoemctsError(f"cannot write the report to {folder}: {error.strerror or error}") from error


@dataclass(frozen=True)
class _Image:
    file: str
    """The path for Markdown, relative to the report."""
    html: Markup


def _write_image(folder: Path, figure: Figure) -> _Image:
    if isinstance(figure.image, Path):
        return _copy_image(folder, figure, figure.image)
    drawn = figure.image() if callable(figure.image) else figure.image
    files = {}
    for suffix in ("svg", "png"):
        buffer = io.BytesIO()
        with drawing():
            drawn.savefig(
                buffer, format=suffix, transparent=suffix == "svg", metadata={"Date": None} if suffix == "svg" else None
            )
        files[suffix] = buffer.getvalue()
        write_bytes(folder / f"{figure.name}.{suffix}", files[suffix])
    return _Image(f"figures/{figure.name}.png", _inline_svg(files["svg"].decode(), figure))


def _copy_image(folder: Path, figure: Figure, path: Path) -> _Image:
    kinds = {".svg": "svg+xml", ".png": "png", ".gif": "gif", ".jpg": "jpeg", ".jpeg": "jpeg"}
    suffix = path.suffix.lower()
    if suffix not in kinds:
        raise ValueError(f"expected an image in {', '.join(kinds)}, got {str(path)!r}")
    data = path.read_bytes()
    target = folder / f"{figure.name}{suffix}"
    if not (target.exists() and target.samefile(path)):
        write_bytes(target, data)
    address = f"data:image/{kinds[suffix]};base64,{base64.b64encode(data).decode()}"
    image = Markup('<img class="paper" src="{}" alt="{}">').format(address, figure.caption)
    return _Image(f"figures/{target.name}", image)


def _inline_svg(svg: str, figure: Figure) -> Markup:
    """Returns an SVG to be inlined: ids are made unique, and colours refer to those of the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    prefix = re.sub(r"\W", "-", figure.name)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}-", svg)
    for colour, variable in _CSS_VARIABLES.items():
        svg = svg.replace(colour, variable)
    size = re.search(r'viewBox="0 0 ([\d.]+) ', svg)
    width = float(size.group(1)) * 4 / 3 if size else 700.0
    svg = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", svg, count=1)
    svg = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", svg, count=1)
    # Its letters stay readable on a phone, where it scrolls.
    style = f"min-width:{0.75 * width:.0f}px;max-width:{width:.0f}px"
    return Markup(svg.replace("<svg ", f'<svg role="img" aria-label="{escape(figure.caption)}" style="{style}" ', 1))


def _markdown(report: Report, images: Mapping[str, _Image]) -> str:
    parts = [f"# {escape_markdown(report.title)}", _markdown_text(report.summary)]
    for section in report.sections:
        parts += [f"## {escape_markdown(section.title)}", _markdown_text(section.text)]
        parts += [table.markdown() for table in section.tables]
        for figure in section.figures:
            caption = escape_markdown(figure.caption)
            alt = caption.replace("[", "(").replace("]", ")")
            parts += [f"![{alt}]({images[figure.name].file})", f"*{caption}*"]
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown_text(text: str) -> str:
    # As in HTML, code comes first: markup inside it has no effect.
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(
        part if part[:1] == "`" and len(part) > 2 else "\n".join(map(escape_markdown, part.split("\n")))
        for part in parts
    )


def to_json_values(value: Any) -> Any:
    """Converts a value for JSON; non-finite numbers become null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_json_values({entry.name: getattr(value, entry.name) for entry in dataclasses.fields(value)})
    if isinstance(value, Mapping):
        return {str(key): to_json_values(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return to_json_values(value.tolist())
    if isinstance(value, list | tuple):
        return [to_json_values(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path | datetime.date | datetime.time) else value
