"""The tables of `docs/guides/speed.md` and of the results: the search beside what it was, and beside others."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"

Row = dict[str, Any]


def rows_of(name: str) -> dict[str, Row]:
    """Returns the last row of every name in a table of results."""
    path = RESULTS / f"{name}.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {row["name"]: row for row in rows}


def against_before() -> str:
    """Returns the table of the search now and before, with the ratios of one run."""
    rows = rows_of("side_by_side").values()
    heads = "simulations per second of processor time | now | before | times as fast | lowest to highest"
    return _table(heads, ([_short(row["name"]), *_cells(row)] for row in rows))


def against_peers() -> str:
    """Returns the table of our searches and others', with the ratios of one run."""
    rows = rows_of("peers").values()
    heads = "simulations or playouts per second of processor time | ours | theirs | times as fast | lowest to highest"
    return _table(heads, ([row["name"], *_cells(row)] for row in rows))


def memory() -> str:
    """Returns the table of the memory of trees."""
    heads = "tree of chess | bytes per node | at the peak, while it grows | processor time"
    rows = rows_of("memory").values()
    cells = ([_tree(row["name"]), f"{row['value']:,}", f"{row['peak']:,}", f"{row['seconds']} s"] for row in rows)
    return _table(heads, cells)


def measured() -> list[Row]:
    """Returns all rows that these tables show."""
    return [row for name in ("side_by_side", "peers", "memory") for row in rows_of(name).values()]


def tables() -> str:
    """Returns the three tables, one after the other."""
    return "\n\n".join([against_before(), memory(), against_peers()])


def _cells(row: Row) -> list[str]:
    spread = f"{row['lowest']:.2f} to {row['highest']:.2f}"
    return [f"{row['ours']:,}", f"{row['theirs']:,}", f"{row['value']:.2f}", spread]


def _short(name: str) -> str:
    return name.removeprefix("search, ").removesuffix(", against before")


def _tree(name: str) -> str:
    return name.removeprefix("memory of a tree, chess, ")


def _table(heads: str, rows: Iterable[Iterable[str]]) -> str:
    columns = heads.split(" | ")
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
