"""Whether memory stays flat over long work in one process, as rows of results.

    python benchmarks/endurance.py [--games 5000] [--minutes 3] [--lines 1000000] [--record]

Plays fast games of chess in sequence, searches position after position for minutes, and sends random lines to an engine
(those of `tests/games/chess/uci/test_fuzz.py`). A row has the memory of the process after a tenth of the work, and its
growth by the end. `0` skips a part.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from measuring.record import add_option, append
from memory import resident

from moemcts.arena import Conditions, Lineup, play_games
from moemcts.evaluation import UniformEvaluator
from moemcts.naming import resolve_agent
from moemcts.plugins import plugins
from moemcts.search import Search, SearchConfig

ROOT = Path(__file__).resolve().parent.parent
MEBIBYTE = 2**20
NODES = 20_000
"""Nodes of a search."""


def flatness(steps: Iterator[float]) -> dict[str, float]:
    """Runs all steps, each of which yields the finished share, and returns early memory and later growth."""
    early, began = 0.0, time.monotonic()
    for share in steps:
        if not early and share >= 0.1:
            early = resident() / MEBIBYTE
    return {
        "value": round(resident() / MEBIBYTE - early, 1),
        "unit": "MiB grown",
        "after a tenth": round(early, 1),
        "peak": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "seconds": round(time.monotonic() - began, 1),
    }


def play(games: int) -> Iterator[float]:
    """Plays games of chess between a search with few nodes and a random agent."""
    game = plugins().game("chess")
    agents = [resolve_agent(reference, game) for reference in ("uct?simulations=1", "random")]
    lineups = [Lineup(agents=agents, opening=number, seed=number) for number in range(games)]
    for number, _ in enumerate(play_games(game, lineups, Conditions(max_plies=40, max_parallel=1)), 1):
        yield number / games


def search(minutes: float) -> Iterator[float]:
    """Searches one position after the other in one tree."""
    game = plugins().game("chess")
    tree = Search(game, SearchConfig(simulations=None, nodes=NODES, leaves_per_tree=16))
    evaluator = UniformEvaluator(game.spec)
    began = time.monotonic()
    state = game.initial_state()
    while (passed := time.monotonic() - began) < 60 * minutes:
        tree.reset(game.views([(state, state.active_players[0])]), [0])
        (result,) = tree.run(evaluator)
        state = state.play((int(result.actions[result.visits.argmax()]),))
        if not state.active_players:
            state = game.initial_state()
        yield passed / (60 * minutes)


def fuzz(lines: int) -> dict[str, object]:
    """Sends random lines to an engine, in the test that counts its answers and checks its memory."""
    began = time.monotonic()
    test = "tests/games/chess/uci/test_fuzz.py::test_memory_stays_flat_over_many_lines"
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", test],
        cwd=ROOT,
        env=os.environ | {"MOEMCTS_FUZZ_LINES": str(lines)},
        capture_output=True,
        text=True,
        check=False,
    )
    grown = next((line.split()[1] for line in process.stdout.splitlines() if line.startswith("grown ")), None)
    if process.returncode or grown is None:
        sys.exit(process.stdout[-3000:])
    return {"value": float(grown), "unit": "MiB grown", "seconds": round(time.monotonic() - began, 1)}


def main() -> None:
    """Measures and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=5000)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--lines", type=int, default=1_000_000)
    add_option(parser)
    options = parser.parse_args()
    parts = {
        f"{options.games:,} quick games of chess": (options.games, lambda: flatness(play(options.games))),
        f"{options.minutes:g} minutes of searches": (options.minutes, lambda: flatness(search(options.minutes))),
        f"{options.lines:,} random lines to the engine": (options.lines, lambda: fuzz(options.lines)),
    }
    for name, (size, measure) in parts.items():
        if size:
            row = {"name": f"memory over {name}"} | measure() | {"seed": 0}
            print(row, flush=True)
            if options.record:
                append("endurance", [row])


if __name__ == "__main__":
    main()
