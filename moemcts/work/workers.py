"""The interface of workers, so that callers do not depend on where tasks run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from moemcts.errors import UsageError
from moemcts.work.processes import Processes
from moemcts.work.ray_workers import LOCAL_RAY, RayWorkers

Item = TypeVar("Item")
Result = TypeVar("Result")
Report = Callable[[Any], None]
"""Called by a task with messages for its caller while it runs."""
Task = Callable[[Item, Report], Result]
"""Processes one item. Tasks, items, reports and results must be picklable unless they stay in this process."""


MAX_PROCESSES = 1024
"""More processes are not faster on any machine, and may freeze it."""


def ignore(number: int, message: Any) -> None:
    """Ignores the message."""


class Workers(Protocol):
    """Maps tasks over items, in parallel if possible."""

    @property
    def count(self) -> int:
        """The number of items that are processed in parallel."""

    def map(
        self,
        task: Task[Item, Result],
        items: Sequence[Item],
        *,
        on_report: Callable[[int, Any], None] = ignore,
        on_done: Callable[[int, Result], None] = ignore,
    ) -> list[Result]:
        """Returns the task's result for each item, in order.

        `on_report` is called in this process with the messages of tasks and `on_done` with results, each with the
        item's number, as they arrive. Raises the exception of the first item that fails, or of these callbacks, after
        all work has stopped. Ctrl-C stops all work before it propagates, and so does `BackgroundTask.stop`.
        """


class InProcess:
    """Processes items one after the other in this process."""

    count = 1

    def map(
        self,
        task: Task[Item, Result],
        items: Sequence[Item],
        *,
        on_report: Callable[[int, Any], None] = ignore,
        on_done: Callable[[int, Result], None] = ignore,
    ) -> list[Result]:
        results = []
        for number, item in enumerate(items):
            results.append(task(item, partial(on_report, number)))
            on_done(number, results[-1])
        return results


def workers(count: int | str, *, hint: str = "") -> Workers:
    """Returns workers: this process for a count of 1, else processes; `ray` or `ray://HEAD:PORT` for local or remote
    Ray actors.

    `hint` is appended to the error message when a worker dies. Raises UsageError for other text and for more than
    `MAX_PROCESSES`, and as `RayWorkers` does.
    """
    if isinstance(count, str):
        if count != LOCAL_RAY and not count.startswith(f"{LOCAL_RAY}://"):
            raise UsageError(f"expected a number of workers, ray or ray://HEAD:PORT, got {count!r}")
        return RayWorkers(count, hint=hint)
    if count > MAX_PROCESSES:
        raise UsageError(f"expected at most {MAX_PROCESSES} processes on this machine, got {count}")
    return Processes(count, hint=hint) if count > 1 else InProcess()
