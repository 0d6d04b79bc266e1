"""Locks for objects that can be copied and pickled."""

from __future__ import annotations

from threading import Lock
from typing import Any


class PicklableLock:
    """A lock whose copies, also by pickling, are new unlocked locks; `threading.Lock` can be neither copied nor
    pickled.

    Use it as `with own.lock`. If it were itself a context manager, a signal handler that raises inside its `__enter__`
    would leave it locked forever.
    """

    def __init__(self) -> None:
        self.lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return PicklableLock, ()
