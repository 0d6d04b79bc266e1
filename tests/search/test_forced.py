"""Forced playouts: the native root is the definition's, and what was forced is not recommended."""

from __future__ import annotations

import numpy as np
import pytest
from games_for_tests import HashedTree, NativeConnectFour
from hypothesis import given, settings
from hypothesis import strategies as st
from searching_for_tests import (
    native_results,
    searched_alike,
    small_trees,
)

from moemcts.evaluation import UniformEvaluator
from moemcts.search import SearchConfig
from moemcts.search.forced import least_visits, pruned

configs = st.builds(
    SearchConfig,
    simulations=st.integers(1, 80),
    forced_playouts=st.sampled_from([0.5, 2.0, 8.0]),
    c_init=st.sampled_from([0.5, 2.5]),
    first_play_urgency=st.sampled_from(["loss", "draw", "reduction"]),
    noise_fraction=st.sampled_from([0.0, 0.25]),
    leaves_per_tree=st.sampled_from([1, 4]),
)


@settings(max_examples=100, deadline=None)
@given(small_trees, configs, st.integers(0, 2**63))
def test_native_visits_are_those_of_the_definition(rules, config, seed):  # type: ignore[no-untyped-def]
    result = searched_alike(HashedTree(rules), config, seed).result
    assert result.pruned is not None
    assert (result.pruned <= result.visits).all()
    assert result.pruned[result.visits.argmax()] == result.visits.max()


def test_tried_actions_are_visited_as_often_as_they_have_to_be() -> None:
    """With even priors of 1/7 and 400 simulations: sqrt(2 * 400 / 7) = 10.7, but for what came in the last ones."""
    game = NativeConnectFour()
    root = game.parse_state("0 1 0 1 0 1")
    config = SearchConfig(simulations=400, forced_playouts=2.0, c_init=0.1)
    (result,) = native_results(game, [(root, 0)], config, UniformEvaluator(game.spec), [0])
    (plain,) = native_results(
        game, [(root, 0)], config.model_copy(update={"forced_playouts": 0.0}), UniformEvaluator(game.spec), [0]
    )
    assert result.visits[result.visits > 0].min() >= 9
    assert result.best_action == plain.best_action == 0
    # The wins that column 0 gives are all that is left, or nearly so.
    assert result.policy(7)[0] > 0.95


def test_only_what_puct_would_not_have_chosen_is_taken_back() -> None:
    visits, priors = [60, 20, 15, 5], [0.4, 0.3, 0.2, 0.1]
    sums = [60 * 0.2, 20 * 0.1, 15 * -0.9, 5 * -0.9]
    left = pruned(2.0, 10.0, visits, sums, priors, [False] * len(visits))
    limit = 0.2 + 10 * 0.4 / 61
    assert left[0] == 60
    assert all(left[i] >= visits[i] - int(least_visits(2.0, priors[i], 100)) or left[i] == 0 for i in range(4))
    assert left[2] < 15
    for i in (1, 2, 3):
        if 1 < left[i] < visits[i]:
            assert sums[i] / visits[i] + 10 * priors[i] / (1 + left[i]) < limit
    assert pruned(0.0, 10.0, visits, sums, priors, [False] * len(visits)) == visits


def test_what_is_proven_to_lose_is_nothing_to_compare_with() -> None:
    visits, priors = [90, 4, 3, 3], [0.7, 0.15, 0.1, 0.05]
    sums = [90 * 0.2, 4 * -0.3, 3 * -0.3, 3 * 0.1]
    left = pruned(2.0, 20.0, visits, sums, priors, [True, False, False, False])
    assert left[1:] == pruned(2.0, 20.0, [0, *visits[1:]], [0.0, *sums[1:]], priors, [False] * 4)[1:]
    assert left[1] == 4


def test_the_gumbel_root_forces_nothing_more() -> None:
    with pytest.raises(ValueError, match="expected no forced_playouts with root=gumbel"):
        SearchConfig(root="gumbel", forced_playouts=2.0)
    assert "forced_playouts" not in SearchConfig().model_dump()
    assert np.isfinite(least_visits(2.0, 0.0, 100.0))
