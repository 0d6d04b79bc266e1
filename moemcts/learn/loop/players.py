"""The self-play agent: it searches a share of its moves in full, to learn from, and the others quickly."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from moemcts.agents import Decision, Policy, Seat
from moemcts.coroutines import Coroutine, run_to_completion
from moemcts.evaluation import Evaluation, Evaluator, EvaluatorWrapper
from moemcts.game import Game, Views
from moemcts.search import SearchAgent, SearchConfig
from moemcts.search.opponents import Opponents
from moemcts.search.result import SearchResult
from moemcts.search.selection import choose_move


@dataclass
class Usage:
    """Evaluated batches and positions, and how long they took."""

    num_batches: int = 0
    num_positions: int = 0
    seconds: float = 0.0


class TimedEvaluator(EvaluatorWrapper):
    """An evaluator that measures its usage."""

    def __init__(self, evaluator: Evaluator, usage: Usage) -> None:
        super().__init__(evaluator)
        self._usage = usage

    def evaluate(self, views: Views) -> Evaluation:
        started = time.perf_counter()
        evaluation = self._evaluator.evaluate(views)
        self._usage.seconds += time.perf_counter() - started
        self._usage.num_batches += 1
        self._usage.num_positions += len(views)
        return evaluation


class SelfPlayAgent:
    """Searches moves, a share of them in full; decisions of the others have no policy and are not learned from.

    A forced move is not searched, has no value and draws no random numbers, unless its tree is kept for the next one.
    """

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        config: SearchConfig,
        *,
        full_share: float = 1.0,
        fast_simulations: int | None = None,
        opponents: Opponents = None,
        name: str = "self-player",
    ) -> None:
        """A quick search has `fast_simulations`, by default a quarter of a full one's, no noise and no forced playouts.

        Both share one evaluator, and so its cache if it has one. Raises ValueError if quick searches have no
        `fast_simulations` and full ones no limit of simulations.
        """
        self.name = name
        self._config = config
        self._full_share = full_share
        self._full = SearchAgent(game, evaluator, config, opponents=opponents, name=name)
        self._fast = self._full
        if full_share < 1:
            if fast_simulations is None and config.simulations is None:
                raise ValueError("expected fast_simulations for a search without simulations, got none")
            few = fast_simulations or max(1, (config.simulations or 0) // 4)
            self._fast = self._full.with_config(without_noise(config, simulations=few))

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        return run_to_completion(self.act_coroutine(views, seats))

    def act_coroutine(self, views: Views, seats: Sequence[Seat]) -> Coroutine[Sequence[Decision]]:
        """Runs full searches first, then quick ones."""
        decisions = {} if self._config.reuse else _forced_decisions(views)
        full, fast = list[int](), list[int]()
        for row, seat in enumerate(seats):
            if row not in decisions:
                is_full = self._full_share == 1 or seat.rng.random() < self._full_share
                (full if is_full else fast).append(row)
        for agent, rows, is_full in ((self._full, full, True), (self._fast, fast, False)):
            if rows:
                chosen_views, chosen_seats = views.take(rows), [seats[row] for row in rows]
                results = yield from agent.search_coroutine(chosen_views, chosen_seats)
                for row, result, ply, seat in zip(rows, results, chosen_views.plies(), chosen_seats, strict=True):
                    decisions[row] = self._decision(result, int(ply), seat, is_full=is_full)
        return [decisions[row] for row in range(len(seats))]

    def _decision(self, result: SearchResult, ply: int, seat: Seat, *, is_full: bool) -> Decision:
        return Decision(
            action=choose_move(result, self._config, ply, seat.rng),
            policy=Policy.of(result.actions, result.weights) if is_full else None,
            # The position's value, not the chosen action's, as moves that are drawn may be bad ones.
            value=float(result.value),
            simulations=result.num_simulations,
            nodes=result.num_nodes,
            depth=result.max_depth,
        )


def without_noise(search: SearchConfig, **changes: Any) -> SearchConfig:
    """Returns a search with these settings, without noise and forced playouts.

    These only serve learning; forced playouts give noise a chance (as in KataGo, Wu 2019).
    """
    return search.model_copy(update={"noise_fraction": 0.0, "gumbel_noise": 0.0, "forced_playouts": 0.0, **changes})


def _forced_decisions(views: Views) -> dict[int, Decision]:
    """Returns the decisions for the views with one legal action, by row."""
    legal = views.legal_mask()
    rows = np.flatnonzero(legal.sum(axis=1) == 1)
    return {int(row): Decision(action=int(legal[row].argmax())) for row in rows}
