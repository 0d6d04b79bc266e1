"""Joins comparisons in chess that differ in their training seeds alone.

    python benchmarks/pooled_comparisons.py [--record]

These are recorded comparisons of `benchmarks/chess_comparison.py` whose commands differ only in `--seeds` and `--seed`,
with consecutive seeds. Losses are means over all training seeds; the interval of a match is Student's over the scores
of all training seeds with equal weights, and at least as wide as the games imply, as for one run of several seeds. The
interval for these networks only is over games.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Sequence

from measuring.pooling import Part, pooled_scores
from measuring.record import Row, add_option, append, latest

from moemcts.arena.rating import EloRange

MEANS = ("value", "policy", "value_loss", "accuracy")
"""Columns of losses whose pooled value is the mean over seeds."""
COUNTS = ("games", "wins", "draws", "losses")
OWN = ("command", "commit", "machine", "date", "error")
"""Columns that belong only to the individual rows."""
_SEEDS = re.compile(r", seeds? \d+( to \d+)?$")


def group_by_set(rows: Sequence[Row]) -> list[list[Row]]:
    """Returns the rows of every set of comparisons that differ only in their seeds, sorted by first seed.

    Raises ValueError if seeds overlap or are missing.
    """
    sets: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["seed"]):
        if "pooled" not in row:
            sets.setdefault(re.sub(r" --seeds? \d+", "", row["command"]), []).append(row)
    groups = [group for group in sets.values() if len({row["command"] for row in group}) > 1]
    for group in groups:
        ranges = sorted({(row["seed"], row["seed"] + row["seeds"]) for row in group})
        for (_, end), (start, _) in itertools.pairwise(ranges):
            if end != start:
                raise ValueError(f"expected seeds that follow on one another, got {start} after {end - 1}")
    return groups


def pooled(rows: Sequence[Row]) -> list[Row]:
    """Returns a row for each network, phase and match that all comparisons of a set have."""
    commands = list(dict.fromkeys(row["command"] for row in rows))
    same: dict[str, list[Row]] = {}
    for row in rows:
        same.setdefault(_SEEDS.sub("", row["name"]), []).append(row)
    pooled_rows = []
    for name, parts in same.items():
        if len(parts) != len(commands):
            continue
        first, num_seeds = parts[0]["seed"], sum(part["seeds"] for part in parts)
        joined = _loss(parts) if parts[0]["kind"] == "loss" else _match(parts)
        seeds = {"name": f"{name}, seeds {first} to {first + num_seeds - 1}", "seed": first, "seeds": num_seeds}
        shared = {key: value for key, value in parts[0].items() if key not in OWN}
        pooled_rows.append({**shared, **joined, **seeds, "pooled": commands})
    return pooled_rows


def _loss(parts: Sequence[Row]) -> dict[str, object]:
    num_seeds = sum(part["seeds"] for part in parts)
    return {key: round(sum(part[key] * part["seeds"] for part in parts) / num_seeds, 4) for key in MEANS}


def _match(parts: Sequence[Row]) -> dict[str, object]:
    counts = {key: sum(part[key] for part in parts) for key in COUNTS}
    estimate = pooled_scores(
        [
            Part(
                name=part["name"],
                elos=part["elo_by_seed"],
                counts=(part["wins"], part["draws"], part["losses"]),
                scores=part.get("scores_by_seed"),
                variance=part.get("own_score_variance"),
            )
            for part in parts
        ]
    )
    return {
        "value": round(EloRange.of(estimate.mean, estimate.interval).difference, 1),
        "score": estimate.mean,
        "score_interval": list(estimate.interval),
        "own_score_interval": list(estimate.own_interval),
        "own_score_variance": estimate.own_variance,
        "elo_by_seed": [elo for part in parts for elo in part["elo_by_seed"]],
        "scores_by_seed": list(estimate.seed_means),
        **counts,
    }


def main() -> None:
    """Prints the rows; appends them to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_option(parser)
    options = parser.parse_args()
    try:
        pooled_rows = [row for rows in group_by_set(list(latest("chess").values())) for row in pooled(rows)]
    except ValueError as error:
        raise SystemExit(str(error)) from None
    for row in pooled_rows:
        print(row["name"], row["value"], row.get("score_interval", ""))
    if options.record:
        append("chess", pooled_rows)


if __name__ == "__main__":
    main()
