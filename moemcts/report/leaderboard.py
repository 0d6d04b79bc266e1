"""What a suite of experiments found: in which games experts help, by which gate, and what they cost."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from moemcts.arena.intervals import t_quantile
from moemcts.report.page import Report, Section
from moemcts.report.tables import Cell, Table

KEYS = ("game", "gate", "scheme", "simulations", "routing")
"""What rows of one line of the leaderboard share; they differ in their seeds."""
Row = Mapping[str, Any]


def leaderboard(rows: Sequence[Row], title: str) -> Report:
    """Returns the report of a suite's rows, lines in the order of games, the best of each first."""
    lines = [_line(list(same)) for _, same in groupby(sorted(rows, key=_key), key=_key)]
    order = list(dict.fromkeys(row["game"] for row in rows))
    lines.sort(key=lambda line: (order.index(line["game"]), -line["points"]))
    better = [line for line in lines if line["low"] > 0]
    worse = [line for line in lines if line["high"] < 0]
    return Report(
        title=title,
        summary=f"Experts against the single network in {len(order)} games: of {len(lines)} lines {len(better)} are "
        f"better and {len(worse)} worse, with 95 % intervals that are not corrected for their number; "
        f"{_total(rows):.2f} hours of work.",
        sections=[
            Section("Leaderboard", tables=[_table(lines)]),
            *_answers(lines),
            Section("How it was made", _making(rows)),
        ],
        numbers={"lines": lines, "rows": [dict(row) for row in rows]},
    )


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[key] for key in KEYS)


def _line(rows: Sequence[Row]) -> dict[str, Any]:
    means = [row["points"] for row in rows]
    mean = statistics.fmean(means)
    low, high = rows[0]["low"], rows[0]["high"]
    if len(rows) > 1:
        # What seeds differ by holds the noise of their games too.
        half = t_quantile(0.975, len(rows) - 1) * statistics.stdev(means) / math.sqrt(len(rows))
        low, high = mean - half, mean + half
    return {
        **{key: rows[0][key] for key in KEYS},
        "seeds": len(rows),
        "games": sum(row["games"] for row in rows),
        "points": mean,
        "low": low,
        "high": high,
        "loss_single": _mean(row["loss_single"] for row in rows),
        "loss_mixture": _mean(row["loss_mixture"] for row in rows),
    }


def _table(lines: Sequence[Row]) -> Table:
    cells: list[list[Cell]] = [
        [
            line["game"],
            line["gate"],
            line["scheme"],
            line["simulations"],
            line["routing"],
            line["games"],
            f"{line['points']:+.1f} [{line['low']:+.1f}, {line['high']:+.1f}]",
            _fixed(line["loss_single"]),
            _fixed(line["loss_mixture"]),
        ]
        for line in lines
    ]
    columns = ["in", "gate", "scheme", "simulations", "routing", "games", "points over the single network, 95 %"]
    return Table(
        [*columns, "loss, single", "loss, experts"],
        cells,
        "Points: 100 times the mean score over one half where experts play the single network itself, the difference "
        "of win rates in percent where both play others. The interval is over openings with one seed, over seeds with "
        "several.",
    )


def _answers(lines: Sequence[Row]) -> list[Section]:
    """Returns means over games by each thing that a suite varies."""
    tables = []
    for key in ("gate", "scheme", "simulations", "routing"):
        values = list(dict.fromkeys(line[key] for line in lines))
        if len(values) < 2:
            continue
        rows: list[list[Cell]] = []
        for value in values:
            chosen = [line for line in lines if line[key] == value]
            points = [line["points"] for line in chosen]
            rows.append(
                [str(value), len({line["game"] for line in chosen}), len(chosen), f"{statistics.fmean(points):+.1f}"]
            )
        tables.append(Table([key, "in so many games", "lines", "mean points"], rows))
    if not tables:
        return []
    text = "Means over lines: games weigh by how many lines they have, and gates are not of the same games."
    return [Section("By gate, scheme, budget and routing", text, tables=tables)]


def _making(rows: Sequence[Row]) -> str:
    found = {(row["command"], row["commit"], row["machine"], row["date"]) for row in rows}
    return "\n".join(
        f"- `{command}` at {commit} on {machine}, {date}" for command, commit, machine, date in sorted(found)
    )


def _total(rows: Sequence[Row]) -> float:
    """Returns the hours of all runs; rows of one run share them."""
    return math.fsum({(row["game"], row["seed"]): row["hours"] for row in rows}.values())


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _fixed(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"
