"""One `go`: a search in a background thread, from the first report to the move."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from moemcts.evaluation import policy_probabilities
from moemcts.game import Action
from moemcts.search import Search, SearchConfig, SearchResult
from moemcts.search.selection import choose_move
from moemcts_chess.uci import protocol
from moemcts_chess.uci.clock import is_decided
from moemcts_chess.uci.loading import Knowledge, one_line
from moemcts_chess.uci.pace import Pace
from moemcts_chess.uci.report import Reporter

DESCENTS_PER_LOOK = 512
"""Descents between two checks of the clock if none of them needs an evaluation."""
SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_PER_KEPT_NODE = 2e-6
"""Time per node to reroot a kept tree; 1.6 microseconds were measured."""
SHARE_FOR_KEPT = 0.25
"""Maximum share of the time for a move that rerooting may take."""
SECONDS_BETWEEN_REPORTS = 1.0
"""Time between reports while the best move stays the same."""
ENOUGH_FOR_AN_END = 1000
"""Simulations after which a best line that ends the game satisfies any depth limit, as it cannot get longer."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a search, which ends at the first one reached."""

    nodes: int
    simulations: int
    seconds: float | None = None
    """Counted from `go` or `ponderhit`."""
    depth: int | None = None
    waits: bool = False
    """Whether the move is printed only after `stop` or `ponderhit`."""
    may_stop_early: bool = False
    """Whether the search ends once no other move can become the most visited one."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A position to search, with settings."""

    knowledge: Knowledge
    state: Any
    config: SearchConfig
    limits: Limits
    actions: Sequence[Action] | None = None
    """The only moves to consider; None for all."""
    is_raw: bool = False
    """Whether the move is chosen by the network's policy without a search."""
    seed: int = 0
    kept: Any = field(default=None, compare=False)
    """The tree of the previous search."""
    pace: Pace = field(default_factory=Pace, compare=False)
    """Estimates of batch times, updated by this search."""


class Thinking:
    """Searches one position until a limit is reached or it is stopped; then prints the best move."""

    def __init__(self, task: Task, reporter: Reporter, say: Callable[[str], None]) -> None:
        self._task = task
        self._reporter = reporter
        self._say = say
        self._stop = threading.Event()
        self._may_answer = threading.Event()
        self._has_answered = threading.Event()
        if not task.limits.waits:
            self._may_answer.set()
        self._started = time.monotonic()
        self._seconds = None if task.limits.waits else task.limits.seconds
        self._thread = threading.Thread(target=self._run, name="search", daemon=True)
        self.kept: Any = None
        """The tree for the next search of the game; set at the end."""
        self.result: SearchResult | None = None
        """The search result of the root; set at the end."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Requests an immediate answer."""
        self._stop.set()
        self._may_answer.set()

    def ponderhit(self) -> None:
        """Starts the clock: the move pondered on was played."""
        if self._task.limits.seconds is not None and self._seconds is None:
            self._seconds = time.monotonic() - self._started + self._task.limits.seconds
        self._may_answer.set()

    def affordable_tree(self) -> Any:
        """Returns the tree of the previous search if there is time to continue it, otherwise None.

        Rerooting at a move takes time; continuing from the same root does not.
        """
        kept, left = self._task.kept, self._left()
        if kept is None or left is None or kept.root_key == self._task.state.key():
            return kept
        return kept if kept.num_nodes * SECONDS_PER_KEPT_NODE <= SHARE_FOR_KEPT * left else None

    def wait(self) -> None:
        """Waits until the move has been printed."""
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def state(self) -> Any:
        """The position."""
        return self._task.state

    @property
    def is_over(self) -> bool:
        """Whether the move has been printed, or is about to be."""
        return self._has_answered.is_set()

    def _run(self) -> None:
        line: Sequence[str] = ()
        try:
            line = self._think()
        except Exception as error:
            # An engine without an answer loses its game, whatever went wrong.
            self._say(f"info string error: {one_line(error)}")
            line = self._any_move()
        self._may_answer.wait()
        # Set first, as the GUI may react to the move at once.
        self._has_answered.set()
        self._say(protocol.best_move(line))

    def _think(self) -> Sequence[str]:
        task, state = self._task, self._task.state
        (player,) = state.active_players
        views = task.knowledge.game.views([(state, player)])
        self._say(f"info string {task.knowledge.phase(views)}")
        ranked = task.knowledge.tables.ranked(state) if task.knowledge.tables is not None else None
        actions = task.actions
        if ranked is not None:
            ranked = [move for move in ranked if actions is None or move.action in actions]
            if ranked[0].wdl != 0:
                return self._reporter.tell_ranked(state, ranked, task.knowledge.tables, self._elapsed())
            # The tables do not distinguish between moves that keep a draw.
            actions = [move.action for move in ranked if move.wdl == 0]
            self._reporter.know(0.0)
        return self._policy_move(views, actions) if task.is_raw else self._search(views, actions)

    def _search(self, views: Any, actions: Sequence[Action] | None) -> Sequence[str]:
        task = self._task
        search = Search(task.knowledge.game, task.config)
        kept = self.affordable_tree() if actions is None else None
        search.reset(views, [task.seed], [kept], root_actions=None if actions is None else [actions])
        result = self.result = self._run_search(search)
        best = self._chosen(result)
        line = self._reporter.tell(task.state, search, result, self._elapsed(), first=best)
        if actions is None and task.limits.seconds != 0.0:
            # Without a search, the previous tree may still contain the next position.
            (self.kept,) = search.keep()
        return line

    def _run_search(self, search: Search) -> SearchResult:
        self._reporter.begin(search.results()[0])
        told_at, told = 0.0, -1
        for result in self._looks(search):
            if self._is_reached(result):
                break
            is_news = result.best_action != told
            if result.visits.any() and (is_news or self._elapsed() - told_at >= SECONDS_BETWEEN_REPORTS):
                told_at, told = self._elapsed(), result.best_action
                self._reporter.tell(self._task.state, search, result, told_at)
        return search.results()[0]

    def _looks(self, search: Search) -> Iterator[SearchResult]:
        """Yields intermediate results until a limit is reached or the search is stopped."""
        looked_at = 0.0
        for _ in self._batches(search):
            if self._is_due():
                return
            if self._task.limits.depth is not None or self._elapsed() - looked_at >= SECONDS_BETWEEN_LOOKS:
                looked_at = self._elapsed()
                yield search.results()[0]

    def _batches(self, search: Search) -> Iterator[None]:
        """Searches until the time is up; yields after every batch, and regularly during descents without one.

        Batches are as large as the time allows; if nothing has been searched yet, the first one is evaluated in any
        case.
        """
        most = self._task.config.leaves_per_tree
        limit, step = self._task.limits.simulations, max(DESCENTS_PER_LOOK, 4 * most)
        done, size = 0, self._fitting(most)
        if not size and not search.results()[0].visits.any():
            size = 1
        while size and done < limit:
            # Fewer descents than the size of a batch make a smaller batch.
            allowed = min(done + (step if size == most else size), limit)
            search.limit(allowed)
            fitting = size
            while fitting == size and self._evaluate_batch(search):
                yield
                fitting = self._fitting(most)
            done = search.results()[0].num_simulations
            if fitting == size and done < allowed:
                # The tree is full, or its root is proven.
                return
            size = self._fitting(most)
            yield

    def _fitting(self, most: int) -> int:
        """Returns the size of the next batch, at most `most`; 0 if there is no time for one."""
        pace, to_come = self._task.pace, self._task.limits.seconds
        if self._seconds is None and to_come is not None:
            # `ponderhit` may arrive during the batch, and the clock then runs until it ends.
            return max(1, pace.fitting(to_come, most))
        return pace.fitting(self._left(), most)

    def _evaluate_batch(self, search: Search) -> bool:
        """Evaluates the next leaves; returns whether there were any."""
        began = time.monotonic()
        views = search.select()
        if not len(views):
            return False
        search.backup(self._task.knowledge.evaluator.evaluate(views))
        self._task.pace.record(len(views), time.monotonic() - began)
        return True

    def _is_due(self) -> bool:
        """Returns whether to stop now."""
        return self._stop.is_set() or (self._seconds is not None and self._elapsed() > self._seconds)

    def _left(self) -> float | None:
        """Returns the remaining seconds, or None without a time limit."""
        return None if self._seconds is None else self._seconds - self._elapsed()

    def _is_reached(self, result: SearchResult) -> bool:
        limits = self._task.limits
        if limits.depth is not None and self._is_so_long(result, limits.depth):
            return True
        if not limits.may_stop_early or self._seconds is None or not result.visits.any():
            # With only the root evaluated nothing is decided, however long that took.
            return False
        favourite = result.weights.argmax()
        if result.values[favourite] < result.values[result.visits > 0].max(initial=-1.0):
            # Another move has a higher value: it may be chosen for that, or overtake later.
            return False
        elapsed = max(self._elapsed(), 1e-3)
        left = max(self._seconds - elapsed, 0.0)
        return is_decided(result.weights.tolist(), result.num_simulations / elapsed * left)

    def _is_so_long(self, result: SearchResult, depth: int) -> bool:
        """Returns whether the best line has at least `depth` moves, or ends the game after enough simulations."""
        line = result.principal_variation
        if len(line) >= depth or result.num_simulations < ENOUGH_FOR_AN_END:
            return len(line) >= depth
        state = self._task.state
        for joint in line:
            state = state.play(joint)
        return not state.active_players

    def _chosen(self, result: SearchResult) -> Action:
        ply = self._task.state.ply
        return choose_move(result, self._task.config, ply, np.random.default_rng([self._task.seed, ply]))

    def _policy_move(self, views: Any, actions: Sequence[Action] | None) -> Sequence[str]:
        evaluation = self._task.knowledge.evaluator.evaluate(views)
        legal = views.legal_mask()
        if actions is not None:
            wanted = np.zeros_like(legal)
            wanted[0, list(actions)] = True
            legal &= wanted
        probabilities = policy_probabilities(evaluation.logits, legal)[0]
        value = float(np.ravel(evaluation.value)[0])
        return self._reporter.tell_policy(self._task.state, probabilities, value, self._elapsed())

    def _any_move(self) -> Sequence[str]:
        state = self._task.state
        actions = self._task.actions or state.legal_actions(state.active_players[0])
        return [state.uci(int(actions[0]))]

    def _elapsed(self) -> float:
        return time.monotonic() - self._started
