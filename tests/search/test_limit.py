"""A search that is let go on in steps."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from games_for_tests import HashedTree, TreeGame, TreeState

from moemcts.evaluation import RolloutEvaluator, UniformEvaluator
from moemcts.game import Action
from moemcts.plugins import plugins
from moemcts.search import Search, SearchConfig


def test_a_search_in_steps_is_the_search_at_once() -> None:
    game = plugins().game("chess")
    evaluator = UniformEvaluator(game.spec)
    roots = game.views([(game.initial_state(), 0)])
    search = Search(game, SearchConfig(simulations=100))
    search.reset(roots, [0])
    (at_once,) = search.run(evaluator)
    search.reset(roots, [0])
    for limit in range(7, 107, 7):
        search.limit(min(limit, 100))
        (stepwise,) = search.run(evaluator)
        assert stepwise.num_simulations == min(limit, 100)
    assert np.array_equal(at_once.visits, stepwise.visits)
    assert np.array_equal(at_once.values, stepwise.values)


def test_a_plan_for_all_simulations_does_not_change_where_they_come_in_steps() -> None:
    game = plugins().game("connect-four")
    evaluator = RolloutEvaluator(game.spec)
    roots = game.views([(game.initial_state(), 0)])
    search = Search(game, SearchConfig(root="gumbel", simulations=64, considered_actions=4, gumbel_noise=0.0))
    search.reset(roots, [0])
    (at_once,) = search.run(evaluator)
    search.reset(roots, [0])
    for limit in (1, 2, 4, 8, 64):
        search.limit(limit)
        (stepwise,) = search.run(evaluator)
    assert np.array_equal(at_once.visits, stepwise.visits)
    assert at_once.chosen == stepwise.chosen


def test_a_limit_holds_until_the_next_reset() -> None:
    game = plugins().game("connect-four")
    roots = game.views([(game.initial_state(), 0)])
    search = Search(game, SearchConfig(simulations=40))
    for limit, expected in ((10, 10), (None, 40)):
        search.reset(roots, [0])
        if limit is not None:
            search.limit(limit)
        assert search.run(UniformEvaluator(game.spec))[0].num_simulations == expected


def test_no_descent_begins_after_the_time_is_over_however_many_leaves_a_batch_has() -> None:
    """The second batch would take seconds."""
    begun: list[float] = []

    class Slow(TreeState):
        def play(self, actions: Sequence[Action]) -> Slow:
            begun.append(time.monotonic())
            if len(begun) > 50:
                time.sleep(0.05)
            return super().play(actions)

    game = HashedTree(TreeGame(seed=3, num_players=2, branching=80, depth=5, simultaneous=False))
    search = Search(game, SearchConfig(simulations=None, seconds=0.3, leaves_per_tree=50, first_play_urgency="draw"))
    search.reset(game.views([(Slow(game.rules), 0)]), [0])
    ended = time.monotonic() + 0.3
    search.run(UniformEvaluator(game.spec))
    # The clock may run out between the look at it and a move.
    assert sum(moment > ended for moment in begun) <= 1
