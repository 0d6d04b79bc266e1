"""Simulations per second of searches in OpenSpiel's games: ours through the adapter, and OpenSpiel's own.

Every search starts at the game's first position and makes the same number of simulations. `constant` evaluates a leaf
with 0 and a uniform policy, `playout` with one random game to its end. One thread; the best of several tries.

python benchmarks/openspiel_speed.py --record
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
import pyspiel
from measuring import record
from open_spiel.python.algorithms import mcts

from moemcts.evaluation import Evaluator, RolloutEvaluator, UniformEvaluator
from moemcts.search import Search, SearchConfig
from moemcts_openspiel import OpenSpielGame

GAMES = ("tic_tac_toe", "connect_four", "breakthrough(rows=6,columns=6)")
SIMULATIONS = 400
TRIES = 5


class Constant(mcts.Evaluator):  # type: ignore[misc]
    """A constant evaluator: OpenSpiel's counterpart of `UniformEvaluator`."""

    def evaluate(self, state: pyspiel.State) -> Sequence[float]:
        return np.zeros(state.num_players())

    def prior(self, state: pyspiel.State) -> list[tuple[int, float]]:
        legal = state.legal_actions()
        return [(action, 1 / len(legal)) for action in legal]


def ours(name: str, make: Callable[[OpenSpielGame], Evaluator], leaves: int) -> float:
    """Returns simulations per second of our search with batches of `leaves`."""
    game = OpenSpielGame(name)
    search = Search(game, SearchConfig(simulations=SIMULATIONS, leaves_per_tree=leaves))
    views, evaluator = game.views([(game.initial_state(), 0)]), make(game)

    def run() -> None:
        search.reset(views, [0])
        search.run(evaluator)

    return rate(run)


def python(name: str) -> float:
    """Returns simulations per second of OpenSpiel's search in Python, with a constant evaluator."""
    game = pyspiel.load_game(name)
    bot = mcts.MCTSBot(game, 2.0, SIMULATIONS, Constant(), solve=False, child_selection_fn=mcts.SearchNode.puct_value)
    if bot.mcts_search(game.new_initial_state()).explore_count != SIMULATIONS:
        raise RuntimeError("expected as many simulations as were asked for")
    return rate(lambda: bot.mcts_search(game.new_initial_state()))


def compiled(name: str) -> float:
    """Returns simulations per second of OpenSpiel's search in C++, with one playout per leaf."""
    game = pyspiel.load_game(name)
    evaluator = pyspiel.RandomRolloutEvaluator(1, 0)
    bot = pyspiel.MCTSBot(game, evaluator, 2.0, SIMULATIONS, 1000, False, 0, False)
    return rate(lambda: bot.mcts_search(game.new_initial_state()))


def rate(run: Callable[[], object]) -> float:
    """Returns simulations per second of processor time in the best of several tries."""
    run()
    best = 0.0
    for _ in range(TRIES):
        started = time.process_time()
        run()
        best = max(best, SIMULATIONS / max(time.process_time() - started, 1e-9))
    return best


def main() -> None:
    """Measures and prints all games; ratios are to our search in the same run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    record.add_option(parser)
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    for name in GAMES:
        rates = {
            "ours, constant, one leaf at a time": ours(name, lambda game: UniformEvaluator(game.spec), 1),
            "ours, constant, 8 leaves at a time": ours(name, lambda game: UniformEvaluator(game.spec), 8),
            "OpenSpiel in Python, constant": python(name),
            "ours, playout": ours(name, lambda game: RolloutEvaluator(game.spec, num_rollouts=1, seed=0), 1),
            "OpenSpiel in C++, playout": compiled(name),
        }
        for implementation, value in rates.items():
            reference = rates["ours, playout" if "playout" in implementation else "ours, constant, one leaf at a time"]
            row = {"game": name, "search": implementation, "value": round(value), "unit": "simulations/s"}
            rows.append({"name": f"{name}: {implementation}", **row, "ratio": round(value / reference, 3), "seed": 0})
            print(f"{name}: {implementation}: {value:,.0f} simulations/s, {value / reference:.2f}")
    if options.record:
        record.append("openspiel", rows)


if __name__ == "__main__":
    main()
