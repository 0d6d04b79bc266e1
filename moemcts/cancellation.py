"""Cancellation of background work that nothing waits for any more."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

POLL_SECONDS = 0.2
"""Polling interval, in seconds, at which waiting code checks for cancellation."""


class Cancelled(BaseException):
    """Cancels work; derives from BaseException so that code which catches errors of agents does not swallow it."""


@contextlib.contextmanager
def cancelled_unless(is_wanted: Callable[[], bool]) -> Iterator[None]:
    """Within the block, in this thread, `check_cancelled` raises unless `is_wanted()` and enclosing checks hold.

    Searches and playouts in the native core check it, too, every 50 ms.
    """
    asked_outside = _IS_WANTED.get()
    token = _IS_WANTED.set(lambda: asked_outside() and is_wanted())
    try:
        yield
    finally:
        _IS_WANTED.reset(token)


def check_cancelled() -> None:
    """Raises Cancelled if the work of this thread has been cancelled."""
    if not _IS_WANTED.get()():
        raise Cancelled


def _always() -> bool:
    return True


# A context variable is separate for each thread and reaches all functions that it calls, without passing a callback
# through them.
_IS_WANTED: ContextVar[Callable[[], bool]] = ContextVar("is_wanted", default=_always)
