"""OpenSpiel's C++ search with one random playout per leaf, from the PyPI wheel (`pip install open-spiel`).

Its search without playouts needs an evaluator in C++, which the wheel does not contain.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pyspiel
from measuring.side_by_side import rate, serve
from questions import NUM_PLAYOUTS, UCT_C

NAMES = {"tic-tac-toe": "tic_tac_toe", "connect four": "connect_four", "chess": "chess"}


def measured(name: str, seconds: float) -> float | None:
    kind, _, game = name.partition(", ")
    if kind != "uct" or game not in NAMES:
        return None
    rules, num = pyspiel.load_game(NAMES[game]), NUM_PLAYOUTS[game]
    evaluator = pyspiel.RandomRolloutEvaluator(1, 0)
    bot = pyspiel.MCTSBot(rules, evaluator, UCT_C, num, 1000, False, 0, False)
    state = rules.new_initial_state()

    def work() -> int:
        bot.mcts_search(state)
        return num

    return rate(work, seconds)


if __name__ == "__main__":
    serve(measured)
