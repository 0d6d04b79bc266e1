"""How tables of results are written: the last row of every name, and where rows come from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"

Row = dict[str, Any]


def latest(table: str) -> dict[str, Row]:
    """Returns the last row of every name in a table of results."""
    path = RESULTS / f"{table}.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {row["name"]: row for row in rows}


def table(heads: str, rows: Iterable[Iterable[Any]]) -> str:
    """Returns a table: `heads` separated by bars, those after the first above numbers."""
    columns = heads.split(" | ")
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def origin(rows: Iterable[Row]) -> str:
    """Returns where rows come from, one line per command: commits, machines and days."""
    places: dict[str, dict[str, dict[str, None]]] = {}
    for row in rows:
        place = places.setdefault(row["command"], {"commit": {}, "machine": {}, "date": {}})
        for key, seen in place.items():
            seen[str(row[key])] = None
    lines = [
        f"- `{command}`: commit {', '.join(place['commit'])}; {', '.join(place['machine'])}; {', '.join(place['date'])}"
        for command, place in places.items()
    ]
    return "\n".join(lines)


def bounds(interval: Iterable[float | None], scale: float = 1, digits: int = 0) -> str:
    """Returns an interval as `[low, high]` with signs; a dot row where it is open."""
    return "[" + ", ".join("…" if end is None else f"{scale * end:+z.{digits}f}" for end in interval) + "]"


def points(difference: Row) -> str:
    """Returns by how many points of its games an arm won more than the single network, with the interval."""
    return f"{100 * difference['wins']:+z.1f} {bounds(difference['interval'], 100, 1)}"


def around(value: float, interval: Iterable[float | None]) -> str:
    """Returns a value with its interval."""
    return f"{value:+z.0f} {bounds(interval)}"


TOPICS = ("untried moves", "learned from", "rollouts of")
"""What names of matches against others say that have a place of their own."""


def field_matches(topic: str | None = None) -> list[Row]:
    """Returns the matches against others of a topic, or those of none."""
    rows = latest("field_matches").values()
    return [row for row in rows if (topic in row["name"] if topic else not any(one in row["name"] for one in TOPICS))]


def field_table(rows: list[Row]) -> str:
    """Returns how agents did against the same others, and the differences to the first."""
    cells = (
        [
            row["name"],
            "-".join(map(str, row["counts"])),
            f"{row['value']:.1f} [{row['interval'][0]:.1f}, {row['interval'][1]:.1f}]",
            "{:+z.1f} [{:+z.1f}, {:+z.1f}]".format(*row["difference"]) if "difference" in row else "–",
        ]
        for row in rows
    )
    return table("who | won-tied-lost | % won, 95 % | points more than the first, 95 %", cells)
