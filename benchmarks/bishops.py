"""Evaluations by experts of the 20 opposite-coloured bishop endgames of AlphaVile's Table 11, as rows of results.

python benchmarks/bishops.py FOLDER [FOLDER ...] [--record]

One row per folder of experts: the mean of |value| over the 15 draws, best at 0, and of the winner's value over the five
wins, best at 1. The paper's networks have 0.4472 and 0.3988 for the draws, 0.5192 and 0.5186 for the wins.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from measuring.record import add_option, append

from moemcts.learn.checkpoint import load_experts
from moemcts.plugins import plugins
from moemcts.store import MANIFEST, read_toml
from moemcts_chess.bishops import assess, summary


def main() -> None:
    """Evaluates and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experts", type=Path, nargs="+", help="folders of experts for chess")
    add_option(parser)
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    for folder in options.experts:
        manifest = read_toml(folder / MANIFEST)
        game = plugins().game(manifest["game"])
        means = summary(assess(load_experts(folder, game, plugins()), game))
        name = f"opposite-coloured bishops, {manifest['scheme']}, {manifest['network']}, seed {manifest['seed']}"
        row: dict[str, object] = {"name": name, "value": round(means["draws"], 4), "unit": "mean of |value|, 15 draws"}
        rows.append(row | {"wins": round(means["wins"], 4), "seed": manifest["seed"], "data": manifest["data"]})
        print(rows[-1])
    if options.record:
        sys.argv[1:] = ["FOLDERS", "--record"]
        append("bishops", rows)


if __name__ == "__main__":
    main()
