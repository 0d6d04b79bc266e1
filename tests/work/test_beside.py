"""Work in a thread: its progress and its errors come where it is waited for, and it ends with who does not wait."""

from __future__ import annotations

import threading

import pytest

from moemcts.work.beside import Beside
from moemcts.work.progress import Advance


def test_progress_is_told_to_who_waits() -> None:
    heard: list[tuple[int, int]] = []

    def do(advance: Advance) -> None:
        for done in range(4):
            advance(done, 3)

    Beside(do).wait(lambda done, total: heard.append((done, total)))
    assert heard
    assert heard[-1] == (3, 3)


def test_errors_are_raised_where_it_is_waited_for() -> None:
    def do(advance: Advance) -> None:
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        Beside(do).wait(lambda done, total: None)


def test_it_has_ended_when_it_is_stopped() -> None:
    ended, begun = threading.Event(), threading.Event()

    def do(advance: Advance) -> None:
        try:
            while True:
                advance(1, 2)
                begun.set()
        finally:
            ended.set()

    work = Beside(do)
    assert begun.wait(5)
    work.stop()
    assert ended.is_set()
