"""Smart pruning: searches end where the definition's do, and moves are those of whole searches."""

from __future__ import annotations

from typing import Any

import pytest
from games_for_tests import HashedTree, NativeConnectFour, TreeGame
from hypothesis import given, settings
from hypothesis import strategies as st
from searching_for_tests import HashedEvaluator, native_results, searched_alike, small_trees

from moemcts.search import Search, SearchConfig

configs = st.builds(
    SearchConfig,
    simulations=st.integers(1, 120),
    smart_pruning=st.just(True),
    c_init=st.sampled_from([0.5, 2.5]),
    first_play_urgency=st.sampled_from(["loss", "draw", "reduction"]),
    noise_fraction=st.sampled_from([0.0, 0.25]),
    pruning_visits=st.sampled_from([0, 0, 10]),
    unpruned_actions=st.just(2),
    leaves_per_tree=st.sampled_from([1, 4]),
)


@settings(max_examples=150, deadline=None)
@given(small_trees, configs, st.integers(0, 2**63))
def test_a_search_ends_where_the_definition_does_with_the_move_of_a_whole_one(rules, config, seed):  # type: ignore[no-untyped-def]
    game = HashedTree(rules)
    root, player, evaluator, _, result = searched_alike(game, config, seed)
    whole = config.model_copy(update={"smart_pruning": False})
    (searched,) = native_results(game, [(root, player)], whole, evaluator, [seed])
    assert result.best_action == searched.best_action
    assert result.num_simulations <= searched.num_simulations


def test_an_easy_position_takes_about_half_of_the_simulations() -> None:
    """Column 0 wins at once: it leads by more visits than are left soon after half of them."""
    game = NativeConnectFour()
    root = game.parse_state("0 1 0 1 0 1")
    config = SearchConfig(simulations=400, smart_pruning=True)
    (result,) = native_results(game, [(root, 0)], config, HashedEvaluator(7, 1), [0])
    assert 200 < result.num_simulations < 300
    assert result.best_action == 0


def test_a_limit_that_is_raised_in_steps_ends_a_search_where_one_limit_does() -> None:
    game = NativeConnectFour()
    evaluator = HashedEvaluator(7, 1)
    search = Search(game, SearchConfig(simulations=400, smart_pruning=True))
    for moves in ("", "3", "0 1 0 1 0 1", "3 3 2", "6 5 4"):
        root = game.parse_state(moves)
        views = game.views([(root, root.active_players[0])])
        search.reset(views, [0])
        (at_once,) = search.run(evaluator)
        search.reset(views, [0])
        for limit in range(50, 401, 50):
            search.limit(limit)
            (result,) = search.run(evaluator)
            if result.num_simulations < limit:
                break
        assert result.num_simulations == at_once.num_simulations
        assert result.visits.tolist() == at_once.visits.tolist()


def test_a_forced_move_is_not_searched() -> None:
    game = HashedTree(TreeGame(seed=0, num_players=2, branching=1, depth=5, simultaneous=False, has_chance=False))
    root = game.initial_state()
    config = SearchConfig(simulations=400, smart_pruning=True)
    (result,) = native_results(game, [(root, root.active_players[0])], config, HashedEvaluator(1, 1), [0])
    assert (result.num_simulations, result.best_action) == (0, root.legal_actions(root.active_players[0])[0])


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"simulations": None, "seconds": 1.0}, "expected simulations or nodes with smart_pruning=true, which asks"),
        ({"root": "gumbel"}, "expected no smart_pruning with root=gumbel, which plans"),
        ({"temperature": 1.0, "temperature_plies": 10}, "expected no temperature with smart_pruning=true, for moves"),
        ({"q_veto_delta": 0.4}, "expected no q_veto_delta with smart_pruning=true, .*, got q_veto_delta=0.4"),
        ({"forced_playouts": 2.0}, "expected no forced_playouts"),
        ({"solver": True}, "expected no solver"),
        ({"reuse": True}, "expected no reuse"),
    ],
)
def test_where_the_move_depends_on_more_it_is_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SearchConfig(smart_pruning=True, **said)
    assert "smart_pruning" not in SearchConfig().model_dump()
