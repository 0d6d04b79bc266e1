"""A match of two agents against each other, as a row of results.

    python benchmarks/duel_match.py NAME [--record] -- OPTIONS OF moemcts match

The options after the two dashes are passed to `moemcts match`, with two agents and `--out`: the same command resumes
there, and only reads the result of a finished match. The row has the Elo difference of the first agent to the second,
with the error over pairs of games from one opening.
"""

from __future__ import annotations

import argparse
from typing import Any

from field_match import played
from measuring.record import add_option, append


def main() -> None:
    """Plays and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of the row: who plays whom, and how")
    add_option(parser)
    options, rest = parser.parse_known_args()
    if (agents := rest.count("--agent")) != 2 or "--against" in rest:
        raise SystemExit(f"expected two agents that play each other, got {agents}")
    row = read(options.name, played(rest))
    print(*row.values())
    if options.record:
        append("duels", [row])


def read(name: str, result: dict[str, Any]) -> dict[str, object]:
    """Returns the row for the output of `moemcts match --json`."""
    first = result["agents"][0]
    elo = first["pentanomial_elo"]
    return {
        "name": name,
        "value": None if elo["error"] is None else round(elo["difference"], 1),
        "unit": "Elo more than the second agent",
        "interval": [None if elo[end] is None else round(elo[end], 1) for end in ("low", "high")],
        "counts": [first[key] for key in ("wins", "ties", "losses")],
        "games": first["num_games"],
        "duplicates": result["num_duplicates"],
        "seed": result["seed"],
    }


if __name__ == "__main__":
    main()
