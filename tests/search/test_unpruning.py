"""Progressive unpruning: the native tree is the definition's, and goes on with few actions until visits allow more."""

from __future__ import annotations

import numpy as np
import pytest
from games_for_tests import HashedTree, NativeConnectFour
from hypothesis import given, settings
from hypothesis import strategies as st
from searching_for_tests import HashedEvaluator, native_results, searched_alike, small_trees

from moemcts.evaluation import UniformEvaluator
from moemcts.search import SearchConfig
from moemcts.search.unpruning import Unpruning, thresholds

configs = st.builds(
    SearchConfig,
    simulations=st.integers(1, 120),
    pruning_visits=st.sampled_from([1, 3, 10]),
    unpruned_actions=st.integers(1, 3),
    unpruning_visits=st.sampled_from([0.5, 8.0, 20.0]),
    unpruning_factor=st.sampled_from([1.3, 2.0]),
    first_play_urgency=st.sampled_from(["loss", "draw", "reduction"]),
    noise_fraction=st.sampled_from([0.0, 0.25]),
    forced_playouts=st.sampled_from([0.0, 2.0]),
    solver=st.booleans(),
    leaves_per_tree=st.sampled_from([1, 4]),
)


@settings(max_examples=100, deadline=None)
@given(small_trees, configs, st.integers(0, 2**63))
def test_native_visits_are_those_of_the_definition(rules, config, seed):  # type: ignore[no-untyped-def]
    searched_alike(HashedTree(rules), config, seed)


def test_a_pruned_root_tries_as_many_actions_as_its_visits_allow() -> None:
    """Two columns are left after two visits; the third comes with the 21st, the fourth with the 41st."""
    game = NativeConnectFour()
    root = game.initial_state()
    evaluator = HashedEvaluator(7, 1)
    fields = {"pruning_visits": 2, "unpruned_actions": 2, "unpruning_visits": 20.0, "unpruning_factor": 2.0}

    def tried(simulations: int, **options: float) -> int:
        config = SearchConfig(simulations=simulations, c_init=50.0, policy_temperature=10.0, **options)
        (result,) = native_results(game, [(root, 0)], config, evaluator, [0])
        order = np.argsort(-result.priors, kind="stable")
        num_tried = int((result.visits > 0).sum())
        assert set(np.flatnonzero(result.visits)) == set(order[:num_tried])
        return num_tried

    assert [tried(n, **fields) for n in (20, 21, 40, 41)] == [2, 3, 3, 4]
    assert tried(40) == 7


def test_actions_proven_to_lose_do_not_keep_others_pruned() -> None:
    """All columns but the last lose at once: whoever goes on with one action still finds the one that does not."""
    game = NativeConnectFour()
    root = game.parse_state("6 0 6 0 5 0")
    config = SearchConfig(simulations=400, solver=True, pruning_visits=1, unpruned_actions=1, unpruning_visits=1e9)
    (result,) = native_results(game, [(root, 0)], config, UniformEvaluator(game.spec), [0])
    assert result.best_action == 0


def test_thresholds_are_those_of_the_paper() -> None:
    rule = Unpruning(visits=40, actions=5, thresholds=thresholds(50.0, 1.3))
    assert [rule.width(visits) for visits in (39, 40, 50, 51, 65, 66, 85)] == [None, 5, 5, 6, 6, 7, 8]


def test_what_prunes_nothing_is_not_written() -> None:
    assert "pruning_visits" not in SearchConfig().model_dump()
    assert SearchConfig().options(NativeConnectFour().spec)["unpruning"] is None
    with pytest.raises(ValueError, match=r"greater than or equal to 1\.01"):
        SearchConfig(pruning_visits=40, unpruning_factor=1.0)
