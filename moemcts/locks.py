"""Locks of objects that can be copied and sent to other processes."""

from __future__ import annotations

from threading import Lock
from types import TracebackType
from typing import Any


class OwnLock:
    """A lock of one object: its copies, pickled ones too, have an open one of their own. `threading.Lock` has none."""

    def __init__(self) -> None:
        self._lock = Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[Any, ...]:
        return OwnLock, ()
