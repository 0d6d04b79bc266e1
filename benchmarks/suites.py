"""Appends the rows of a suite that `moemcts benchmark` ran to `benchmarks/results/suites.jsonl`.

python benchmarks/suites.py FOLDER --record
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from measuring import record


def main() -> None:
    """Reads a suite's rows, names them, and appends them with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of a suite that is done")
    record.add_option(parser)
    options = parser.parse_args()
    rows = [json.loads(line) for line in (options.folder / "rows.jsonl").read_text().splitlines()]
    keys = ("suite", "game", "gate", "scheme", "simulations", "routing", "seed")
    named = [{"name": " ".join(str(row[key]) for key in keys), **row} for row in rows]
    for row in named:
        row["command"] = " ".join(record.named(row["command"].split()))
    for row in named:
        print(row["name"], row["points"], row["low"], row["high"])
    if options.record:
        # The rows already have their origin: the command that made them, not this one.
        with (record.RESULTS / "suites.jsonl").open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in named)


if __name__ == "__main__":
    main()
