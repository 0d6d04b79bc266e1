"""Thoughts: decisions that are interrupted by questions to evaluators, so that many may be under way at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

from moemcts.evaluation import Evaluation, Evaluator
from moemcts.game import Views
from moemcts.stopping import check_wanted

T = TypeVar("T")
K = TypeVar("K")
Question = tuple[Evaluator, Views]
"""Who is asked, and about what."""
Thought = Generator[Question, Evaluation, T]
"""Yields questions, is sent their answers, and returns what it comes to."""


def think(thought: Thought[T]) -> T:
    """Returns what a thought comes to; its questions are answered here, one after the other.

    Raises Stopped before a question whose answer nobody waits for any more.
    """
    go_on: Callable[[], Question] = partial(next, thought)
    try:
        while True:
            evaluator, views = go_on()
            check_wanted()
            try:
                go_on = partial(thought.send, evaluator.evaluate(views))
            except Exception as error:
                go_on = partial(thought.throw, error)
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        thought.close()


class Flight(Generic[K, T]):
    """Thoughts that are under way together: while the question of one is answered by a thread, another goes on here.

    Questions are answered one at a time in the order in which they are asked, and thoughts go on in the same order:
    what happens when depends on no clock. Evaluators and searches leave Python's lock while they work. As a context it
    leaves nothing behind that goes on.
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
        # Whoever interrupts this may start something else: nothing is evaluated behind its back.
        wait([answer for _, _, answer in self._asking if not answer.cancelled()])
        self._thread.shutdown()
        for _, thought, _ in self._asking:
            thought.close()

    def __len__(self) -> int:
        """How many are under way, or at their end and not landed."""
        return len(self._asking) + len(self._done)

    def start(self, key: K, thought: Thought[T]) -> None:
        """Goes through a thought to its first question; `key` names it when it is at its end."""
        self._go_on(key, thought, partial(next, thought))

    def land(self) -> tuple[K, T]:
        """Returns the next thought that is at its end, its key and what it came to.

        Raises what a thought raises, IndexError where none is under way, Stopped where nobody waits any more.
        """
        while not self._done:
            check_wanted()
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
    """A thought that waits for an answer."""

    key: K
    thought: Thought[T]
    answer: Future[Evaluation]
