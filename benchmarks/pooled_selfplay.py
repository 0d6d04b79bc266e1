"""Joins the rows of `selfplay_schemes.py` that differ in their training seeds alone.

    python benchmarks/pooled_selfplay.py [--record]

These are recorded rows of the same arm and game with the same settings: simulations, generations, games per generation,
network and gate. The interval is Student's over the scores of all trainings with equal weights, and at least as wide as
the games imply.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence

from measuring.pooling import Part, pooled_scores
from measuring.record import Row, add_option, append, latest

from moemcts.arena.rating import EloRange
from moemcts.arena.verdict import format_count

TABLE = "selfplay_schemes"
ALIKE = ("unit", "simulations", "generations", "games per generation", "network", "gate", "settings", "against")
"""Columns in which the rows of a set agree, besides the game and the arm."""


def group_by_set(rows: Sequence[Row]) -> list[list[Row]]:
    """Returns the rows of every set that differ only in their seeds, sorted by first seed.

    Raises ValueError if rows share a seed.
    """
    sets: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["seed"]):
        if row["unit"] == "Elo" and "own variance" in row and "pooled" not in row:
            head, _, _ = row["name"].partition(" over ")
            sets.setdefault(repr([head, *map(row.get, ALIKE)]), []).append(row)
    groups = [group for group in sets.values() if len(group) > 1]
    for group in groups:
        seeds = [seed for row in group for seed in range(row["seed"], row["seed"] + row["seeds"])]
        if len(set(seeds)) < len(seeds):
            raise ValueError(f"expected every seed once, got {seeds} of {group[0]['name']!r}")
    return groups


def pooled(rows: Sequence[Row]) -> Row:
    """Returns the row of all trainings of a set."""
    parts = [
        Part(
            name=row["name"],
            elos=row["by seed"],
            counts=tuple(map(sum, zip(*row["counts"], strict=True))),
            scores=row["scores by training"],
            variance=row["own variance"],
        )
        for row in rows
    ]
    estimate = pooled_scores(parts)
    elo, own = (EloRange.of(estimate.mean, interval) for interval in (estimate.interval, estimate.own_interval))
    head, _, _ = rows[0]["name"].partition(" over ")
    weights = [row["seeds"] for row in rows]
    return {
        "name": f"{head} over single, {format_count(estimate.num_seeds, 'training')}, from random weights",
        "value": round(elo.difference, 1),
        "interval": [None if end is None else round(end, 1) for end in (elo.low, elo.high)],
        "own interval": [None if end is None else round(end, 1) for end in (own.low, own.high)],
        "by seed": [elo for row in rows for elo in row["by seed"]],
        "scores by training": list(estimate.seed_means),
        "own variance": estimate.own_variance,
        "counts": [counts for row in rows for counts in row["counts"]],
        "games": sum(row["games"] for row in rows),
        "samples": {
            arm: round(statistics.fmean([row["samples"][arm] for row in rows], weights=weights))
            for arm in rows[0]["samples"]
        },
        **{key: rows[0][key] for key in ALIKE if key in rows[0]},
        "seed": rows[0]["seed"],
        "seeds": sum(weights),
        "pooled": [row["name"] for row in rows],
    }


def main() -> None:
    """Prints a row for each set; appends it to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_option(parser)
    options = parser.parse_args()
    pooled_rows = [pooled(rows) for rows in group_by_set(list(latest(TABLE).values()))]
    for row in pooled_rows:
        print(f"{row['name']}: {row['value']:+z.1f} {row['interval']} of {row['games']} games")
    if options.record:
        append(TABLE, pooled_rows)


if __name__ == "__main__":
    main()
