"""Speed of the native search relative to others, measured alternately on one thread.

    python benchmarks/peers/compare.py [--record] [--seconds 2] [--lc0 BINARY] [NAME ...]

Ratios of ours to theirs, per second of processor time; medians of five rounds. Each peer's file describes its
requirements and origin. Missing peers are skipped with a message.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from measuring.positions import CHESS
from measuring.record import add_option, append
from measuring.side_by_side import Worker, compare

NUM_ROUNDS = 5
QUESTIONS = {
    "openspiel": [f"uct, {game}" for game in ("tic-tac-toe", "connect four", "chess")],
    "python_chess": [f"puct, chess {position}, 800" for position in CHESS],
    "lc0": [
        f"puct, chess {position}, {simulations}, batch {batch}{how}"
        for position in CHESS
        for how in ("", ", loss", ", encoded", ", loss, encoded")
        for simulations in (800, 10_000, 100_000)
        for batch in (8, 64)
    ],
}
"""The questions for each peer, by the name of its file."""

NEEDS = {"openspiel": "pyspiel", "python_chess": "chess"}


def peers(lc0: Path | None) -> Iterator[tuple[str, list[str]]]:
    """Yields the available peers with their commands; reports the missing ones."""
    for name in QUESTIONS:
        needed = NEEDS.get(name)
        if needed is not None and importlib.util.find_spec(needed) is None:
            print(f"{name}: left out, there is no module {needed}", file=sys.stderr)
        elif name == "lc0" and lc0 is None:
            print("lc0: left out, no binary was named (--lc0)", file=sys.stderr)
        else:
            yield name, [sys.executable, str(FOLDER / f"{name}.py"), *([str(lc0)] if name == "lc0" else [])]


def main() -> None:
    """Measures and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of what to measure; all without any")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one run")
    parser.add_argument("--lc0", type=Path, metavar="BINARY", help="an lc0, version 0.32 or so")
    add_option(parser)
    options = parser.parse_args()
    rows = []
    with Worker([sys.executable, str(FOLDER / "ours.py")]) as ours:
        for peer, command in peers(options.lc0):
            with Worker(command) as theirs:
                for name in QUESTIONS[peer]:
                    if options.names and not any(part in f"{name}, {peer}" for part in options.names):
                        continue
                    row = compare(ours, theirs, name, seconds=options.seconds, rounds=NUM_ROUNDS)
                    if row is None:
                        raise SystemExit(f"expected {peer} and us to know {name!r}, one of us does not")
                    rows.append(row | {"name": f"{name}, against {peer}"})
                    spread = f"{row['lowest']} to {row['highest']}"
                    print(f"{rows[-1]['name']:<60} {row['ours']:>10,} {row['theirs']:>10,} {row['value']} ({spread})")
    if options.record:
        append("peers", rows)


if __name__ == "__main__":
    main()
