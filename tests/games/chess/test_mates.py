"""Mates in three are proven within a number of simulations, whatever untried moves are worth."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from moemcts.evaluation import Evaluator, UniformEvaluator
from moemcts.plugins import plugins
from moemcts.search import Search, SearchConfig
from moemcts_chess.game import ChessGame
from moemcts_chess.static_evaluation import StaticEvaluator

LINES = (Path(__file__).parent / "mates.txt").read_text().splitlines()
FENS = [line for line in LINES if not line.startswith("#")]
URGENCIES = ["loss", "draw", "parent", "reduction"]


@pytest.fixture(scope="module")
def game() -> ChessGame:
    return cast(ChessGame, plugins().game("chess"))


def num_proven(game: ChessGame, fens: list[str], urgency: str, evaluator: Evaluator, simulations: int) -> int:
    """Returns how many positions are proven to be won, by lines that end in mate."""
    config = SearchConfig.model_validate(
        {"simulations": simulations, "first_play_urgency": urgency, "leaves_per_tree": 8, "solver": True}
    )
    states = [game.parse_state(fen) for fen in fens]
    search = Search(game, config)
    search.reset(game.views([(state, state.active_players[0]) for state in states]), [0] * len(states))
    proven = 0
    for state, result in zip(states, search.run(evaluator), strict=True):
        assert result.visits.sum() == result.num_simulations
        if result.plies_left is None:
            continue
        assert result.plies_left >= 5
        assert result.plies_left == len(result.principal_variation)
        end = state
        for actions in result.principal_variation:
            end = end.play(actions)
        assert end.returns()[state.active_players[0]] == result.value == 1
        proven += 1
    return proven


def test_the_file_has_fifty_different_positions() -> None:
    assert len(set(FENS)) == len(FENS) == 50


@pytest.mark.parametrize("urgency", URGENCIES)
def test_mates_are_proven_whatever_untried_moves_are_worth(game: ChessGame, urgency: str) -> None:
    # 28 to 30, and 50 with 100,000 simulations (benchmarks/mates.py); all is exact, nothing is drawn.
    evaluator = UniformEvaluator(game.spec)
    assert num_proven(game, FENS, urgency, evaluator, simulations=4000) >= 28


def test_looking_for_proofs_leaves_visits_and_values_as_they_are(game: ChessGame) -> None:
    root = game.initial_state(0)
    evaluator = StaticEvaluator(game)
    found = []
    for solver in (False, True):
        search = Search(game, SearchConfig(simulations=500, solver=solver))
        search.reset(game.views([(root, 0)]), [0])
        found += search.run(evaluator)
    plain, solving = found
    assert solving.visits.tolist() == plain.visits.tolist()
    assert solving.values.tolist() == plain.values.tolist()
    assert solving.num_nodes > plain.num_nodes
