"""Virtual expansions: the native search ends where the definition does, and says what the rest would have found."""

from __future__ import annotations

import numpy as np
import pytest
from games_for_tests import HashedTree, NativeConnectFour
from hypothesis import given, settings
from hypothesis import strategies as st
from searching_for_tests import HashedEvaluator, native_results, searched_alike, small_trees

from moemcts.evaluation import UniformEvaluator
from moemcts.search import Search, SearchConfig
from moemcts.search.foresight import EarlyEnd, foreseen_visits

configs = st.builds(
    SearchConfig,
    simulations=st.integers(1, 120),
    stop_tolerance=st.sampled_from([0.05, 0.2, 0.6]),
    stop_share=st.sampled_from([0.0, 0.2, 0.7]),
    c_init=st.sampled_from([0.5, 2.5]),
    first_play_urgency=st.sampled_from(["loss", "draw", "reduction"]),
    noise_fraction=st.sampled_from([0.0, 0.25]),
    pruning_visits=st.sampled_from([0, 0, 10]),
    unpruned_actions=st.just(2),
    solver=st.booleans(),
    leaves_per_tree=st.sampled_from([1, 4]),
)


@settings(max_examples=150, deadline=None)
@given(small_trees, configs, st.integers(0, 2**63))
def test_native_visits_are_those_of_the_definition(rules, config, seed):  # type: ignore[no-untyped-def]
    result = searched_alike(HashedTree(rules), config, seed).result
    if result.num_simulations < config.simulations and result.plies_left is None:
        assert result.foreseen is not None
    assert result.foreseen is None or (result.foreseen >= result.visits).all()


def test_an_easy_position_ends_its_search_early_and_a_hard_one_does_not() -> None:
    """Column 0 wins at once in the one; in the other, columns are as good as each other."""
    game = NativeConnectFour()
    easy, hard = game.parse_state("0 1 0 1 0 1"), game.initial_state()
    config = SearchConfig(simulations=400, stop_tolerance=0.1)
    found = [native_results(game, [(root, 0)], config, HashedEvaluator(7, 1), [0])[0] for root in (easy, hard)]
    assert found[0].num_simulations < 200 < found[1].num_simulations
    assert found[0].best_action == 0
    assert found[0].foreseen is not None
    assert found[0].foreseen.sum() == 400


def test_what_time_ends_is_not_foreseen() -> None:
    """Neither are a million simulations made up for those that a clock left no time for, nor is that time spent."""
    game = NativeConnectFour()
    config = SearchConfig(simulations=1_000_000, seconds=0.05, stop_tolerance=0.1)
    (result,) = native_results(game, [(game.initial_state(), 0)], config, UniformEvaluator(game.spec), [0])
    assert result.num_simulations < 1_000_000
    assert result.foreseen is None
    assert result.weights.sum() == result.visits.sum()


def test_the_visits_foreseen_are_nearly_those_of_the_whole_search() -> None:
    game = NativeConnectFour()
    root = game.parse_state("0 1 0 1 0 1")
    config = SearchConfig(simulations=400)
    early = config.model_copy(update={"stop_tolerance": 0.1})
    whole, ended = (native_results(game, [(root, 0)], c, HashedEvaluator(7, 1), [0])[0] for c in (config, early))
    assert ended.num_simulations < whole.num_simulations == 400
    assert np.abs(ended.policy(7) - whole.policy(7)).sum() < 0.1


def test_mean_values_stay_as_they_are() -> None:
    """Without priors' influence all further visits go to the best mean value; with it they spread."""
    known = ([10, 10, 0], [5.0, 2.0, 0.0], [0.2, 0.3, 0.5], [False, False, False])
    assert foreseen_visits(100, lambda _: 0.0, -1.0, *known) == [110, 10, 0]
    assert min(foreseen_visits(100, lambda visits: 2.0 * visits**0.5, -1.0, *known)) > 0
    assert foreseen_visits(10, lambda _: 0.0, -1.0, *known[:3], [True] * 3) == [10, 10, 0]


def test_a_search_ends_where_the_policy_is_that_of_half_as_many_simulations() -> None:
    rule = EarlyEnd(simulations=8, interval=1, least=3, tolerance=0.1)
    policies: list[list[float]] = []
    seen = iter([[1.0, 0.0], [0.5, 0.5], [0.9, 0.1], [0.47, 0.53]])
    assert [rule.look(n, policies, lambda _: next(seen)) for n in (1, 2, 3, 4)] == [False, False, False, True]


def test_what_cannot_be_foreseen_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected simulations with stop_tolerance=0\.1, which"):
        SearchConfig(stop_tolerance=0.1, simulations=None, nodes=100)
    with pytest.raises(ValueError, match="expected no stop_tolerance with root=gumbel"):
        SearchConfig(stop_tolerance=0.1, root="gumbel")
    with pytest.raises(ValueError, match=r"expected no forced_playouts with stop_tolerance=0\.1"):
        SearchConfig(stop_tolerance=0.1, forced_playouts=2.0)
    assert "stop_tolerance" not in SearchConfig().model_dump()


def test_a_search_kept_and_gone_on_with_looks_anew() -> None:
    game = NativeConnectFour()
    evaluator = UniformEvaluator(game.spec)
    config = SearchConfig(simulations=64, stop_tolerance=0.3, reuse=True)
    search = Search(game, config)
    root = game.parse_state("0 1 0 1 0")
    search.reset(game.views([(root, 1)]), [0])
    (first,) = search.run(evaluator)
    kept = search.keep()
    after = root.play([first.best_action])
    search.reset(game.views([(after, 0)]), [0], kept)
    (second,) = search.run(evaluator)
    assert second.num_simulations >= 0.2 * 64
