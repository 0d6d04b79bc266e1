"""How fast the search and the built-in simulators are, on one thread.

    python benchmarks/speed.py [--record] [--seconds 2] [--against CHECKOUT] [NAME ...]

A rate is the median of five runs of `--seconds` each, per second of processor time. With `--against`, another checkout
with a built core does the same work alternately with this one, and the ratios are reported.
"""

from __future__ import annotations

import argparse
import itertools
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import numpy as np
from games_for_tests import NativeConnectFour, NativeTicTacToe
from measuring.positions import CHESS, random_positions
from measuring.record import add_option, append, commit
from measuring.side_by_side import Worker, compare, paths_of, rate, serve

from moemcts import native
from moemcts.evaluation import Evaluation, UniformEvaluator
from moemcts.game import Game, GameSpec, IntArray, Packed, State, Views
from moemcts.native import core
from moemcts.plugins import plugins
from moemcts.search import Search, SearchConfig
from moemcts.search.opponents import Opponents

NUM_RUNS = 5
Work = Callable[[], int]
"""Does some work and returns its amount."""


class Encoding:
    """Encodes the views, as a network would have to, and returns one dense array of logits."""

    def __init__(self, spec: GameSpec) -> None:
        self._spec = spec
        self._logits = np.zeros((0, spec.num_actions), dtype=np.float32)

    def evaluate(self, views: Views) -> Evaluation:
        views.observations()
        if len(self._logits) < len(views):
            self._logits = np.zeros((len(views), self._spec.num_actions), dtype=np.float32)
        return Evaluation(self._logits[: len(views)], np.zeros(len(views), dtype=np.float32))


def search_work(
    game: Game,
    *,
    simulations: int,
    trees: int,
    leaves: int,
    opponents: Opponents = None,
    start: State | None = None,
    encodes: bool = False,
    **options: Any,
) -> Work:
    """Returns work that searches from one position or start positions with a constant evaluator, counted in
    simulations.
    """
    config = SearchConfig(simulations=simulations, leaves_per_tree=leaves, **options)
    search = Search(game, config, opponents=opponents)
    evaluator = Encoding(game.spec) if encodes else UniformEvaluator(game.spec)
    states = [start or game.initial_state(seed) for seed in range(trees)]
    roots = game.views([(state, state.active_players[i % len(state.active_players)]) for i, state in enumerate(states)])

    def work() -> int:
        search.reset(roots, list(range(trees)))
        return sum(result.num_simulations for result in search.run(evaluator))

    return work


def native_rates() -> dict[str, float]:
    """Returns the results of the simulator's own benchmark by name; no processor time is spent in Python."""
    command = ["cargo", "run", "--quiet", "--release", "-p", "moemcts-pommerman", "--example", "speed"]
    process = subprocess.run(command, cwd=ROOT / "native", capture_output=True, text=True, check=True)
    return {
        match["name"]: float(match["rate"])
        for match in re.finditer(r"^(?P<name>.+?): (?P<rate>\d+) ", process.stdout, re.MULTILINE)
    }


def four_simple_agents_work() -> Work:
    """Returns work that plays whole games of four SimpleAgents, counted in environment steps."""
    rules = core.PommermanRules("PommeFFACompetition-v0")
    seed = 0

    def work() -> int:
        nonlocal seed
        seed += 50
        lengths, _, _ = core.pommerman_games(rules, ["simple"] * 4, list(range(seed, seed + 50)), False)
        return int(lengths.sum())

    return work


def benchmarks() -> dict[str, tuple[str, Callable[[], Work]]]:
    """Returns all benchmarks: the unit, and a function that creates the work."""
    pommerman = plugins().game("pommerman")
    simple = plugins().agent("simple", pommerman)
    measurements: dict[str, tuple[str, Callable[[], Work]]] = {
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
        "search, pommerman, all seats are searched, 16 trees x 4 leaves": (
            "simulations/s",
            lambda: search_work(pommerman, simulations=200, trees=16, leaves=4),
        ),
        "search, pommerman, three SimpleAgents reply, 16 trees x 4 leaves": (
            "simulations/s",
            lambda: search_work(pommerman, simulations=200, trees=16, leaves=4, opponents=simple),
        ),
    }
    measurements["gate `lichess` over packed positions of chess"] = ("positions/s", gate_work)
    for size in (64, 4_096, 16_384):
        measurements[f"52 planes of chess, batches of {size:,}"] = ("positions/s", partial(planes_work, size))
        measurements[f"memory of 52 planes of chess, written and nothing else, batches of {size:,}"] = (
            "positions/s",
            partial(memory_work, size),
        )
    measurements.update({name: ("simulations/s", work) for name, work in chess_searches().items()})
    if "tictactoe" in plugins().games:
        measurements["search, tic-tac-toe written in Python, 8 trees x 8 leaves"] = (
            "simulations/s",
            lambda: search_work(plugins().game("tictactoe"), simulations=800, trees=8, leaves=8),
        )
    return measurements


def chess_searches() -> dict[str, Callable[[], Work]]:
    """Returns searches of chess: positions, sizes, first-play urgencies, batches, with and without encoding."""
    game = plugins().game("chess")
    searches: dict[str, Callable[[], Work]] = {}
    for place, fen in CHESS.items():
        start = game.parse_state(fen)
        for urgency in ("loss", "reduction"):
            for leaves, simulations in itertools.product((8, 64), (800, 10_000, 100_000, 1_000_000)):
                searches[f"search, chess, {place}, {urgency}, 1 tree x {leaves} leaves, {simulations:,}"] = partial(
                    search_work,
                    game,
                    simulations=simulations,
                    trees=1,
                    leaves=leaves,
                    start=start,
                    first_play_urgency=urgency,
                )
            for leaves in (8, 64):
                searches[f"search, chess, {place}, {urgency}, 1 tree x {leaves} leaves, 100,000, encoded"] = partial(
                    search_work,
                    game,
                    simulations=100_000,
                    trees=1,
                    leaves=leaves,
                    start=start,
                    encodes=True,
                    first_play_urgency=urgency,
                )
            for trees in (64, 256):
                searches[f"search, chess, {place}, {urgency}, {trees} trees x 1 leaf, 800"] = partial(
                    search_work, game, simulations=800, trees=trees, leaves=1, start=start, first_play_urgency=urgency
                )
    return searches


def chess_positions(num: int) -> tuple[Packed, IntArray]:
    """Returns packed positions of random games and the players to move."""
    game = plugins().game("chess")
    states = random_positions(game, 4096)
    players = np.array([state.active_players[0] for state in states], dtype=np.int64)
    rows = np.arange(num) % len(states)
    return game.pack(states).take(rows), players[rows]


def gate_work() -> Work:
    """Returns work that determines the phases of packed chess positions, counted in positions."""
    game = plugins().game("chess")
    gate = plugins().gate("lichess", game)
    packed, players = chess_positions(65_536)

    def work() -> int:
        gate.weights(game.unpack(packed, players))
        return len(players)

    return work


def planes_work(size: int) -> Work:
    """Returns work that encodes whole states of chess in batches of `size`, counted in positions."""
    game = plugins().game("chess")
    packed, players = chess_positions(size)
    views = game.unpack(packed, players)
    # Views of whole states, as a search selects them.
    views = views.unpacked() if hasattr(views, "unpacked") else views
    buffer_class = getattr(native, "ObservationBuffer", None)
    observations = partial(buffer_class().observations, views) if buffer_class else views.observations

    def work() -> int:
        observations()
        return size

    return work


def memory_work(size: int) -> Work:
    """Returns work that writes as many numbers as `planes_work`, at full memory bandwidth."""
    planes = np.zeros((size, 52, 8, 8), dtype=np.float32)

    def work() -> int:
        planes.fill(0.5)
        return size

    return work


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


def answer() -> Callable[[str, float], float | None]:
    """Returns a function that measures work by name, which is created lazily."""
    known_benchmarks = benchmarks()
    prepared: dict[str, Work] = {}

    def measured(name: str, seconds: float) -> float | None:
        if name not in known_benchmarks:
            return None
        if name not in prepared:
            prepared.clear()
            prepared[name] = known_benchmarks[name][1]()
        return rate(prepared[name], seconds)

    return measured


def side_by_side(other: Path, parts: Sequence[str], seconds: float) -> list[dict[str, object]]:
    """Prints this checkout's rates as multiples of another's, and returns the rows."""
    command = [sys.executable, str(Path(__file__).resolve()), "--serve"]
    rows = []
    with Worker(command, environment=paths_of(ROOT)) as ours, Worker(command, environment=paths_of(other)) as theirs:
        for name in benchmarks():
            if parts and not any(part in name for part in parts):
                continue
            row = compare(ours, theirs, name, seconds=seconds, rounds=NUM_RUNS)
            if row is None:
                continue
            rows.append(row | {"name": f"{name}, against before", "other": commit(other)})
            spread = f"{row['lowest']} to {row['highest']}"
            print(f"{name:<72} {row['ours']:>10,} {row['theirs']:>10,} {row['value']:>7} ({spread})", flush=True)
    return rows


def main() -> None:
    """Measures and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of what to measure; all without any")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one run")
    parser.add_argument(
        "--against", type=Path, metavar="CHECKOUT", help="another checkout, measured in turns with this"
    )
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    add_option(parser)
    options = parser.parse_args()
    if options.serve:
        serve(answer())
        return
    rows: list[dict[str, object]] = []
    if options.against:
        rows = side_by_side(options.against.resolve(), options.names, options.seconds)
    elif not options.names or any(part in "pommerman forward model" for part in options.names):
        rates = [native_rates()["clone and step"] for _ in range(NUM_RUNS)]
        rows.append(show("pommerman forward model, copy and step", "steps/s", rates))
    for name, (unit, make) in {} if options.against else benchmarks().items():
        if options.names and not any(part in name for part in options.names):
            continue
        work = make()
        rows.append(show(name, unit, [rate(work, options.seconds) for _ in range(NUM_RUNS)]))
    if options.record:
        append("side_by_side" if options.against else "speed", rows)


if __name__ == "__main__":
    main()
