"""Tables for people, and for who reads them by a program."""

from __future__ import annotations

from rich.console import Console

_WIDE = 10_000
"""Columns where no terminal says how many there are."""


def table_console() -> Console:
    """Returns a console for tables: cells are wrapped on a terminal; elsewhere a row is one line."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDE)
