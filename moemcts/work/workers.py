"""Who does work: one protocol, so that a caller says what is to be done and not where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from moemcts.errors import UsageError
from moemcts.work.processes import Processes
from moemcts.work.rays import HERE, Rays

Item = TypeVar("Item")
Result = TypeVar("Result")
Report = Callable[[Any], None]
"""Called by a task with whatever its caller is to hear while it works."""
Task = Callable[[Item, Report], Result]
"""Does one item. It can be pickled where it may be done elsewhere, as can items, reports and results."""


MOST_PROCESSES = 1024
"""More are no faster anywhere, and stop a machine."""


def ignore(number: int, message: Any) -> None:
    """Hears nothing."""


class Workers(Protocol):
    """Does many items at once, as far as it can."""

    @property
    def count(self) -> int:
        """How many items are done at once."""

    def map(
        self,
        task: Task[Item, Result],
        items: Sequence[Item],
        *,
        on_report: Callable[[int, Any], None] = ignore,
        on_done: Callable[[int, Result], None] = ignore,
    ) -> list[Result]:
        """Returns what a task makes of each item, in their order.

        `on_report` is called here with what it reports and `on_done` with what it makes of an item, by the item's
        number, when that comes. Raises what the first item that failed raised, and whatever these two raise, after
        all work has stopped. Ctrl-C stops the work before it goes on its way, as `Beside.stop` does.
        """


class Here:
    """Does one item after the other in this process."""

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
    """Returns so many workers: this process for one; `ray` or `ray://HEAD:PORT` are actors of Ray, here or there.

    `hint` ends what is said where a worker dies. Raises UsageError for other words and for more than `MOST_PROCESSES`,
    and as `Rays`.
    """
    if isinstance(count, str):
        if count != HERE and not count.startswith(f"{HERE}://"):
            raise UsageError(f"expected a number of workers, ray or ray://HEAD:PORT, got {count!r}")
        return Rays(count, hint=hint)
    if count > MOST_PROCESSES:
        raise UsageError(f"expected at most {MOST_PROCESSES} processes on this machine, got {count}")
    return Processes(count, hint=hint) if count > 1 else Here()
