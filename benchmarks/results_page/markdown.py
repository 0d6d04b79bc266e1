"""Formatting of results: tables, origins of rows, intervals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from measuring.record import Row


def table(heads: str, rows: Iterable[Iterable[Any]]) -> str:
    """Returns a table; `heads` are separated by bars, and all columns except the first are right-aligned."""
    columns = heads.split(" | ")
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def origin(rows: Iterable[Row]) -> str:
    """Returns the origin of rows, one line per command: commits, machines and dates."""
    places: dict[str, dict[str, dict[str, None]]] = {}
    for row in rows:
        place = places.setdefault(row["command"], {"commit": {}, "machine": {}, "date": {}})
        for key, values in place.items():
            values[str(row[key])] = None
    lines = [
        f"- `{command}`: commit {', '.join(place['commit'])}; {', '.join(place['machine'])}; {', '.join(place['date'])}"
        for command, place in places.items()
    ]
    return "\n".join(lines)


def bounds(interval: Iterable[float | None], scale: float = 1, digits: int = 0) -> str:
    """Returns an interval as `[low, high]` with signs, and an ellipsis for an open end."""
    return "[" + ", ".join("…" if end is None else f"{scale * end:+z.{digits}f}" for end in interval) + "]"


def points(difference: Row) -> str:
    """Returns the difference of an arm's win rate to the single network's in points, with the interval."""
    return f"{100 * difference['wins']:+z.1f} {bounds(difference['interval'], 100, 1)}"


def around(value: float, interval: Iterable[float | None]) -> str:
    """Returns a value with its interval."""
    return f"{value:+z.0f} {bounds(interval)}"


def arm_name(arm: str, experts: str = "experts,") -> str:
    """Returns the name of an arm in a table; other networks are identified by their first option."""
    scheme, _, network = arm.partition(" ")
    short = f"{scheme} {network.partition('&')[0]}".strip()
    return f"`{short}`" if arm.startswith("single") else f"{experts} `{short}`"
