"""A match of several agents against the same others on the same boards, as rows of results.

    python benchmarks/field_match.py NAME --label LABEL [--label LABEL ...] [--record] -- OPTIONS OF moemcts match

What follows the two dashes is handed to `moemcts match`, with `--against` and `--out`: the same command goes on where
it stopped, and only reads where the match is over. A row per agent, called by its label: its share of games won, and
the difference to the first agent's, paired by board and seat.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

from record import add_option, append


def main() -> None:
    """Plays and prints; appends to the results where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of the match, the beginning of the rows' names")
    parser.add_argument("--label", action="append", default=[], dest="labels", help="what an agent is, in their order")
    add_option(parser)
    options, rest = parser.parse_known_args()
    command = [sys.executable, "-m", "moemcts", "match", "--json", *(word for word in rest if word != "--")]
    played = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    rows = read(options.name, options.labels, played)
    for row in rows:
        print(*row.values())
    if options.record:
        append("field_matches", rows)


def read(name: str, labels: list[str], played: dict[str, Any]) -> list[dict[str, object]]:
    """Returns the rows of what `moemcts match --json` says."""
    arms = played["arms"]
    if len(labels) != len(arms):
        raise SystemExit(f"expected a --label for each of {len(arms)} agents, got {len(labels)}")
    differences = {one["arm"]: one for one in played["differences"]}
    rows: list[dict[str, object]] = []
    for label, arm in zip(labels, arms, strict=True):
        row: dict[str, object] = {
            "name": f"{name}: {label}",
            "value": round(100 * arm["win_rate"], 1),
            "unit": "% of games won",
            "seed": played["seed"],
            "interval": [round(100 * one, 1) for one in arm["win_interval"]],
            "counts": [arm[key] for key in ("wins", "ties", "losses")],
            "games": arm["num_games"],
        }
        if (found := differences.get(arm["name"])) is not None:
            row["difference"] = [round(100 * found["wins"][key], 1) for key in ("mean", "low", "high")]
        rows.append(row)
    return rows


if __name__ == "__main__":
    main()
