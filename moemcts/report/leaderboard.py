"""The report of a suite of experiments: in which games experts help, with which gates, and at what cost."""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from moemcts.arena.intervals import MIN_DEGREES, Interval, pooled_interval, t_quantile
from moemcts.errors import DamagedFile, UsageError
from moemcts.experts import EACH
from moemcts.report.page import Report, Section
from moemcts.report.tables import Cell, Table, format_fixed
from moemcts.store import parse_json

KEYS = ("suite", "game", "gate", "scheme", "simulations", "routing")
"""The keys shared by the rows of one line of the leaderboard; its rows differ in their seeds."""
WORDS = ("suite", "game", "gate", "scheme", "routing")
NUMBERS = ("simulations", "seed", "games", "points", "low", "high", "hours")
MOST = "most"
"""The points for winning every game; absent in rows of older suites."""
VARIANCE = "variance"
"""The variance of one seed's points due to its games; absent in rows of older suites."""
LOSSES = ("loss_single", "loss_mixture")
ORIGIN = ("command", "commit", "machine", "date")
OWN = EACH.name
"""The routing of the experiments themselves, the reference for all others."""
SPEED = "positions_per_second"
MEASURES = ("agreement", "purity", "kl", SPEED)
"""The measurements of each routing."""
Row = Mapping[str, Any]
_RUN = ("suite", "game", "seed", "hours")
"""The keys shared by all rows of a run."""
_LARGEST = 1e15
"""Largest absolute value of a number, so that sums of squares stay finite."""
_HINT = "remove the file, and the command that made the suite writes it again"


def read_rows(path: Path) -> list[Row]:
    """Returns the rows of a suite's file; raises DamagedFile naming the invalid line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise DamagedFile(f"{path} is not UTF-8 text: {error.reason}; {_HINT}") from None
    return [_parse_row(line, f"{path}, line {number}") for number, line in enumerate(lines, 1)]


def _parse_row(line: str, place: str) -> Row:
    try:
        row = parse_json(line)
    except ValueError:
        raise DamagedFile(f"{place}: expected a row of a suite as JSON, got {line[:40]!r}; {_HINT}") from None
    return check_row(row, place)


def check_row(row: object, place: str) -> dict[str, Any]:
    """Returns a value that was read as a row of a suite; raises DamagedFile naming `place` if it is invalid."""
    if not isinstance(row, dict):
        raise DamagedFile(f"{place}: expected a row of a suite, got {json.dumps(row)[:40]!r}; {_HINT}")
    if missing := [key for key in (*KEYS, *NUMBERS, *LOSSES, *ORIGIN) if key not in row]:
        raise DamagedFile(f"{place}: expected a row of a suite, but it has no {missing[0]!r}; {_HINT}")
    for key in (*WORDS, *ORIGIN):
        if not isinstance(row[key], str):
            raise DamagedFile(f"{place}: expected text as {key!r}, got {row[key]!r:.40}; {_HINT}")
    optional = (key for key in (*LOSSES, "cost") if row.get(key) is not None)
    for key in (*NUMBERS, *optional, *({MOST, VARIANCE} & row.keys())):
        if not _is_number(row[key]):
            raise DamagedFile(f"{place}: expected a number as {key!r}, got {row[key]!r:.40}; {_HINT}")
    for key, least in {"games": 1, MOST: 0}.items():
        if row.get(key, least) < least:
            raise DamagedFile(f"{place}: expected {key!r} of at least {least}, got {row[key]}; {_HINT}")
    if not _are_valid_routings(row.get("routings", {})):
        raise DamagedFile(
            f"{place}: expected {', '.join(MEASURES)} of each routing and of {OWN!r}, got {row['routings']!r:.40}; "
            f"{_HINT}"
        )
    return row


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST


def _are_valid_routings(routings: object) -> bool:
    """Returns whether each routing has all `MEASURES` as numbers, and `each` a positive speed to compare with."""
    if not isinstance(routings, dict):
        return False
    for measurements in routings.values():
        if not isinstance(measurements, dict) or not {*MEASURES} <= measurements.keys():
            return False
        if not all(map(_is_number, measurements.values())):
            return False
    return not routings or routings.get(OWN, {SPEED: 0})[SPEED] > 0


def leaderboard(rows: Sequence[Row], title: str) -> Report:
    """Returns the report of suites' rows, with lines grouped by game, the best first.

    Raises UsageError if a line has two rows with the same training seed, which would count as two seeds.
    """
    lines = [_line(list(same)) for _, same in groupby(sorted(rows, key=_line_key), key=_line_key)]
    order = list(dict.fromkeys(row["game"] for row in rows))
    lines.sort(key=lambda line: (order.index(line["game"]), -line["points"]))
    better = [line for line in lines if line["low"] > 0]
    worse = [line for line in lines if line["high"] < 0]
    of_one_seed = [line for line in lines if line["seeds"] == 1]
    scope = f", {len(of_one_seed)} of them for the networks of one training seed alone" if of_one_seed else ""
    return Report(
        title=title,
        summary=f"Experts against the single network in {len(order)} games: of {len(lines)} lines {len(better)} are "
        f"better and {len(worse)} worse, with 95 % intervals that are not corrected for their number{scope}; "
        f"{_total_hours(rows):.2f} hours of work.",
        sections=[
            Section("Leaderboard", tables=[_table(lines)]),
            *_gates(lines),
            *_routings(lines),
            *_costs(lines),
            *_by_variable(lines),
            Section("How it was made", _provenance(rows)),
        ],
        numbers={"lines": lines, "rows": [dict(row) for row in rows]},
    )


def _line_key(row: Row) -> tuple[Any, ...]:
    return tuple(row[key] for key in KEYS)


def _line(rows: Sequence[Row]) -> dict[str, Any]:
    seed, count = Counter(row["seed"] for row in rows).most_common(1)[0]
    if count > 1:
        line = ", ".join(f"{key} {rows[0][key]}" for key in KEYS)
        raise UsageError(
            f"expected a row per training seed, got {count} of seed {seed}: {line}; "
            "join suites of different seeds or of different names"
        )
    low, high = _interval_over_seeds(rows) if len(rows) > 1 else (rows[0]["low"], rows[0]["high"])
    return {
        **{key: rows[0][key] for key in KEYS},
        "seeds": len(rows),
        "games": sum(row["games"] for row in rows),
        "points": statistics.fmean(row["points"] for row in rows),
        "low": low,
        "high": high,
        "loss_single": _mean(row["loss_single"] for row in rows),
        "loss_mixture": _mean(row["loss_mixture"] for row in rows),
        "cost": rows[0].get("cost"),
        "routings": _mean_routings([row.get("routings", {}) for row in rows]),
    }


def _interval_over_seeds(rows: Sequence[Row]) -> Interval:
    """Returns the interval of the points over several training seeds."""
    most = min(row.get(MOST, 100.0) for row in rows)
    games = sum(row["games"] for row in rows)
    return pooled_interval(
        [row["points"] for row in rows],
        # A zero variance, from an interval of zero width, is refused by `pooled_interval`.
        [max(_variance(row), sys.float_info.min) for row in rows],
        num_observations=games,
        num_clusters=games,
        bounds=(-most, most),
    ).interval


def _variance(row: Row) -> float:
    """Returns the variance of a row's points.

    If the row has none, it is derived from its interval: from the end farther from the mean, since the other may be
    clipped, and as if each game had an opening of its own, which overestimates the variance.
    """
    if VARIANCE in row:
        return float(row[VARIANCE])
    half = max(row["high"] - row["points"], row["points"] - row["low"])
    return float((half / t_quantile(0.975, max(row["games"] - 1, MIN_DEGREES))) ** 2)


def _mean_routings(routings_by_row: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """Returns the mean measurements of each routing; `speed` is relative to that of `each`."""
    means: dict[str, dict[str, float]] = {}
    for routing in dict.fromkeys(name for routings in routings_by_row for name in routings):
        measured = [routings for routings in routings_by_row if routing in routings]
        keys = [key for key in measured[0][routing] if all(key in routings[routing] for routings in measured)]
        means[routing] = {key: statistics.fmean(routings[routing][key] for routings in measured) for key in keys}
        means[routing]["speed"] = statistics.fmean(
            routings[routing][SPEED] / routings[OWN][SPEED] for routings in measured
        )
    return means


def _table(lines: Sequence[Row]) -> Table:
    suites = ["suite"] if len({line["suite"] for line in lines}) > 1 else []
    cells: list[list[Cell]] = [
        [
            *(line[key] for key in suites),
            line["game"],
            line["gate"],
            line["scheme"],
            line["simulations"],
            line["routing"],
            line["games"],
            f"{line['points']:+z.1f} [{line['low']:+z.1f}, {line['high']:+z.1f}]",
            format_fixed(line["loss_single"]),
            format_fixed(line["loss_mixture"]),
        ]
        for line in lines
    ]
    columns = ["in", "gate", "scheme", "simulations", "routing", "games", "points over the single network, 95 %"]
    return Table(
        [*suites, *columns, "loss, single", "loss, experts"],
        cells,
        "Points: 100 times the mean score over one half where experts play the single network itself, the difference "
        "of win rates in percent where both play others. The interval is over openings with one seed, over seeds with "
        "several, at no less than their games allow.",
    )


def _gates(lines: Sequence[Row]) -> list[Section]:
    """Returns a comparison of gates, best first, for every game with several of them."""
    cells: list[list[Cell]] = []
    for game in dict.fromkeys(line["game"] for line in lines):
        game_lines = [line for line in lines if line["game"] == game and line["routing"] == OWN]
        gates = list(dict.fromkeys(line["gate"] for line in game_lines))
        if len(gates) < 2:
            continue
        means = []
        for gate in gates:
            gate_lines = [line for line in game_lines if line["gate"] == gate]
            mean_reduction = _mean(_loss_reduction(line) for line in gate_lines)
            means.append(
                (statistics.fmean(line["points"] for line in gate_lines), gate, len(gate_lines), mean_reduction)
            )
        for points, gate, num_lines, mean_reduction in sorted(means, reverse=True):
            cells.append([game, gate, num_lines, f"{points:+z.1f}", format_fixed(mean_reduction)])
    if not cells:
        return []
    table = Table(
        ["in", "gate", "lines", "mean points", "loss below the single network's"],
        cells,
        "Means over schemes and budgets; intervals of each line are in the leaderboard.",
    )
    return [Section("Which gate", tables=[table])]


def _routings(lines: Sequence[Row]) -> list[Section]:
    """Returns the effects and costs of each routing, over all sets of experts."""
    team_lines = [line for line in lines if line["routing"] == OWN and line["routings"]]
    cells: list[list[Cell]] = []
    for routing in dict.fromkeys(name for line in team_lines for name in line["routings"]):
        measured = [line["routings"][routing] for line in team_lines if routing in line["routings"]]
        points_played = [line["points"] for line in lines if line["routing"] == routing]
        cells.append(
            [
                routing,
                len(measured),
                *(
                    f"{100 * statistics.fmean(measurements[key] for measurements in measured):.1f}"
                    for key in ("agreement", "purity")
                ),
                f"{statistics.fmean(measurements['kl'] for measurements in measured):.4f}",
                f"{statistics.fmean(measurements['speed'] for measurements in measured):.2f}",
                f"{statistics.fmean(points_played):+z.1f} ({len(points_played)})" if points_played else None,
            ]
        )
    if not cells:
        return []
    table = Table(
        ["routing", "sets of experts", "agreement %", "purity %", "KL", "speed", "mean points (lines)"],
        cells,
        "On batches of 64 held-out positions drawn at random, which are less pure than those of a search. Agreement: "
        "the best legal move is that of the phase's own expert; purity: answers of that expert; KL in nats from its "
        "policy; speed: positions per second of processor time, `each` 1. Points as in the leaderboard, where games "
        "were played with the routing.",
    )
    return [Section("Which routing", tables=[table])]


def _costs(lines: Sequence[Row]) -> list[Section]:
    """Returns the training costs of sets of experts, by scheme and cost."""
    with_cost = [line for line in lines if line["routing"] == OWN and line["cost"] is not None]
    cells: list[list[Cell]] = []
    for scheme, cost in dict.fromkeys((line["scheme"], line["cost"]) for line in with_cost):
        same_cost = [line for line in with_cost if (line["scheme"], line["cost"]) == (scheme, cost)]
        mean = statistics.fmean(line["points"] for line in same_cost)
        mean_reduction = _mean(_loss_reduction(line) for line in same_cost)
        cells.append([scheme, f"{cost:g}", len(same_cost), f"{mean:+z.1f}", format_fixed(mean_reduction)])
    if not cells:
        return []
    columns = ["scheme", "passes over the data", "lines", "mean points", "loss below the single network's"]
    table = Table(columns, cells, "Passes of all experts together; the single network's training is 1.")
    return [Section("At which cost", tables=[table])]


def _loss_reduction(line: Row) -> float | None:
    single, mixture = line["loss_single"], line["loss_mixture"]
    return None if single is None or mixture is None else single - mixture


def _by_variable(lines: Sequence[Row]) -> list[Section]:
    """Returns means over games for each value of whatever a suite varies."""
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
                [str(value), len({line["game"] for line in chosen}), len(chosen), f"{statistics.fmean(points):+z.1f}"]
            )
        tables.append(Table([key, "in so many games", "lines", "mean points"], rows))
    if not tables:
        return []
    text = "Means over lines: games weigh by how many lines they have, and gates are not of the same games."
    return [Section("By gate, scheme, budget and routing", text, tables=tables)]


def _provenance(rows: Sequence[Row]) -> str:
    provenances = {(row["command"], row["commit"], row["machine"], row["date"]) for row in rows}
    return "\n".join(
        f"- `{command}` at {commit} on {machine}, {date}" for command, commit, machine, date in sorted(provenances)
    )


def _total_hours(rows: Sequence[Row]) -> float:
    """Returns the total hours of all runs; rows of the same run share them."""
    return math.fsum(hours for *_, hours in {tuple(row[key] for key in _RUN) for row in rows})


def _mean(values: Iterable[float | None]) -> float | None:
    given = [value for value in values if value is not None]
    return statistics.fmean(given) if given else None
