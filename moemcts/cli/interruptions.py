"""Ctrl-C and SIGTERM: whether one came, whatever a library has made of it."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

_MOMENT = 1.0
"""Seconds after Ctrl-C in which an error is taken for an answer to it."""
_last = -math.inf
"""When Ctrl-C came last."""


def came_just_now() -> bool:
    """Whether Ctrl-C came a moment ago: pydantic makes an error of its own of what interrupts it as it makes a class.

    False outside `interruptions`.
    """
    return time.monotonic() - _last < _MOMENT


@contextlib.contextmanager
def interruptions() -> Iterator[None]:
    """Within the block Ctrl-C does what it does without it, and is noted for `came_just_now`."""

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
    """Within the block SIGTERM does what Ctrl-C does there, which saves what was done; the yielded function tells
    whether it came.

    What is started meanwhile has not inherited this, and who has another answer keeps it.
    """
    has_come = False

    def interrupt(signum: int, frame: FrameType | None) -> None:
        nonlocal has_come
        has_come = True
        answer = signal.getsignal(signal.SIGINT)
        if not callable(answer):
            # Ctrl-C is ignored by what a script has started in the background.
            raise KeyboardInterrupt
        answer(signal.SIGINT, frame)

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield lambda: False
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield lambda: has_come
    finally:
        if signal.getsignal(signal.SIGTERM) is interrupt:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
