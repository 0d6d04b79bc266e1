"""The search of one `go`, in a background thread."""

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
from moemcts_chess.uci.loading import Resources, one_line
from moemcts_chess.uci.pace import Pace
from moemcts_chess.uci.report import Reporter

DESCENTS_PER_CHECK = 512
"""Descents between two checks of the clock if none of them needs an evaluation."""
SECONDS_BETWEEN_CHECKS = 0.1
SECONDS_PER_TREE_NODE = 2e-6
"""Time per node to reroot a kept tree; 1.6 microseconds were measured."""
SHARE_FOR_TREE = 0.25
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
class SearchTask:
    """A position to search, with settings."""

    resources: Resources
    state: Any
    config: SearchConfig
    limits: Limits
    actions: Sequence[Action] | None = None
    """The only moves to consider; None for all."""
    is_raw: bool = False
    """Whether the move is chosen by the network's policy without a search."""
    seed: int = 0
    tree: Any = field(default=None, compare=False)
    """The tree of the previous search."""
    pace: Pace = field(default_factory=Pace, compare=False)
    """Estimates of batch times, updated by this search."""


class SearchThread:
    """Searches one position until a limit is reached or it is stopped; then prints the best move."""

    def __init__(self, task: SearchTask, reporter: Reporter, send: Callable[[str], None]) -> None:
        self._task = task
        self._reporter = reporter
        self._send = send
        self._stop = threading.Event()
        self._may_answer = threading.Event()
        self._has_answered = threading.Event()
        if not task.limits.waits:
            self._may_answer.set()
        self._started = time.monotonic()
        self._seconds = None if task.limits.waits else task.limits.seconds
        self._thread = threading.Thread(target=self._run, name="search", daemon=True)
        self.tree: Any = None
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
        tree, seconds_left = self._task.tree, self._seconds_left()
        if tree is None or seconds_left is None or tree.root_key == self._task.state.key():
            return tree
        return tree if tree.num_nodes * SECONDS_PER_TREE_NODE <= SHARE_FOR_TREE * seconds_left else None

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
            line = self._best_line()
        except Exception as error:
            # An engine without an answer loses its game, whatever went wrong.
            self._send(f"info string error: {one_line(error)}")
            line = self._any_move()
        self._may_answer.wait()
        # Set first, as the GUI may react to the move at once.
        self._has_answered.set()
        self._send(protocol.format_best_move(line))

    def _best_line(self) -> Sequence[str]:
        """Returns the best line, from tablebases, the network's policy, or a search."""
        task, state = self._task, self._task.state
        (player,) = state.active_players
        views = task.resources.game.views([(state, player)])
        self._send(f"info string {task.resources.phase(views)}")
        ranked = task.resources.tables.ranked(state) if task.resources.tables is not None else None
        actions = task.actions
        if ranked is not None:
            ranked = [move for move in ranked if actions is None or move.action in actions]
            if ranked[0].wdl != 0:
                return self._reporter.report_ranked(state, ranked, task.resources.tables, self._elapsed())
            # The tables do not distinguish between moves that keep a draw.
            actions = [move.action for move in ranked if move.wdl == 0]
            self._reporter.set_known_value(0.0)
        return self._best_by_policy(views, actions) if task.is_raw else self._search(views, actions)

    def _search(self, views: Any, actions: Sequence[Action] | None) -> Sequence[str]:
        task = self._task
        search = Search(task.resources.game, task.config)
        tree = self.affordable_tree() if actions is None else None
        search.reset(views, [task.seed], [tree], root_actions=None if actions is None else [actions])
        result = self.result = self._run_search(search)
        best = self._choose(result)
        line = self._reporter.report(task.state, search, result, self._elapsed(), first=best)
        if actions is None and task.limits.seconds != 0.0:
            # Without a search, the previous tree may still contain the next position.
            (self.tree,) = search.keep()
        return line

    def _run_search(self, search: Search) -> SearchResult:
        self._reporter.begin(search.results()[0])
        reported_at, reported_action = 0.0, -1
        for result in self._intermediate_results(search):
            if self._is_limit_reached(result):
                break
            is_new = result.best_action != reported_action
            if result.visits.any() and (is_new or self._elapsed() - reported_at >= SECONDS_BETWEEN_REPORTS):
                reported_at, reported_action = self._elapsed(), result.best_action
                self._reporter.report(self._task.state, search, result, reported_at)
        return search.results()[0]

    def _intermediate_results(self, search: Search) -> Iterator[SearchResult]:
        """Yields intermediate results until a limit is reached or the search is stopped."""
        checked_at = 0.0
        for _ in self._batches(search):
            if self._must_stop():
                return
            if self._task.limits.depth is not None or self._elapsed() - checked_at >= SECONDS_BETWEEN_CHECKS:
                checked_at = self._elapsed()
                yield search.results()[0]

    def _batches(self, search: Search) -> Iterator[None]:
        """Searches until the time is up; yields after every batch, and regularly during descents without one.

        Batches are as large as the time allows; if nothing has been searched yet, the first one is evaluated in any
        case.
        """
        max_size = self._task.config.leaves_per_tree
        limit, step = self._task.limits.simulations, max(DESCENTS_PER_CHECK, 4 * max_size)
        done, size = 0, self._affordable_size(max_size)
        if not size and not search.results()[0].visits.any():
            size = 1
        while size and done < limit:
            # Fewer descents than the size of a batch make a smaller batch.
            allowed = min(done + (step if size == max_size else size), limit)
            search.limit(allowed)
            next_size = size
            while next_size == size and self._evaluate_batch(search):
                yield
                next_size = self._affordable_size(max_size)
            done = search.results()[0].num_simulations
            if next_size == size and done < allowed:
                # The tree is full, or its root is proven.
                return
            size = self._affordable_size(max_size)
            yield

    def _affordable_size(self, max_size: int) -> int:
        """Returns the size of the next batch, at most `max_size`; 0 if there is no time for one."""
        pace, seconds = self._task.pace, self._task.limits.seconds
        if self._seconds is None and seconds is not None:
            # `ponderhit` may arrive during the batch, and the clock then runs until it ends.
            return max(1, pace.affordable_size(seconds, max_size))
        return pace.affordable_size(self._seconds_left(), max_size)

    def _evaluate_batch(self, search: Search) -> bool:
        """Evaluates the next leaves; returns whether there were any."""
        started = time.monotonic()
        views = search.select()
        if not len(views):
            return False
        search.backup(self._task.resources.evaluator.evaluate(views))
        self._task.pace.record(len(views), time.monotonic() - started)
        return True

    def _must_stop(self) -> bool:
        """Returns whether to stop now."""
        return self._stop.is_set() or (self._seconds is not None and self._elapsed() > self._seconds)

    def _seconds_left(self) -> float | None:
        """Returns the remaining seconds, or None without a time limit."""
        return None if self._seconds is None else self._seconds - self._elapsed()

    def _is_limit_reached(self, result: SearchResult) -> bool:
        limits = self._task.limits
        if limits.depth is not None and self._has_depth(result, limits.depth):
            return True
        if not limits.may_stop_early or self._seconds is None or not result.visits.any():
            # With only the root evaluated nothing is decided, however long that took.
            return False
        favourite = result.weights.argmax()
        if result.values[favourite] < result.values[result.visits > 0].max(initial=-1.0):
            # Another move has a higher value: it may be chosen for that, or overtake later.
            return False
        elapsed = max(self._elapsed(), 1e-3)
        seconds_left = max(self._seconds - elapsed, 0.0)
        return is_decided(result.weights.tolist(), result.num_simulations / elapsed * seconds_left)

    def _has_depth(self, result: SearchResult, depth: int) -> bool:
        """Returns whether the best line has at least `depth` moves, or ends the game after enough simulations."""
        line = result.principal_variation
        if len(line) >= depth:
            return True
        if result.num_simulations < ENOUGH_FOR_AN_END:
            return False
        state = self._task.state
        for joint in line:
            state = state.play(joint)
        return not state.active_players

    def _choose(self, result: SearchResult) -> Action:
        ply = self._task.state.ply
        return choose_move(result, self._task.config, ply, np.random.default_rng([self._task.seed, ply]))

    def _best_by_policy(self, views: Any, actions: Sequence[Action] | None) -> Sequence[str]:
        evaluation = self._task.resources.evaluator.evaluate(views)
        legal = views.legal_mask()
        if actions is not None:
            is_allowed = np.zeros_like(legal)
            is_allowed[0, list(actions)] = True
            legal &= is_allowed
        probabilities = policy_probabilities(evaluation.logits, legal)[0]
        value = float(np.ravel(evaluation.value)[0])
        return self._reporter.report_policy(self._task.state, probabilities, value, self._elapsed())

    def _any_move(self) -> Sequence[str]:
        state = self._task.state
        actions = self._task.actions or state.legal_actions(state.active_players[0])
        return [state.uci(int(actions[0]))]

    def _elapsed(self) -> float:
        return time.monotonic() - self._started
