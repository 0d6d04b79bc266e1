"""How many mates in three the solver proves, by the value of untried actions and by evaluator.

    python benchmarks/mates.py [--simulations 100000] [--urgencies loss draw parent reduction]
                               [--evaluators uniform material] [--proof-interval 5] [--record]

The mates are those of tests/games/chess/mates.txt, which names their source. "uniform" is a constant evaluator,
"material" counts material and piece placement; both have a uniform policy. Simulations do not include the descents that
look for proofs; nodes do.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any, cast

from measuring.record import add_option, append

import moemcts.search.config as constants
from moemcts.evaluation import Evaluator, UniformEvaluator
from moemcts.plugins import plugins
from moemcts.search import Search, SearchConfig
from moemcts.search.result import SearchResult
from moemcts_chess.game import ChessGame
from moemcts_chess.static_evaluation import StaticEvaluator

MATES = Path(__file__).parent.parent / "tests" / "games" / "chess" / "mates.txt"
LEAVES = 8
PARALLEL = 10
"""Number of concurrently searched positions, limited by memory."""


def solve(game: ChessGame, fens: list[str], config: SearchConfig, evaluator: Evaluator) -> list[SearchResult]:
    """Returns the search result of each position."""
    search = Search(game, config)
    results = []
    for start in range(0, len(fens), PARALLEL):
        states = [game.parse_state(fen) for fen in fens[start : start + PARALLEL]]
        roots = game.views([(state, state.active_players[0]) for state in states])
        search.reset(roots, [0] * len(states))
        results += search.run(evaluator)
    return results


def row(name: str, results: list[SearchResult], about: dict[str, Any]) -> dict[str, Any]:
    """Returns the number of proven wins, and the simulations that they took."""
    proven = [result for result in results if result.plies_left is not None and result.value == 1]
    costs = [result.num_simulations for result in proven]
    nodes = [result.num_nodes for result in proven]
    values = {"name": name, "value": len(costs), "unit": f"mates proven of {len(results)}", "seed": 0}
    summary = {
        "median_simulations": statistics.median(costs) if costs else None,
        "most_simulations": max(costs, default=0),
    }
    return values | about | summary | {"most_nodes": max(nodes, default=0)}


def main() -> None:
    """Searches and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=100_000)
    parser.add_argument("--urgencies", nargs="+", default=list(constants.FIRST_PLAY_URGENCIES))
    parser.add_argument("--evaluators", nargs="+", default=["uniform", "material"])
    parser.add_argument(
        "--proof-interval",
        type=int,
        default=constants.PROOF_INTERVAL,
        help="simulations per descent that looks for proofs; 0 is none",
    )
    add_option(parser)
    options = parser.parse_args()
    constants.PROOF_INTERVAL = options.proof_interval
    game = cast(ChessGame, plugins().game("chess"))
    evaluators = {"uniform": UniformEvaluator(game.spec), "material": StaticEvaluator(game)}
    fens = [line for line in MATES.read_text().splitlines() if line and not line.startswith("#")]
    for evaluator in options.evaluators:
        for urgency in options.urgencies:
            config = SearchConfig(
                simulations=options.simulations, first_play_urgency=urgency, solver=True, leaves_per_tree=LEAVES
            )
            results = solve(game, fens, config, evaluators[evaluator])
            share = f"a look for proofs per {options.proof_interval}" if options.proof_interval else "none for proofs"
            about = {"simulations": options.simulations, "proof_interval": options.proof_interval}
            values = row(f"mates in three, {evaluator} evaluator, untried as {urgency}, {share}", results, about)
            costs = [values[key] for key in ("median_simulations", "most_simulations", "most_nodes")]
            print(f"{values['name']:<80} {values['value']:>3}", *costs, flush=True)
            if options.record:
                append("mates", [values])


if __name__ == "__main__":
    main()
