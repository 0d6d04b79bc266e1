"""The time spent on each task of a run, over all its starts."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from moemcts.arena.verdict import format_count
from moemcts.errors import MoemctsError
from moemcts.store import read_json, write_json
from moemcts.work.progress import Advance, Progress

TIMES = "times.json"
_SECONDS_BETWEEN_WRITES = 60.0


class Timed:
    """Wraps a progress and records the time that each start of a run spends on its tasks in the run's `times.json`.

    Wall time in seconds, written once a minute, so a kill loses less than that. The times do not affect results.
    """

    def __init__(self, progress: Progress, folder: Path) -> None:
        """Takes the folder of the run; a start is recorded there with its first task."""
        self._progress = progress
        self._folder = folder
        self._earlier = starts(folder)
        self._seconds: dict[str, float] = {}

    @contextmanager
    def task(self, name: str, unit: str) -> Iterator[Advance]:
        """Opens a task of the wrapped progress and times it."""
        last_written = time.monotonic()

        def write() -> None:
            nonlocal last_written
            now = time.monotonic()
            self._seconds[name] = self._seconds.get(name, 0.0) + now - last_written
            last_written = now
            this_start = {task: round(seconds, 1) for task, seconds in self._seconds.items()}
            write_json(self._folder / TIMES, {"starts": [*self._earlier, this_start]})

        # Written right away, so that a start that is soon killed counts too.
        write()
        with self._progress.task(name, unit) as advance:

            def advance_and_write(done: int, total: int) -> None:
                advance(done, total)
                if time.monotonic() - last_written >= _SECONDS_BETWEEN_WRITES:
                    write()

            try:
                yield advance_and_write
            finally:
                write()

    def say(self, text: str) -> None:
        """Shows a line of text."""
        self._progress.say(text)


def starts(folder: Path) -> list[dict[str, float]]:
    """Returns the wall time in seconds that each start of a run spent on each task; empty if unknown."""
    # Without them a run continues all the same.
    with contextlib.suppress(MoemctsError, TypeError, ValueError, KeyError, AttributeError):
        if (folder / TIMES).exists():
            found = read_json(folder / TIMES)["starts"]
            return [{str(task): float(seconds) for task, seconds in start.items()} for start in found]
    return []


def describe_times(folder: Path) -> str:
    """Returns a description of how long a run took so far; empty if unknown."""
    known = starts(folder)
    tasks = dict.fromkeys(task for start in known for task in start)
    total = {task: sum(start.get(task, 0.0) for start in known) for task in tasks}
    shares = ", ".join(f"{task} {duration(seconds)}" for task, seconds in total.items())
    return f"{duration(sum(total.values()))} in {format_count(len(known), 'start')}: {shares}" if known else ""


def duration(seconds: float) -> str:
    """Returns a duration as text, with its unit."""
    if seconds < 1:
        return "under 1 s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"
