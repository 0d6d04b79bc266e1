"""Measures the numbers on the chess family's page, and appends them to benchmarks/results/chess_data.jsonl.

python tests/games/chess/measure.py data FILE.pgn.zst ...     import, statistics and reading back
python tests/games/chess/measure.py speed                     search, gates and planes
python tests/games/chess/measure.py agreement                 long comparisons with python-chess
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from chess_oracle import end, measures, random_games

from moemcts.evaluation import UniformEvaluator
from moemcts.game import Views
from moemcts.learn.data.dataset import Dataset
from moemcts.native import core
from moemcts.search import Search, SearchConfig
from moemcts_chess.game import VARIANTS, ChessGame

ROOT = Path(__file__).parents[3]
MAIN = "from moemcts.cli.main import main; main()"
MIDDLEGAME = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NB1N2/PP3PPP/R1BQ1RK1 w - - 0 9"
MONTHS = ["--validation", "2012-09,2012-10", "--test", "2017-05,2017-06"]
START_PIECES = {"horde": 52, "racingkings": 16}
LONG = 1_000_000
"""python-chess has no maximum length of games."""
Row = dict[str, object]


def row(name: str, value: float, unit: str, seed: int = 0) -> Row:
    """Prints a number and returns its row."""
    print(f"{name:<70} {value:>14,.6g} {unit}", flush=True)
    return {"name": name, "value": value, "unit": unit, "seed": seed}


def data(files: list[str]) -> list[Row]:
    """Imports the files with the command, and measures its cost and the resulting dataset."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "chess"
        report = json.loads(command("data", "import", *files, "--out", out, *MONTHS, "--json"))
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
        positions = report["num_positions"]
        rows = [
            row("import, games", report["num_games"], "games"),
            row("import, positions", positions, "positions"),
            row("import, damaged games", report["num_damaged"], "games"),
            row("import, time on two cores", report["seconds"], "s"),
            row("import, speed on two cores", round(positions / report["seconds"]), "positions/s"),
            row("import, memory peak", round(memory), "MiB"),
            row("import, bytes per position", round(size / positions, 1), "bytes"),
        ]
        for gate in ("lichess", "lichess-crazyara", "conjunctive", "material", "pieces"):
            for split in ("train", "validation", "test"):
                found = json.loads(command("data", "stats", out / split, "--gate", gate, "--json"))
                rows += phase_rows(f"{gate}, {split}", found)
        return rows + reading_rows(out / "train")


def phase_rows(name: str, found: dict[str, dict[str, object]]) -> list[Row]:
    """Returns the shares of phases, first moves and returns."""
    rows = []
    for phase, share in found["share of positions"].items():
        rows.append(row(f"{name}: share of positions, {phase}", float(str(share)), "1"))
    for phase, share in found["share of games"].items():
        rows.append(row(f"{name}: share of games that reach the {phase}", float(str(share)), "1"))
    for phase, moves in list(found["first move"].items())[1:]:
        mean, deviation = moves  # type: ignore[misc]
        rows.append(row(f"{name}: first move of the {phase}, mean", mean, "moves"))
        rows.append(row(f"{name}: first move of the {phase}, deviation", deviation, "moves"))
    rows.append(row(f"{name}: share of games that go back", float(str(found["share of games that go back"])), "1"))
    rows.append(row(f"{name}: returns per game", float(str(found["returns per game"])), "1"))
    return rows


def reading_rows(folder: Path) -> list[Row]:
    """Returns the speed of reading random samples from disk and encoding them, on one core."""
    dataset = Dataset.open(folder, ChessGame("chess"))
    order = np.random.default_rng(0).permutation(len(dataset))

    def work() -> int:
        for first in range(0, 65_536, 1024):
            dataset.views(order[first : first + 1024]).observations()
        return 65_536

    return [row("random samples from disk to 52 planes, one core", rate(work), "positions/s")]


def speed() -> list[Row]:
    """Measures search, gates and planes on one core."""
    rows = []
    game = ChessGame("chess")
    evaluator = UniformEvaluator(game.spec)
    for name, fen in (("start position", "startpos"), ("middlegame", MIDDLEGAME)):
        root = game.parse_state(fen)
        roots = game.views([(root, root.active_players[0])])
        for urgency in ("draw", "loss"):
            for simulations in (800, 100_000):
                config = SearchConfig(simulations=simulations, leaves_per_tree=64, first_play_urgency=urgency)
                search = Search(game, config)

                def work(search: Search = search, roots: Views = roots, simulations: int = simulations) -> int:
                    search.reset(roots, [0])
                    search.run(evaluator)
                    return simulations

                what = f"search, {name}, batch 64, {simulations} simulations, first play {urgency}"
                rows.append(row(what, rate(work), "simulations/s"))
    for variant in VARIANTS:
        game = ChessGame(variant)
        states = [state for state, _ in random_games(game, 2000)]
        views = game.views([(state, 0) for state in states[:1000]])
        packed = game.pack(states * 10)

        def gate(packed: object = packed) -> int:
            core.chess_measure(packed.data, packed.offsets, "lichess")
            return 20_000

        def planes(views: object = views) -> int:
            views.observations()
            return 1000

        rows.append(row(f"lichess gate on packed positions, {variant}, one core", rate(gate), "positions/s"))
        rows.append(row(f"{game.rules.num_planes} planes of states, {variant}, one core", rate(planes), "positions/s"))
    return rows


def agreement() -> list[Row]:
    """Compares long random games of every variant with python-chess; raises AssertionError if they differ."""
    rows, total = [], 0
    for variant in VARIANTS:
        count = 0
        for state, board in random_games(ChessGame(variant, max_plies=LONG), 50_000, seed=100):
            expected = end(board)
            assert (state.termination is None) == (expected is None), state
            if expected is None:
                moves = sorted(state.uci(action) for action in state.legal_actions(state.active_players[0]))
                assert moves == sorted(board.uci(move) for move in board.legal_moves), state
            else:
                assert tuple(state.returns()) == expected, state
            count += 1
        rows.append(row(f"positions that agree with python-chess, {variant}", count, "positions", 100))
        for state, board in random_games(ChessGame(variant, max_plies=LONG), 12_000, seed=101):
            expected_measures = measures(board, START_PIECES.get(variant, 32))
            assert {name: state.measure(name) for name in core.chess_measures()} == expected_measures, state
            total += 1
    rows.append(row("positions whose gates agree with python-chess", total, "positions", 101))
    return rows


def rate(work: Callable[[], int], runs: int = 5, seconds: float = 1.0) -> int:
    """Returns the median rate of work per second of processor time."""
    work()
    rates = []
    for _ in range(runs):
        done, started = 0, time.process_time()
        while time.process_time() - started < seconds:
            done += work()
        rates.append(done / (time.process_time() - started))
    return round(statistics.median(rates))


def command(*arguments: object) -> str:
    """Returns the output of a moemcts command."""
    run = subprocess.run(
        [sys.executable, "-c", MAIN, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True
    )
    return run.stdout


if __name__ == "__main__":
    parts = {"data": lambda: data(sys.argv[2:]), "speed": speed, "agreement": agreement}
    if len(sys.argv) < 2 or sys.argv[1] not in parts:
        sys.exit(__doc__)
    rows = parts[sys.argv[1]]()
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from measuring.record import append

    append("chess_data", rows)
