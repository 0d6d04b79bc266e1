"""Thoughts: decisions as coroutines that yield requests to evaluators, so that many can be in flight at once."""

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
Question = tuple[Evaluator, Views]
"""An evaluator and the views to evaluate."""
Thought = Generator[Question, Evaluation, T]
"""A generator that yields questions, is sent their evaluations, and returns a result."""


def think(thought: Thought[T]) -> T:
    """Runs a thought to its end and returns its result; evaluates its questions synchronously.

    Raises Cancelled before a question if the work has been cancelled.
    """
    try:
        question = next(thought)
        while True:
            evaluator, views = question
            check_cancelled()
            try:
                evaluation = evaluator.evaluate(views)
            except Exception as error:
                question = thought.throw(error)
            else:
                question = thought.send(evaluation)
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        thought.close()


class Flight(Generic[K, T]):
    """Runs several thoughts concurrently: while a background thread evaluates one's question, another continues here.

    Questions are evaluated one at a time, in the order in which they are asked, and thoughts resume in the same order,
    so that the order of events does not depend on timing. Evaluators and searches release the GIL while they work. On
    exit from the context, pending evaluations are cancelled or awaited and all thoughts closed.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="evaluator")
        self._asking: deque[_Asking[K, T]] = deque()
        self._done: deque[tuple[K, T]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for _, _, answer in self._asking:
            answer.cancel()
        # Whatever interrupts this may start other work: no evaluation continues in the background.
        wait([answer for _, _, answer in self._asking if not answer.cancelled()])
        self._thread.shutdown()
        for _, thought, _ in self._asking:
            thought.close()

    def __len__(self) -> int:
        """The number of thoughts in flight, including finished ones that have not been landed."""
        return len(self._asking) + len(self._done)

    def start(self, key: K, thought: Thought[T]) -> None:
        """Runs a thought to its first question; `land` returns `key` with its result."""
        self._go_on(key, thought, partial(next, thought))

    def land(self) -> tuple[K, T]:
        """Returns the key and the result of the next finished thought.

        Raises the thought's exception, IndexError if there is none, Cancelled if the work has been cancelled.
        """
        while not self._done:
            check_cancelled()
            key, thought, answer = self._asking.popleft()
            error = answer.exception()
            self._go_on(
                key, thought, partial(thought.send, answer.result()) if error is None else partial(thought.throw, error)
            )
        return self._done.popleft()

    def _go_on(self, key: K, thought: Thought[T], step: Callable[[], Question]) -> None:
        try:
            evaluator, views = step()
        except StopIteration as end:
            self._done.append((key, end.value))
            return
        self._asking.append(_Asking(key, thought, self._thread.submit(evaluator.evaluate, views)))


class _Asking(NamedTuple, Generic[K, T]):
    """A thought that waits for an evaluation."""

    key: K
    thought: Thought[T]
    answer: Future[Evaluation]
