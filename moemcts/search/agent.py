"""An agent that plays by tree search."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from moemcts.agents import Decision, Policy, Seat, phases
from moemcts.coroutines import Coroutine, run_to_completion
from moemcts.evaluation import CachedEvaluator, Evaluator, is_batch_dependent
from moemcts.experts import ROUTINGS, ExpertSet
from moemcts.game import Game, Views, determinize_views
from moemcts.search.config import SearchConfig
from moemcts.search.engine import Search
from moemcts.search.opponents import Opponents
from moemcts.search.result import SearchResult
from moemcts.search.rollouts import TruncatedRollouts
from moemcts.search.selection import choose_move

MAX_IDLE_NODES = 10_000
"""Maximum tree size of a search that is kept for reuse by the next decision, to save allocations."""


class SearchAgent:
    """Plays the action with the most visits, or samples in proportion to visits.

    All views of a call are searched together and share batches, or one after the other if the evaluator's answers
    depend on the batch.
    """

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        config: SearchConfig,
        *,
        opponents: Opponents = None,
        queue: int | None = None,
        name: str = "search",
    ) -> None:
        """With `queue`, leaves are queued until there are that many for their expert, and then evaluated as one batch.

        Raises ValueError for a queue with an evaluator that is not an `ExpertSet`, with a routing that may use several
        experts per view, or with rollouts or a cache, and for a cache of an evaluator whose answers depend on the
        batch.
        """
        self.name = name
        self.config = config
        self._game = game
        self._evaluator = evaluator
        self._leaf_evaluator = evaluator
        if config.rollout_plies:
            self._leaf_evaluator = TruncatedRollouts(
                game, evaluator, config.rollout_plies, agents=opponents, uses_policy=config.uniform_share < 1
            )
        if config.cache_size:
            self._leaf_evaluator = CachedEvaluator(self._leaf_evaluator, size=config.cache_size)
        self._opponents = opponents
        self._queue = queue
        if queue is not None:
            _check_queued(evaluator)
        if queue is not None and queue < 1:
            raise ValueError(f"expected a queue's batch of at least 1 position, got {queue}")
        for option in ("rollout_plies", "cache_size"):
            if queue is not None and (number := getattr(config, option)):
                raise ValueError(f"expected no {option} with a queue, got {number}")
        self._idle: list[Search] = []
        """Idle searches, as many as have ever run at the same time, without large trees."""
        self.num_batches = 0
        self.num_evaluations = 0

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state to copy or pickle, without the idle searches, which can be neither copied nor resumed."""
        return {**self.__dict__, "_idle": []}

    def with_config(self, config: SearchConfig) -> SearchAgent:
        """Returns an agent with other settings that shares the evaluator, including rollouts and cache."""
        other = copy(self)
        other.config = config
        return other

    @property
    def game(self) -> Game:
        """The game that it searches."""
        return self._game

    @property
    def evaluator(self) -> Evaluator:
        return self._evaluator

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        return self.decide(views, seats, self.search(views, seats))

    def act_coroutine(self, views: Views, seats: Sequence[Seat]) -> Coroutine[Sequence[Decision]]:
        """Searches, and requests evaluations of the leaves of all trees in shared batches."""
        results = yield from self._search(views, seats, self._reusable_trees(seats))
        return self.decide(views, seats, results)

    def decide(self, views: Views, seats: Sequence[Seat], results: Sequence[SearchResult]) -> Sequence[Decision]:
        """Returns the decisions for each view, given the results of `search`."""
        plies = views.plies()
        decisions = []
        routes = phases(self._evaluator, views)
        for result, ply, seat, (phase, expert) in zip(results, plies, seats, routes, strict=True):
            action = choose_move(result, self.config, int(ply), seat.rng)
            chosen = int(np.flatnonzero(result.actions == action)[0])
            decisions.append(
                Decision(
                    action=action,
                    policy=Policy.of(result.actions, result.weights),
                    value=float(result.values[chosen] if result.visits[chosen] else result.value),
                    simulations=result.num_simulations,
                    nodes=result.num_nodes,
                    depth=result.max_depth,
                    phase=phase,
                    expert=expert,
                )
            )
        return decisions

    def search(self, views: Views, seats: Sequence[Seat]) -> list[SearchResult]:
        """Returns the search result for each view, before a move is chosen."""
        return run_to_completion(self._search(views, seats, self._reusable_trees(seats)))

    def search_coroutine(self, views: Views, seats: Sequence[Seat]) -> Coroutine[list[SearchResult]]:
        """Returns a coroutine with the result of `search`; several may run concurrently.

        It consumes the trees in the seats' memories, even if it raises.
        """
        return (yield from self._search(views, seats, [seat.memory for seat in seats]))

    def _reusable_trees(self, seats: Sequence[Seat]) -> list[Any]:
        """Returns the trees to reuse; copies if there are several, so that an error in one search leaves the trees of
        the others intact for asking again.
        """
        if len(seats) == 1 or not self.config.reuse:
            return [seat.memory for seat in seats]
        return [copy(seat.memory) for seat in seats]

    def _search(self, views: Views, seats: Sequence[Seat], trees: Sequence[Any]) -> Coroutine[list[SearchResult]]:
        if len(seats) > 1 and is_batch_dependent(self._evaluator):
            results: list[SearchResult] = []
            for row, seat in enumerate(seats):
                results += yield from self._search(views.take([row]), [seat], [trees[row]])
            return results
        seeds = [int(seat.rng.integers(2**63)) for seat in seats]
        roots = determinize_views(self._game, views, seeds)
        search = self._idle.pop() if self._idle else Search(self._game, self.config, opponents=self._opponents)
        search.reset(roots, seeds, trees if self.config.reuse else None)
        if isinstance(self._evaluator, ExpertSet) and self._queue is not None:
            results = yield from search.run_queued_coroutine(self._evaluator, batch_size=self._queue)
        else:
            results = yield from search.run_coroutine(self._leaf_evaluator)
        batches, evaluations = search.counts
        self.num_batches += batches
        self.num_evaluations += evaluations
        if self.config.reuse:
            for seat, tree in zip(seats, search.keep(), strict=True):
                seat.memory = tree
        # Otherwise, after an error or with a large tree, it is dropped, which frees its memory.
        if self.config.reuse or all(result.num_nodes <= MAX_IDLE_NODES for result in results):
            self._idle.append(search)
        return results


def _check_queued(evaluator: Evaluator) -> None:
    """Raises ValueError unless it is an expert set that evaluates each view with one expert, as a queue does."""
    if not isinstance(evaluator, ExpertSet):
        raise ValueError(f"expected a set of experts for a queue, got {type(evaluator).__name__}")
    if not evaluator.routing.is_top_one:
        fitting = " or ".join(name for name, routing in ROUTINGS.items() if routing.is_top_one)
        raise ValueError(
            f"expected a routing that asks one expert per view, {fitting}, with a queue, got {evaluator.routing.name}"
        )
