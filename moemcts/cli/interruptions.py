"""Handling of Ctrl-C and SIGTERM, including whether one came when a library hides it behind another error."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

_MOMENT = 1.0
"""Seconds after Ctrl-C in which an error is attributed to it."""
_last = -math.inf
"""The time of the last Ctrl-C."""


def was_just_interrupted() -> bool:
    """Returns whether Ctrl-C came a moment ago; always False outside `interruptions`.

    Needed because pydantic raises an error of its own if it is interrupted while it creates a class.
    """
    return time.monotonic() - _last < _MOMENT


@contextlib.contextmanager
def interruptions() -> Iterator[None]:
    """Records Ctrl-C for `was_just_interrupted` inside the block, and otherwise leaves it as it is."""

    def interrupt(signum: int, frame: FrameType | None) -> None:
        global _last
        _last = time.monotonic()
        signal.default_int_handler(signum, frame)

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def terminations() -> Iterator[Callable[[], bool]]:
    """Makes SIGTERM act as Ctrl-C inside the block, which saves progress; yields a function that tells whether it came.

    Child processes do not inherit this, and other existing handlers are kept.
    """
    is_terminated = False

    def interrupt(signum: int, frame: FrameType | None) -> None:
        nonlocal is_terminated
        is_terminated = True
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):
            # Background jobs of scripts ignore Ctrl-C.
            raise KeyboardInterrupt
        handler(signal.SIGINT, frame)

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield lambda: False
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield lambda: is_terminated
    finally:
        if signal.getsignal(signal.SIGTERM) is interrupt:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
