"""Coroutines that yield evaluation requests, so that several searches can make progress at the same time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

from moemcts.cancellation import check_cancelled
from moemcts.evaluation import Evaluation, Evaluator
from moemcts.game import Views

T = TypeVar("T")
K = TypeVar("K")
EvaluationRequest = tuple[Evaluator, Views]
"""An evaluator and the views that it is to evaluate."""
Coroutine = Generator[EvaluationRequest, Evaluation, T]
"""A generator that yields evaluation requests, is sent the evaluations, and returns a result."""


def run_to_completion(coroutine: Coroutine[T]) -> T:
    """Runs a coroutine and returns its result; each request is evaluated before the coroutine resumes.

    Raises Cancelled before a request if the work has been cancelled.
    """
    try:
        request = next(coroutine)
        while True:
            evaluator, views = request
            check_cancelled()
            try:
                evaluation = evaluator.evaluate(views)
            except Exception as error:
                request = coroutine.throw(error)
            else:
                request = coroutine.send(evaluation)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        coroutine.close()


class CoroutineRunner(Generic[K, T]):
    """Runs several coroutines concurrently: while a background thread evaluates for one of them, another one runs.

    Requests are evaluated one at a time, in the order in which they are made, and coroutines resume in the same order,
    so that the order of events does not depend on timing. Evaluators and searches release the GIL while they work. On
    exit from the context, pending evaluations are cancelled or awaited and all coroutines closed.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="evaluator")
        self._suspended: deque[_Suspended[K, T]] = deque()
        self._finished: deque[tuple[K, T]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for _, _, evaluation in self._suspended:
            evaluation.cancel()
        # Whatever interrupts this may start other work: no evaluation continues in the background.
        wait([evaluation for _, _, evaluation in self._suspended if not evaluation.cancelled()])
        self._thread.shutdown()
        for _, coroutine, _ in self._suspended:
            coroutine.close()

    def __len__(self) -> int:
        """The number of coroutines whose results `next_result` has not returned yet."""
        return len(self._suspended) + len(self._finished)

    def start(self, key: K, coroutine: Coroutine[T]) -> None:
        """Runs a coroutine to its first request; `next_result` returns `key` with its result."""
        self._advance(key, coroutine, partial(next, coroutine))

    def next_result(self) -> tuple[K, T]:
        """Returns the key and the result of the next coroutine that finishes.

        Raises the coroutine's exception, IndexError if there is none, Cancelled if the work has been cancelled.
        """
        while not self._finished:
            check_cancelled()
            key, coroutine, evaluation = self._suspended.popleft()
            error = evaluation.exception()
            if error is None:
                self._advance(key, coroutine, partial(coroutine.send, evaluation.result()))
            else:
                self._advance(key, coroutine, partial(coroutine.throw, error))
        return self._finished.popleft()

    def _advance(self, key: K, coroutine: Coroutine[T], resume: Callable[[], EvaluationRequest]) -> None:
        """Resumes a coroutine and submits its next request, or stores its result."""
        try:
            evaluator, views = resume()
        except StopIteration as end:
            self._finished.append((key, end.value))
            return
        self._suspended.append(_Suspended(key, coroutine, self._thread.submit(evaluator.evaluate, views)))


class _Suspended(NamedTuple, Generic[K, T]):
    """A coroutine that waits for an evaluation."""

    key: K
    coroutine: Coroutine[T]
    evaluation: Future[Evaluation]
