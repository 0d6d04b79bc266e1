"""Work in a thread: its progress and its errors come where it is waited for, and it ends with who does not wait."""

from __future__ import annotations

import threading
import time

import pytest
import tasks_for_tests as tasks

from moemcts.work import Processes
from moemcts.work.background import BackgroundTask
from moemcts.work.progress import Advance


def test_progress_is_told_to_who_waits() -> None:
    heard: list[tuple[int, int]] = []

    def do(advance: Advance) -> None:
        for done in range(4):
            advance(done, 3)

    BackgroundTask(do).wait(lambda done, total: heard.append((done, total)))
    assert heard
    assert heard[-1] == (3, 3)


def test_errors_are_raised_where_it_is_waited_for() -> None:
    def do(advance: Advance) -> None:
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        BackgroundTask(do).wait(lambda done, total: None)


def test_it_has_ended_when_it_is_stopped() -> None:
    ended, begun = threading.Event(), threading.Event()

    def do(advance: Advance) -> None:
        try:
            while True:
                advance(1, 2)
                begun.set()
        finally:
            ended.set()

    work = BackgroundTask(do)
    assert begun.wait(5)
    work.stop()
    assert ended.is_set()


def test_it_stops_while_it_waits_for_workers_that_say_nothing() -> None:
    def do(advance: Advance) -> None:
        Processes(2).map(tasks.dies, ["sleeps"] * 2)

    work = BackgroundTask(do)
    started = time.monotonic()
    work.stop()
    # Most of it is the start of two interpreters; they would sleep for ten minutes.
    assert time.monotonic() - started < 300
