"""Tables of a report as text, Markdown and HTML, and the formatting of their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from moemcts.arena.intervals import Interval

Cell = str | int | float | None
SAFE_ADDRESS = r"(?:https?://[^\s)\"]+|[\w./#-]+)"
"""The link targets that are allowed in a report."""


@dataclass(frozen=True)
class HtmlCell:
    """A cell of an HTML table."""

    text: str
    interval: str
    """Shown below the number, to keep wide tables narrow; empty if there is none."""
    colour: str
    """A translucent colour between orange and green, which suits light and dark mode; empty for none."""

    @classmethod
    def of(cls, text: str, tint: float | None) -> Self:
        """Returns the cell of a text; `tint` as in `Table.tints`."""
        number, bracket, rest = text.partition(" [")
        has_interval = bool(bracket) and rest.endswith("]")
        colour = ""
        if tint is not None:
            hue = "0, 158, 115" if tint >= 0.5 else "213, 94, 0"
            colour = f"rgba({hue}, {0.55 * abs(2 * tint - 1):.2f})"
        return cls(number, f"[{rest}", colour) if has_interval else cls(text, "", colour)


@dataclass(frozen=True)
class Table:
    """Rows under columns; None stands for nothing measured."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    tints: Sequence[Sequence[float | None]] = ()
    """The quality of each cell from 0, the worst, to 1, the best, which decides its colour on the page; None for no
    colour."""
    colours: str = ""
    """Explains the colours, wherever they are shown."""

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(f"expected {len(self.columns)} cells in row {number}, got {len(row)}")
        if self.tints and [len(row) for row in self.tints] != [len(row) for row in self.rows]:
            raise ValueError(f"expected one tint per cell or none, got {len(self.tints)} rows for {len(self.rows)}")

    def text(self) -> str:
        """Returns the table for a terminal, with aligned columns and the caption below."""
        lines = [list(self.columns), *([_text(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rights = self.rights
        aligned = [
            "  ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(line, widths, rights, strict=True)
            ).rstrip()
            for line in lines
        ]
        return "\n".join([*aligned, self.caption]).rstrip()

    def markdown(self) -> str:
        """Returns the table in GitHub's Markdown, with numbers aligned to the right and the caption below."""
        rights = self.rights
        lines = [
            [_markdown_cell(column) for column in self.columns],
            ["---:" if right else "---" for right in rights],
            *([_markdown_cell(_text(cell)) for cell in row] for row in self.rows),
        ]
        text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"{text}\n\n{escape_markdown(self.caption)}" if self.caption else text

    def cells(self) -> Iterator[list[HtmlCell]]:
        """Yields the rows of the table as HTML cells."""
        for row, tints in zip(self.rows, self.tints or [[None] * len(self.columns)] * len(self.rows), strict=True):
            yield [HtmlCell.of(_text(cell), tint) for cell, tint in zip(row, tints, strict=True)]

    @property
    def page_caption(self) -> str:
        """The text below the table on a page."""
        is_coloured = any(tint is not None for row in self.tints for tint in row)
        return " ".join(filter(None, [self.caption, self.colours if is_coloured else ""]))

    @property
    def rights(self) -> list[bool]:
        """Which columns are right-aligned: those with numbers, and those in which nothing was measured."""
        return [
            any(isinstance(row[i], int | float) or _looks_numeric(row[i]) for row in self.rows)
            or (bool(self.rows) and all(row[i] is None for row in self.rows))
            for i in range(len(self.columns))
        ]


def escape_markdown(text: str) -> str:
    """Returns text in one line that contains no HTML, and no links except to pages and files."""
    # A block quote may begin inside a list item.
    text = re.sub(r"^((?:[\s*+-]|\d+[.)])*)>", r"\1&gt;", _without_html(text))
    return re.sub(r"\](?=\((?!" + SAFE_ADDRESS + r"\)))", r"\\]", text)


def format_points(interval: Interval, *, signed: bool = False) -> str:
    """Formats an interval of shares in percentage points."""
    sign = "+z" if signed else "z"
    return f"[{100 * interval[0]:{sign}.1f}, {100 * interval[1]:{sign}.1f}]"


def format_fixed(value: float | None, digits: int = 4) -> str | None:
    """Formats a number with fixed decimals, by default those of a loss; None if nothing was measured."""
    return None if value is None else f"{value:.{digits}f}"


def format_p_value(p_value: float) -> str:
    """Formats a p-value, never as 0."""
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _text(cell: Cell) -> str:
    if cell is None:
        return "–"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _markdown_cell(text: str) -> str:
    """Returns a text without any markup, as on a page; escapes only what has to be, so most names are unchanged."""
    text = _without_html(re.sub(r"\\(?=[^\w\s])", r"\\\\", text))
    text = re.sub(r"\](?=\()|\|", r"\\\g<0>", text)
    # A single mark has no effect, and neither does an underscore within a word.
    for mark in (r"\*", "`", "~", r"(?<![^\W_])_|_(?![^\W_])"):
        if len(re.findall(mark, text)) > 1:
            text = re.sub(mark, r"\\\g<0>", text)
    return text


def _without_html(text: str) -> str:
    """Returns text in one line without HTML tags and character references."""
    text = re.sub(r"&(?=#?\w+;)", "&amp;", " ".join(text.split("\n")))
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)


def _looks_numeric(cell: Cell) -> bool:
    return isinstance(cell, str) and bool(cell) and not cell.strip("+-−<>.,…±[]/% 0123456789")
