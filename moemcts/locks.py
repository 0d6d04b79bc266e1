"""Locks of objects that can be copied and sent to other processes."""

from __future__ import annotations

from threading import Lock
from typing import Any


class OwnLock:
    """A lock of one object: its copies, pickled ones too, have an open one of their own. `threading.Lock` has none.

    It is taken as `with own.lock`. Were it entered itself, a signal that raises inside the method which enters would
    leave it taken for ever.
    """

    def __init__(self) -> None:
        self.lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return OwnLock, ()
