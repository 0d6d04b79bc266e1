"""A match of several agents against the same others on the same boards, as rows of results.

    python benchmarks/field_match.py NAME --label LABEL [--label LABEL ...] [--record] -- OPTIONS OF moemcts match

The options after the two dashes are passed to `moemcts match`, with `--against` and `--out`: the same command resumes
there, and only reads the result of a finished match. One row per agent, named by its label: its win rate, and the
difference to the first agent's, paired by board and seat. With `--together`, one more row for all games, of agents that
differ only in their training seed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

from measuring.record import add_option, append

from moemcts.arena.intervals import wilson_interval


def main() -> None:
    """Plays and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of the match, the beginning of the rows' names")
    parser.add_argument("--label", action="append", default=[], dest="labels", help="what an agent is, in their order")
    parser.add_argument("--together", action="store_true", help="one more row, of the games of all agents")
    add_option(parser)
    options, rest = parser.parse_known_args()
    if len(options.labels) != (agents := rest.count("--agent")):
        raise SystemExit(f"expected a --label for each of {agents} agents, got {len(options.labels)}")
    rows = read(options.name, options.labels, played(rest))
    if options.together:
        rows.append(together(options.name, rows))
    for row in rows:
        print(*row.values())
    if options.record:
        append("field_matches", rows)


def played(words: list[str]) -> dict[str, Any]:
    """Plays a match with the options of `moemcts match`; returns its output, or exits with its status."""
    command = [sys.executable, "-m", "moemcts", "match", "--json", *(word for word in words if word != "--")]
    process = subprocess.run(command, check=False, stdout=subprocess.PIPE)
    if process.returncode:
        raise SystemExit(process.returncode)
    result: dict[str, Any] = json.loads(process.stdout)
    return result


def read(name: str, labels: list[str], played: dict[str, Any]) -> list[dict[str, object]]:
    """Returns the rows for the output of `moemcts match --json`."""
    differences = {difference["arm"]: difference for difference in played["differences"]}
    rows: list[dict[str, object]] = []
    for label, arm in zip(labels, played["arms"], strict=True):
        row: dict[str, object] = {
            "name": f"{name}: {label}",
            "value": round(100 * arm["win_rate"], 1),
            "unit": "% of games won",
            "seed": played["seed"],
            "interval": [round(100 * bound, 1) for bound in arm["win_interval"]],
            "counts": [arm[key] for key in ("wins", "ties", "losses")],
            "games": arm["num_games"],
        }
        if (difference_of_arm := differences.get(arm["name"])) is not None:
            row["difference"] = [round(100 * difference_of_arm["wins"][key], 1) for key in ("mean", "low", "high")]
        rows.append(row)
    return rows


def together(name: str, rows: list[dict[str, Any]]) -> dict[str, object]:
    """Returns the row of all games; its Wilson interval is over games, `by agent` shows how much agents differ."""
    counts = [sum(column) for column in zip(*(row["counts"] for row in rows), strict=True)]
    games = sum(counts)
    return {
        "name": f"{name}: all {len(rows)} together",
        "value": round(100 * counts[0] / games, 1),
        "unit": "% of games won",
        "seed": rows[0]["seed"],
        "interval": [round(100 * bound, 1) for bound in wilson_interval(counts[0], games)],
        "counts": counts,
        "games": games,
        "by agent": [row["value"] for row in rows],
    }


if __name__ == "__main__":
    main()
