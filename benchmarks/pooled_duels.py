"""Joins duels of experts that differ in their trainings alone.

    python benchmarks/pooled_duels.py [--record]

These are recorded duels of `benchmarks/expert_duels.py` whose names differ only in the suffix `, seed NUMBER`, played
with the same settings from consecutive openings. The interval is Student's over the scores of all trainings with equal
weights, and at least as wide as the games imply. Sets with different lengths of training are also joined under a name
of their own, `OF_ANY_LENGTH`.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Sequence

from measuring.pooling import Part, pooled_scores
from measuring.record import Row, add_option, append, latest

from moemcts.arena.rating import EloRange
from moemcts.arena.verdict import format_count

MAY_DIFFER = ("experts", "others", "values", "seed", "games", "workers", "than", "out", "record")
"""Options in which the commands of a set may differ."""
OF_ANY_LENGTH = {
    "chess, 400 simulations: experts that start from one network against that network, which goes on, a quarter or a "
    "half of a pass after 21,815,080": (
        "chess, 400 simulations: experts that start from one network against that network, which goes on, 10,907,540 "
        "positions after 21,815,080",
        "chess, 400 simulations: experts that start from one network against that network, which goes on, 5,453,770 "
        "positions after 21,815,080",
    ),
}
"""The names of joined sets, and of the duels that they consist of, without seeds."""
_SEED = re.compile(r", seed \d+$")
_OPTION = re.compile(r" --([\w-]+)(?: (?!--)(\S+))?")


def group_by_set(rows: Sequence[Row]) -> list[list[Row]]:
    """Returns the rows of every set of duels that differ only in their trainings, in the order of their openings.

    Raises ValueError if settings differ, or if openings overlap or are missing.
    """
    sets: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["seed"]):
        if "by training" in row and "pooled" not in row:
            sets.setdefault(_set_of(row), []).append(row)
    groups = {name: group for name, group in sets.items() if len(group) > 1}
    for group in groups.values():
        _check_alike(group)
        for row, following in itertools.pairwise(group):
            if (end := row["seed"] + len(row["by training"])) != following["seed"]:
                raise ValueError(f"expected openings from {end} on, got {following['seed']} in {following['name']!r}")
    return list(groups.values())


def of_any_length(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Returns the rows of every set of duels that also differ in the length of trainings, by the name of the joined
    set.

    Raises ValueError if settings differ.
    """
    groups: dict[str, list[Row]] = {}
    for name, of in OF_ANY_LENGTH.items():
        parts = [row for row in rows if "pooled" not in row and _set_of(row) in of]
        if len({_set_of(row) for row in parts}) == len(of):
            _check_alike(parts)
            groups[name] = sorted(parts, key=lambda row: row["seed"])
    return groups


def pooled(rows: Sequence[Row], name: str = "") -> Row:
    """Returns the row of all trainings of a set, by default under their common name."""
    estimate = pooled_scores([Part.of_duels(row) for row in rows])
    elo, own = (EloRange.of(estimate.mean, interval) for interval in (estimate.interval, estimate.own_interval))
    return {
        "name": f"{name or _set_of(rows[0])}, {format_count(estimate.num_seeds, 'training')}",
        "value": round(elo.difference, 1),
        "unit": rows[0]["unit"],
        "interval": [None if end is None else round(end, 1) for end in (elo.low, elo.high)],
        "own interval": [None if end is None else round(end, 1) for end in (own.low, own.high)],
        "counts": [sum(counts) for counts in zip(*(row["counts"] for row in rows), strict=True)],
        "games": sum(row["games"] for row in rows),
        "by training": [elo for row in rows for elo in row["by training"]],
        "scores by training": list(estimate.seed_means),
        "own variance": estimate.own_variance,
        "duplicates": sum(row["duplicates"] for row in rows),
        "simulations": rows[0]["simulations"],
        "seed": rows[0]["seed"],
        "pooled": [row["name"] for row in rows],
    }


def _set_of(row: Row) -> str:
    """Returns the name of a duel without its seed."""
    return _SEED.sub("", row["name"])


def _check_alike(rows: Sequence[Row]) -> None:
    if len({_settings(row) for row in rows}) > 1:
        raise ValueError(f"expected duels that were played alike, got others of {_set_of(rows[0])!r}")


def _settings(row: Row) -> tuple[object, ...]:
    """Returns the settings of a duel by its command; the words before its first option are its name."""
    options = {option: value for option, value in _OPTION.findall(row["command"]) if option not in MAY_DIFFER}
    return row["simulations"], *sorted(options.items())


def main() -> None:
    """Prints the rows; appends them to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_option(parser)
    options = parser.parse_args()
    try:
        duels = list(latest("duels").values())
        pooled_rows = [pooled(rows) for rows in group_by_set(duels)]
        pooled_rows += [pooled(rows, name) for name, rows in of_any_length(duels).items()]
    except ValueError as error:
        raise SystemExit(str(error)) from None
    for row in pooled_rows:
        print(row["name"], row["value"], row["interval"], row["games"], row["by training"])
    if options.record:
        append("duels", pooled_rows)


if __name__ == "__main__":
    main()
