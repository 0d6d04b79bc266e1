"""Tables for people, and for who reads them by a program."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

_NAME = 12
"""Columns that names have at least where they are wrapped."""
_WIDE = 10_000
"""Columns where no terminal says how many there are."""


def print_table(table: Table) -> None:
    """Prints a table whose first column may wrap: where a terminal is too narrow for the others, lines are longer."""
    first = table.columns[0]
    longest = max(cell_len(str(cell)) for cell in (first.header, *first.cells))
    first.min_width = min(_NAME, longest)
    least = Console(width=_WIDE).measure(table).maximum - longest + first.min_width
    console = table_console()
    if console.width < least:
        console = Console(highlight=False, width=least)
    console.print(table)


def table_console() -> Console:
    """Returns a console for tables: cells are wrapped on a terminal; elsewhere a row is one line."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDE)
