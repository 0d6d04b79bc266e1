"""The agent that searches before it moves."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from moemcts.agents import Decision, Policy, Seat, phases
from moemcts.evaluation import CachedEvaluator, Evaluator, looks_at_batches
from moemcts.experts import ROUTINGS, ExpertSet
from moemcts.game import Game, Views, perceived
from moemcts.search.config import SearchConfig
from moemcts.search.engine import Search
from moemcts.search.opponents import Opponents
from moemcts.search.result import SearchResult
from moemcts.search.rollouts import TruncatedRollouts
from moemcts.search.selection import choose_move
from moemcts.thoughts import Thought, think

MOST_IDLE_NODES = 10_000
"""Nodes of the largest tree of a search that is kept for the next decision, which then need not ask for memory."""


class SearchAgent:
    """Plays what the search visits most, or draws from the visits.

    All positions it is asked about at once are searched together and share batches; one after the other where what an
    evaluator says of a leaf depends on its batch.
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
        """With `queue`, leaves wait until so many have come together for their expert; experts evaluate them then.

        Raises ValueError for a queue of an evaluator that is no set of experts, of a set in which not every view asks
        one expert, or with rollouts or a cache, and for a cache of an evaluator whose answers depend on their batch.
        """
        self.name = name
        self.config = config
        self._game = game
        self._evaluator = evaluator
        self._valued_by = evaluator
        if config.rollout_plies:
            self._valued_by = TruncatedRollouts(
                game, evaluator, config.rollout_plies, agents=opponents, hears_policy=config.uniform_share < 1
            )
        if config.cache_size:
            self._valued_by = CachedEvaluator(self._valued_by, size=config.cache_size)
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
        """One for each thought that there was at once, with no large trees."""
        self.num_batches = 0
        self.num_evaluations = 0

    def __getstate__(self) -> dict[str, Any]:
        """Returns what copies are made of; searches cannot be copied, and nothing in them is gone on with."""
        return {**self.__dict__, "_idle": []}

    def searching_by(self, config: SearchConfig) -> SearchAgent:
        """Returns an agent that searches by other numbers and asks the same evaluator, rollouts and cache included."""
        other = copy(self)
        other.config = config
        return other

    @property
    def game(self) -> Game:
        """What it searches."""
        return self._game

    @property
    def evaluator(self) -> Evaluator:
        return self._evaluator

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        return self.decide(views, seats, self.think(views, seats))

    def thought(self, views: Views, seats: Sequence[Seat]) -> Thought[Sequence[Decision]]:
        """Searches, and asks about the leaves of all trees at once."""
        results = yield from self._searching(views, seats, self._remembered(seats))
        return self.decide(views, seats, results)

    def decide(self, views: Views, seats: Sequence[Seat], results: Sequence[SearchResult]) -> Sequence[Decision]:
        """Returns the decisions that follow from what `think` found out about each view."""
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

    def think(self, views: Views, seats: Sequence[Seat]) -> list[SearchResult]:
        """Returns what the search found out about each view, before a move is chosen."""
        return think(self._searching(views, seats, self._remembered(seats)))

    def searching(self, views: Views, seats: Sequence[Seat]) -> Thought[list[SearchResult]]:
        """Asks for the evaluations of a search and returns the results that `think` does; several may be under way.

        Trees that seats remember are used up, also where an error ends it.
        """
        return (yield from self._searching(views, seats, [seat.memory for seat in seats]))

    def _remembered(self, seats: Sequence[Seat]) -> list[Any]:
        """Returns the trees to go on with: copies where there are several, so that what goes wrong in one search leaves
        the others' trees as they were. They are asked for again then.
        """
        if len(seats) == 1 or not self.config.reuse:
            return [seat.memory for seat in seats]
        return [copy(seat.memory) for seat in seats]

    def _searching(self, views: Views, seats: Sequence[Seat], kept: Sequence[Any]) -> Thought[list[SearchResult]]:
        if len(seats) > 1 and looks_at_batches(self._evaluator):
            alone: list[SearchResult] = []
            for row, seat in enumerate(seats):
                alone += yield from self._searching(views.take([row]), [seat], [kept[row]])
            return alone
        seeds = [int(seat.rng.integers(2**63)) for seat in seats]
        roots = perceived(self._game, views, seeds)
        search = self._idle.pop() if self._idle else Search(self._game, self.config, opponents=self._opponents)
        search.reset(roots, seeds, kept if self.config.reuse else None)
        if isinstance(self._evaluator, ExpertSet) and self._queue is not None:
            results = search.run_queued(self._evaluator, batch_size=self._queue)
        else:
            results = yield from search.thought(self._valued_by)
        batches, evaluations = search.counts
        self.num_batches += batches
        self.num_evaluations += evaluations
        if self.config.reuse:
            for seat, tree in zip(seats, search.keep(), strict=True):
                seat.memory = tree
        # One that met an error, or has grown large, gives its memory back.
        if self.config.reuse or all(result.num_nodes <= MOST_IDLE_NODES for result in results):
            self._idle.append(search)
        return results


def _check_queued(evaluator: Evaluator) -> None:
    """Raises ValueError unless it is a set of experts of which every view asks one, as a queue does."""
    if not isinstance(evaluator, ExpertSet):
        raise ValueError(f"expected a set of experts for a queue, got {type(evaluator).__name__}")
    if not evaluator.routing.asks_one_each:
        fitting = " or ".join(name for name, one in ROUTINGS.items() if one.asks_one_each)
        raise ValueError(
            f"expected experts of which every view asks one, {fitting}, with a queue, got {evaluator.routing.name}"
        )
