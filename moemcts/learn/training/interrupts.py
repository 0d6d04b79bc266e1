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
    is_interrupted = False

    def record(signum: int, frame: FrameType | None) -> None:
        nonlocal is_interrupted
        if is_interrupted:
            raise KeyboardInterrupt
        is_interrupted = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    previous = signal.signal(signal.SIGINT, record)
    try:
        yield lambda: is_interrupted
    finally:
        signal.signal(signal.SIGINT, previous)
