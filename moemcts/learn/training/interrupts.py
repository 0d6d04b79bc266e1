"""Defers Ctrl-C to the end of a training step."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def deferred_interrupts() -> Iterator[Callable[[], bool]]:
    """Defers a first Ctrl-C within the block, which the yielded function reports; a second one interrupts.

    Outside the main thread, where signals cannot be handled, nothing is recorded.
    """
    noted = False

    def note(signum: int, frame: FrameType | None) -> None:
        nonlocal noted
        if noted:
            raise KeyboardInterrupt
        noted = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    previous = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: noted
    finally:
        signal.signal(signal.SIGINT, previous)
