"""How fast the search and the built-in simulators are, on one thread.

    python benchmarks/speed.py [--record] [--seconds 2] [NAME ...]

A rate is the median of five runs of `--seconds` each, per second of processor time.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from games_for_tests import NativeConnectFour, NativeTicTacToe
from record import add_option, append

from moemcts.evaluation import UniformEvaluator
from moemcts.game import Game
from moemcts.native import core
from moemcts.plugins import plugins
from moemcts.search import Search, SearchConfig
from moemcts.search.engine import Opponents

NUM_RUNS = 5
Work = Callable[[], int]
"""Does some work and returns how much."""


def search_work(game: Game, *, simulations: int, trees: int, leaves: int, opponents: Opponents = None) -> Work:
    """Returns work that searches from start positions with a constant evaluator, in simulations."""
    config = SearchConfig(simulations=simulations, leaves_per_tree=leaves)
    search = Search(game, config, opponents=opponents)
    evaluator = UniformEvaluator(game.spec)
    states = [game.initial_state(seed) for seed in range(trees)]
    roots = game.views([(state, state.active_players[i % len(state.active_players)]) for i, state in enumerate(states)])

    def work() -> int:
        search.reset(roots, list(range(trees)))
        return sum(result.num_simulations for result in search.run(evaluator))

    return work


def native_rates() -> dict[str, float]:
    """Returns what the simulator's own measurement prints, by name; no processor time is spent in Python."""
    command = ["cargo", "run", "--quiet", "--release", "-p", "moemcts-pommerman", "--example", "speed"]
    done = subprocess.run(command, cwd=ROOT / "native", capture_output=True, text=True, check=True)
    return {
        found["name"]: float(found["rate"])
        for found in re.finditer(r"^(?P<name>.+?): (?P<rate>\d+) ", done.stdout, re.MULTILINE)
    }


def four_simple_agents_work() -> Work:
    """Returns work that plays whole games of four SimpleAgents, in environment steps."""
    rules = core.PommermanRules("PommeFFACompetition-v0")
    seed = 0

    def work() -> int:
        nonlocal seed
        seed += 50
        lengths, _, _ = core.pommerman_games(rules, ["simple"] * 4, list(range(seed, seed + 50)), False)
        return int(lengths.sum())

    return work


def benchmarks() -> dict[str, tuple[str, Callable[[], Work]]]:
    """Returns what can be measured: the unit and what makes the work."""
    pommerman = plugins().game("pommerman")
    simple = plugins().agent("simple", pommerman)
    found: dict[str, tuple[str, Callable[[], Work]]] = {
        "pommerman, four SimpleAgents": ("steps/s", four_simple_agents_work),
        "search, tic-tac-toe, 8 trees x 8 leaves": (
            "simulations/s",
            lambda: search_work(NativeTicTacToe(), simulations=800, trees=8, leaves=8),
        ),
        "search, tic-tac-toe, 1 tree x 8 leaves": (
            "simulations/s",
            lambda: search_work(NativeTicTacToe(), simulations=800, trees=1, leaves=8),
        ),
        "search, connect four, 8 trees x 8 leaves": (
            "simulations/s",
            lambda: search_work(NativeConnectFour(), simulations=800, trees=8, leaves=8),
        ),
        "search, pommerman, three SimpleAgents reply, 16 trees x 4 leaves": (
            "simulations/s",
            lambda: search_work(pommerman, simulations=200, trees=16, leaves=4, opponents=simple),
        ),
    }
    if "tictactoe" in plugins().games:
        found["search, tic-tac-toe written in Python, 8 trees x 8 leaves"] = (
            "simulations/s",
            lambda: search_work(plugins().game("tictactoe"), simulations=800, trees=8, leaves=8),
        )
    return found


def rate(work: Work, seconds: float) -> float:
    """Returns how much of the work is done per second of processor time."""
    work()
    amount, started = 0, time.process_time()
    while time.process_time() - started < seconds:
        amount += work()
    return amount / (time.process_time() - started)


def show(name: str, unit: str, rates: list[float]) -> dict[str, object]:
    """Prints the median of the rates and returns it as a row."""
    lowest, median, highest = round(min(rates)), round(statistics.median(rates)), round(max(rates))
    print(f"{name:<66} {median:>12,} {unit:<14} ({lowest:,} to {highest:,})", flush=True)
    return {
        "name": name,
        "value": median,
        "unit": unit,
        "seed": 0,
        "lowest": lowest,
        "highest": highest,
        "runs": len(rates),
    }


def main() -> None:
    """Measures and prints; appends to the results where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of what to measure; all without any")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one run")
    add_option(parser)
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    if not options.names or any(part in "pommerman forward model" for part in options.names):
        rates = [native_rates()["clone and step"] for _ in range(NUM_RUNS)]
        rows.append(show("pommerman forward model, copy and step", "steps/s", rates))
    for name, (unit, make) in benchmarks().items():
        if options.names and not any(part in name for part in options.names):
            continue
        work = make()
        rows.append(show(name, unit, [rate(work, options.seconds) for _ in range(NUM_RUNS)]))
    if options.record:
        append("speed", rows)


if __name__ == "__main__":
    main()
