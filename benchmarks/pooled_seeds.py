"""One row per arm of runs that differ in their training seeds alone.

    python benchmarks/pooled_seeds.py --run LABEL --run LABEL [--run LABEL ...] --label LABEL [--record]

The runs are those recorded by `benchmarks/strength.py` with these labels; only arms and pairs of arms that all of them
have are joined. Their commands may differ in seeds, in numbers of games and processes, in `training.compile`, which
changes only the last bits, in the size of the cache, which changes no move, and in further arms. The interval is
Student's over all training seeds with equal weights, and at least as wide as the games imply, as for one run of several
seeds; the p-value is that of a sign-flip test, which ignores the chance of games if seeds agree better than their games
allow.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
from collections.abc import Mapping, Sequence

from measuring.record import Row, add_option, append, latest
from strength import named

from moemcts.arena.intervals import pooled_interval, sign_flip_test, t_quantile, wilson_interval
from moemcts.runs.arms import SINGLE

ALIKE = ("game", "arm", "kind", "scheme", "network", "simulations", "rollout_plies", "samples")
"""Columns in which runs have to agree."""
COUNTS = ("games", "wins", "ties", "losses", "training_seeds")
MAY_DIFFER = ("seed", "num_seeds", "match.games", "match.raw_games", "workers", "training.compile", "search.cache_size")
"""Settings in which commands may differ."""

ROUNDING = 1e-6
"""Relative rounding error of intervals in rows."""

Key = tuple[str, str, str]
"""An arm, what it is compared with if not the single network, and the kind of its games."""


def pooled(runs: Sequence[Mapping[Key, Row]], label: str) -> list[Row]:
    """Returns a row for each arm, pair of arms and kind that all runs have.

    Raises ValueError for runs that differ in more than their seeds, share a seed, or lack a setting that has to agree.
    """
    pooled_rows: list[Row] = []
    for key in runs[0]:
        if not all(key in run for run in runs):
            continue
        rows = [run[key] for run in runs]
        _check_alike(rows)
        seeds = [seed for row in rows for seed in range(row["seed"], row["seed"] + row["training_seeds"])]
        if len(set(seeds)) < len(seeds):
            raise ValueError(f"expected different training seeds, got {seeds}")
        arm, over, kind = key
        pair = f"{arm} over {over}" if over else arm
        row = {"name": named(f"{rows[0]['game']}, {pair}, {kind}", label), "label": label}
        row |= {"over": over} if over else {}
        row |= {key: rows[0][key] for key in ALIKE} | {key: sum(other[key] for other in rows) for key in COUNTS}
        row |= {"value": round(row["wins"] / row["games"], 4), "unit": rows[0]["unit"]}
        against = [run.get((over or SINGLE, "", kind)) for run in runs]
        row |= {"interval": list(wilson_interval(row["wins"], row["games"])), "difference": _difference(rows, against)}
        row |= {"seed": seeds[0], "seeds": seeds, "pooled": [other["label"] for other in rows]}
        pooled_rows.append(row | {"run_command": "; ".join(other["run_command"] for other in rows)})
    return pooled_rows


def key_of(row: Row) -> Key:
    """Returns the key that corresponding rows of other runs share."""
    return row["arm"], row.get("over", ""), row["kind"]


def settings_of(command: str) -> dict[str, str]:
    """Returns the options and settings of a `moemcts run` command, except `MAY_DIFFER`.

    Arms are left out, except for what their names do not contain: the first network, and the gates if there are several
    schemes.
    """
    options: dict[str, list[str]] = {}
    option = ""
    for word in shlex.split(command):
        if word.startswith("--"):
            option = word.removeprefix("--")
        elif option == "set":
            path, _, value = word.partition("=")
            options[path] = [value]
        else:
            options.setdefault(option, []).append(word)
    if len(options.pop("scheme", [])) < 2:
        options.pop("gate", None)
    options.pop("single-network", None)
    options["first network"] = options.pop("network", [])[:1]
    return {option: " ".join(words) for option, words in options.items() if option not in MAY_DIFFER}


def _check_alike(rows: Sequence[Row]) -> None:
    for row in rows:
        if "pooled" in row:
            raise ValueError(f"expected runs, got {row['label']!r}, which is pooled of others already")
        if missing := [key for key in (*ALIKE, *COUNTS, "run_command") if key not in row]:
            raise ValueError(f"expected rows that say {', '.join(missing)}, got {row.get('name')!r} without")
    settings = [{key: row[key] for key in ALIKE} | settings_of(row["run_command"]) for row in rows]
    for key in dict.fromkeys(key for row_settings in settings for key in row_settings):
        values = [row_settings.get(key, "none") for row_settings in settings]
        if len(set(values)) > 1:
            raise ValueError(f"expected runs with one {key}, got {', '.join(map(str, values))}")


def _difference(rows: Sequence[Row], against: Sequence[Row | None]) -> dict[str, object] | None:
    """Returns the difference over all seeds of some rows, each relative to the row of the same run in `against`."""
    if any(row["difference"] is None for row in rows):
        return None
    means = [mean for row in rows for mean in row["difference"]["seed_means"]]
    variances = [
        variance
        for row, other in zip(rows, against, strict=True)
        for variance in [_of_games(row, other)] * len(row["difference"]["seed_means"])
    ]
    pairs = sum(row["difference"]["num_pairs"] for row in rows)
    estimate = pooled_interval(means, variances, num_observations=pairs, num_clusters=pairs)
    values = {"wins": estimate.mean, "interval": list(estimate.interval), "own_variance": estimate.own_variance}
    return values | {"num_pairs": pairs, "seed_means": means, "p_value": sign_flip_test(means)}


def _of_games(row: Row, other: Row | None) -> float:
    """Returns the variance of a seed's difference due to games, averaged over the seeds of a row.

    Earlier rows do not have it. For these it is derived from their interval if that is wider than the differences
    between seeds imply; otherwise that is an upper bound, and so is the variance with unpaired games.
    """
    difference, num_seeds = row["difference"], len(row["difference"]["seed_means"])
    if "own_variance" in difference:
        return float(difference["own_variance"]) * num_seeds
    margin = max(difference["interval"][1] - difference["wins"], difference["wins"] - difference["interval"][0])
    if num_seeds == 1:
        # There are fewer boards than pairs of games, so the quantile used is smaller and the variance larger.
        return float((margin / t_quantile(0.975, difference["num_pairs"])) ** 2)
    variance = (margin / t_quantile(0.975, num_seeds - 1)) ** 2 * num_seeds
    between = statistics.variance(difference["seed_means"])
    if other is None or variance > between * (1 + ROUNDING):
        return float(variance)
    shares = [one["wins"] / one["games"] for one in (row, other)]
    return float(min(variance, sum(share * (1 - share) for share in shares) * num_seeds / row["games"]))


def main() -> None:
    """Prints the rows; appends them to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="append", required=True, dest="runs", help="label of a recorded run")
    parser.add_argument("--label", required=True, help="of the rows")
    add_option(parser)
    options = parser.parse_args()
    recorded = latest("strength").values()
    # Rows without training seeds belong to no network.
    trained = [row for row in recorded if "training_seeds" in row]
    runs = [{key_of(row): row for row in trained if row.get("label") == one} for one in options.runs]
    for label, run in zip(options.runs, runs, strict=True):
        if not run:
            raise SystemExit(f"no rows with the label {label!r}")
    try:
        pooled_rows = pooled(runs, options.label)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    for row in pooled_rows:
        print(row["name"], row["value"], row["interval"], row["games"], row["difference"])
    if options.record:
        append("strength", pooled_rows)


if __name__ == "__main__":
    main()
