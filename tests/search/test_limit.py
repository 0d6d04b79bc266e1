"""A search that is let go on in steps."""

from __future__ import annotations

import numpy as np

from moemcts.evaluation import RolloutEvaluator, UniformEvaluator
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
