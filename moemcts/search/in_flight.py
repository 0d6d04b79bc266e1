"""Trees in several groups: one group searches while the leaves of another are evaluated."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from moemcts.evaluation import Evaluation, Evaluator
from moemcts.game import Views
from moemcts.search.engine import Search
from moemcts.search.result import SearchResult


class SearchInFlight:
    """Searches trees like a `Search`, in groups whose batches are evaluated in turn by a thread of their own.

    Trees do not influence each other, so a group finds what it would find alone: results are those of one search, up to
    what an evaluator makes of batches of other sizes. Evaluator and trees both leave Python's lock while they work.
    """

    def __init__(self, make: Callable[[], Search], num_groups: int) -> None:
        """`make` makes the search of one group."""
        if num_groups < 2:
            raise ValueError(f"expected at least two groups, got {num_groups}")
        self._searches = [make() for _ in range(num_groups)]
        self._groups: list[range] = []

    def reset(self, roots: Views, seeds: Sequence[int], kept: Sequence[Any] | None = None) -> None:
        """Starts a search from each root, as `Search.reset` does."""
        bounds = np.linspace(0, len(roots), min(len(self._searches), max(len(roots), 1)) + 1).astype(int).tolist()
        self._groups = [range(start, stop) for start, stop in itertools.pairwise(bounds)]
        for search, rows in zip(self._searches, self._groups, strict=False):
            trees = None if kept is None else [kept[row] for row in rows]
            search.reset(roots.take(list(rows)), [seeds[row] for row in rows], trees)

    def run(self, evaluator: Evaluator) -> list[SearchResult]:
        """Searches until every tree has met a limit."""
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="evaluator") as thread:
            flying: deque[tuple[Search, Future[Evaluation]]] = deque()

            def select(search: Search) -> None:
                if len(views := search.select()):
                    flying.append((search, thread.submit(evaluator.evaluate, views)))

            try:
                for search in self._active:
                    select(search)
                while flying:
                    search, evaluation = flying.popleft()
                    search.backup(evaluation.result())
                    select(search)
            finally:
                # Whoever interrupts a search may start another: nothing is evaluated behind its back.
                for _, evaluation in flying:
                    evaluation.cancel()
                wait([evaluation for _, evaluation in flying if not evaluation.cancelled()])
        return self.results()

    def results(self) -> list[SearchResult]:
        """Returns the statistics of each root."""
        return [result for search in self._active for result in search.results()]

    def keep(self) -> list[Any]:
        """Hands out the trees, for a later `reset`."""
        return [tree for search in self._active for tree in search.keep()]

    @property
    def counts(self) -> tuple[int, int]:
        """Batches and views selected since the last reset."""
        counts = [search.counts for search in self._active]
        return sum(batches for batches, _ in counts), sum(views for _, views in counts)

    @property
    def _active(self) -> list[Search]:
        return self._searches[: len(self._groups)]
