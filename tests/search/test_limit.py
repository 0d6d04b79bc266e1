"""A search that is let go on in steps."""

from __future__ import annotations

import numpy as np

from moemcts.evaluation import UniformEvaluator
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
