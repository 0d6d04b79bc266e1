"""The native search and the native playouts, for the same questions as the peers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests")]

from games_for_tests import NativeConnectFour, NativeTicTacToe
from measuring.side_by_side import rate, serve
from questions import NUM_PLAYOUTS, UCT_C, question
from speed import Encoding

from moemcts.evaluation import UniformEvaluator
from moemcts.game import Game
from moemcts.native import core, playout_search
from moemcts.plugins import plugins
from moemcts.search import Search, SearchConfig


def uct(name: str) -> Callable[[], int]:
    """Returns work that searches from the start with random playouts, counted in playouts."""
    games: dict[str, Callable[[], Game]] = {
        "tic-tac-toe": NativeTicTacToe,
        "connect four": NativeConnectFour,
        "chess": lambda: plugins().game("chess"),
    }
    game, num = games[name](), NUM_PLAYOUTS[name]
    roots = game.views([(game.initial_state(0), 0)])

    def work() -> int:
        playout_search(roots, game.spec, [0], playouts=num, exploration=UCT_C)
        return num

    return work


def puct(name: str) -> Callable[[], int]:
    """Returns work that searches a chess position with a constant evaluator, counted in simulations."""
    parameters = question(name)
    game = plugins().game("chess")
    config = SearchConfig(
        simulations=parameters.simulations, leaves_per_tree=parameters.batch, first_play_urgency=parameters.urgency
    )
    search = Search(game, config)
    evaluator = Encoding(game.spec) if parameters.encodes else UniformEvaluator(game.spec)
    state = core.ChessState.parse(core.ChessRules("chess"), parameters.fen)
    roots = game.views([(state, state.active_players[0])])

    def work() -> int:
        search.reset(roots, [0])
        return search.run(evaluator)[0].num_simulations

    return work


def measured(name: str, seconds: float) -> float | None:
    kind, _, rest = name.partition(", ")
    return rate(uct(rest) if kind == "uct" else puct(name), seconds)


if __name__ == "__main__":
    serve(measured)
