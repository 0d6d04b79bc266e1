"""Opponents that act inside the native tree play as the definition says."""

from __future__ import annotations

import pytest
from searching_for_tests import HashedEvaluator, native_results, reference_visits

from moemcts.game import Player
from moemcts.native import core
from moemcts.plugins import plugins
from moemcts.search import SearchConfig
from moemcts.search.reference import ReferenceSearch
from moemcts.splitmix import SplitMix64
from moemcts_pommerman.agents import ScriptedAgent


@pytest.mark.parametrize("leaves", [1, 4])
@pytest.mark.parametrize("name", ["pommerman", "pommerman-team", "pommerman-1v1"])
def test_three_who_stand_still_are_searched_against_like_the_definition(name: str, leaves: int) -> None:
    game = plugins().game(name)
    stop = plugins().agent("stop", game)
    evaluator = HashedEvaluator(game.spec.num_actions, 1)
    evaluator.weights = evaluator.weights.repeat(4, axis=0)
    config = SearchConfig(simulations=150, leaves_per_tree=leaves, noise_fraction=0.25, noise_alpha=0.2)
    for seed in range(3):
        root, player = game.initial_state(seed), seed % game.spec.num_players
        opponents = {other: lambda state, who: 0 for other in range(game.spec.num_players) if other != player}
        expected = reference_visits(game, root, config, evaluator, seed, opponents)
        (result,) = native_results(game, [(root, player)], config, evaluator, [seed], stop)
        assert dict(zip(result.actions, result.visits, strict=True)) == expected.visits(player)
        assert result.num_nodes == expected.num_nodes


@pytest.mark.parametrize("leaves", [1, 4])
@pytest.mark.parametrize("name", ["pommerman", "pommerman-team", "pommerman-1v1"])
def test_replies_drawn_by_native_agents_are_those_of_the_definition(name: str, leaves: int) -> None:
    game = plugins().game(name)
    evaluator = HashedEvaluator(game.spec.num_actions, 1)
    evaluator.weights = evaluator.weights.repeat(4, axis=0)
    config = SearchConfig(simulations=150, leaves_per_tree=leaves, replies="drawn")
    for seed in range(3):
        root, player = game.initial_state(seed), seed % game.spec.num_players
        rng: list[SplitMix64] = []

        def reply(state: core.PommermanState, who: Player, rng: list[SplitMix64] = rng) -> int:
            """Plays like the native random agent, by the tree's random numbers."""
            return (rng[0].next_u64() * 6) >> 64 if who in state.living else 0

        opponents = {other: reply for other in range(game.spec.num_players) if other != player}
        expected = ReferenceSearch(game.spec, config, root, seed=seed, opponents=opponents)
        rng.append(expected.rng)
        while pairs := expected.select():
            expected.backup(evaluator.evaluate(game.views(pairs)))
        (result,) = native_results(game, [(root, player)], config, evaluator, [seed], ScriptedAgent("random"))
        assert dict(zip(result.actions, result.visits, strict=True)) == expected.visits(player)
        assert result.num_nodes == expected.num_nodes
