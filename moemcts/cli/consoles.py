"""Tables and JSON on the console."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_NAME = 12
"""Minimum width of the name column if it is wrapped."""
_WORD = 20
"""Minimum width of other columns in a list, unless their words are shorter."""
_GAP = 2
_WIDE = 10_000
"""Width used if the output is not a terminal."""


def plain_table(columns: Iterable[str]) -> Table:
    """Returns a table without lines; add rows with `add_row`."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(Text(column))
    return table


def ruled_table(columns: Iterable[str], *, is_whole: bool = False) -> Table:
    """Returns a table with a line below its header and numbers in all columns but the first; add rows with `add_row`.

    With `is_whole`, numbers are not wrapped.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        is_number = number > 0
        table.add_column(
            Text(column), justify="right" if is_number else "left", overflow="fold", no_wrap=is_whole and is_number
        )
    return table


def add_row(table: Table, cells: Iterable[object], *, style: str | None = None) -> None:
    """Adds a row whose cells are printed verbatim: brackets in users' names are not markup."""
    table.add_row(*(Text("" if cell is None else str(cell)) for cell in cells), style=style)


def print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Prints rows as a table, with columns in order of first appearance.

    If the terminal is too narrow, prints each row as several lines; nothing is truncated.
    """
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = plain_table(columns)
    for row in rows:
        add_row(table, (_cell(row.get(column, "")) for column in columns))
    min_width = -_GAP
    for number, column in enumerate(table.columns):
        column.no_wrap, column.overflow = number == 0, "fold"
        longest = max(map(cell_len, " ".join(map(str, (column.header, *column.cells))).split()))
        min_width += _GAP + (longest if column.no_wrap else min(longest, _WORD))
    console = table_console()
    if min_width <= console.width:
        console.print(table)
        return
    first, *others = columns
    for row in rows:
        console.print(Text(_cell(row.get(first, "")), style="bold"))
        details = Table.grid(padding=(0, 2))
        for other in others:
            details.add_row(other, Text(_cell(row.get(other, "")), overflow="fold"))
        console.print(Padding(details, (0, 0, 0, 2)))


def _cell(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def print_json(values: Any) -> None:
    """Prints values as JSON; non-finite numbers, which JSON does not have, become null."""
    from moemcts.report.page import to_json_values

    typer.echo(json.dumps(to_json_values(values), indent=1, allow_nan=False))


def print_table(table: Table) -> None:
    """Prints a table whose first column may wrap; lines exceed the terminal's width if the other columns need it."""
    first = table.columns[0]
    longest = max(cell_len(str(cell)) for cell in (first.header, *first.cells))
    first.min_width = min(_NAME, longest)
    min_width = Console(width=_WIDE).measure(table).maximum - longest + first.min_width
    console = table_console()
    if console.width < min_width:
        console = Console(highlight=False, width=min_width)
    console.print(table)


def table_console() -> Console:
    """Returns a console for tables: cells are wrapped on a terminal; elsewhere each row is one line."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDE)
