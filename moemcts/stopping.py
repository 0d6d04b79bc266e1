"""Whether work beside other work still has somebody who waits for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

SECONDS_TO_LISTEN = 0.2
"""After which whoever waits for others looks whether to wait on."""


class Stopped(BaseException):
    """Ends work that nobody waits for any more; not an Exception, or who catches what agents raise would go on."""


@contextlib.contextmanager
def wanted_while(is_wanted: Callable[[], bool]) -> Iterator[None]:
    """Within the block, and in its thread alone, `check_wanted` asks this, and whatever it asks outside."""
    asked_outside = _IS_WANTED.get()
    token = _IS_WANTED.set(lambda: asked_outside() and is_wanted())
    try:
        yield
    finally:
        _IS_WANTED.reset(token)


def check_wanted() -> None:
    """Raises Stopped where nobody waits any more for what this thread does."""
    if not _IS_WANTED.get()():
        raise Stopped


def _always() -> bool:
    return True


# A thread has its own, so what goes on beside other work can be stopped wherever it waits, without being handed a way
# to ask through all that it calls.
_IS_WANTED: ContextVar[Callable[[], bool]] = ContextVar("is_wanted", default=_always)
