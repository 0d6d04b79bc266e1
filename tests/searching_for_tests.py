"""Runs the native search and the reference search side by side."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from games_for_tests import TreeGame
from hypothesis import strategies as st

from moemcts.evaluation import Evaluation
from moemcts.game import Game, State, Views
from moemcts.search import Search, SearchConfig, SearchResult
from moemcts.search.reference import ReferenceSearch

small_trees = st.builds(
    TreeGame,
    seed=st.integers(0, 1000),
    num_players=st.integers(1, 3),
    branching=st.integers(1, 6),
    depth=st.integers(2, 7),
    simultaneous=st.booleans(),
    has_chance=st.booleans(),
)
"""Rules of random games for tests in which only the configuration varies."""
varied_trees = st.builds(
    TreeGame,
    seed=st.integers(0, 1000),
    num_players=st.integers(1, 4),
    branching=st.integers(1, 5),
    depth=st.integers(1, 7),
    simultaneous=st.booleans(),
    has_chance=st.booleans(),
    has_rewards=st.booleans(),
    has_outs=st.booleans(),
    discount=st.sampled_from([1.0, 0.9]),
)
"""Rules of random games of all kinds."""


class HashedEvaluator:
    """Random but reproducible evaluations: logits and values computed from the observation planes."""

    def __init__(self, num_actions: int, num_values: int) -> None:
        rng = np.random.default_rng(5)
        self.num_values = num_values
        self.weights = rng.standard_normal((1000, num_actions + num_values)).astype(np.float32)

    def evaluate_planes(self, planes: np.ndarray) -> Evaluation:
        flat = planes.reshape(len(planes), -1)
        out = np.sin(flat @ self.weights[: flat.shape[1]]).astype(np.float32)
        value = out[:, : self.num_values]
        return Evaluation(out[:, self.num_values :] * 3, value[:, 0] if self.num_values == 1 else value)

    def evaluate(self, views: Views) -> Evaluation:
        # Row by row, so that the batch size cannot change a bit of the result.
        rows = [self.evaluate_planes(planes[None]) for planes in views.observations()]
        return Evaluation(np.concatenate([r.logits for r in rows]), np.concatenate([r.value for r in rows]))


def reference_visits(game: Game, root, config, evaluator, seed, opponents=None, root_actions=None):  # type: ignore[no-untyped-def]
    search = ReferenceSearch(game.spec, config, root, seed=seed, opponents=opponents, root_actions=root_actions)
    run_reference(search, game, evaluator)
    return search


def run_reference(search: ReferenceSearch, game: Game[Any], evaluator: HashedEvaluator) -> None:
    """Searches with the reference until it reaches a limit."""
    while pairs := search.select():
        search.backup(evaluator.evaluate(game.views(pairs)))


def native_results(game: Game, roots, config, evaluator, seeds, opponents=None, root_actions=None):  # type: ignore[no-untyped-def]
    search = Search(game, config, opponents=opponents)
    search.reset(game.views(roots), seeds, root_actions=root_actions)
    return search.run(evaluator)


class Searched(NamedTuple):
    """A position searched by both implementations."""

    root: State
    player: int
    evaluator: HashedEvaluator
    expected: ReferenceSearch
    result: SearchResult


def searched_alike(
    game: Game[Any], config: SearchConfig, seed: int, *, root: Any = None, num_values: int = 1
) -> Searched:
    """Searches the start of a game, or another root, with both implementations; checks that their visits are equal."""
    root = root or game.initial_state()
    player = root.active_players[-1]
    evaluator = HashedEvaluator(game.spec.num_actions, num_values)
    expected = reference_visits(game, root, config, evaluator, seed)
    (result,) = native_results(game, [(root, player)], config, evaluator, [seed])
    assert dict(zip(result.actions, result.visits, strict=True)) == expected.visits(player)
    return Searched(root, player, evaluator, expected, result)
