"""Progress on standard error: bars where a person watches, lines where a log is written."""

from __future__ import annotations

import io
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from moemcts.arena.verdict import counted
from moemcts.work.progress import Advance
from moemcts.work.progress import Progress as Shown

SECONDS_BETWEEN_LINES = 10.0
PACE_LINES = 30
"""So many lines back the pace is taken from: what resumed parts had done before is no pace, and passes."""


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f} {task.fields['unit']}/s" if speed else "", style="cyan")


class ConsoleProgress:
    """Shows tasks as they go on."""

    def __init__(self) -> None:
        # Where standard error is closed nobody looks on; rich would take standard output, which is for data.
        self._console = Console(stderr=True, emoji=False, file=None if _is_open(sys.stderr) else io.StringIO())

    @contextmanager
    def task(self, name: str, unit: str, note: Callable[[], str] = str) -> Iterator[Advance]:
        """Opens a task whose progress is counted in `unit`s; `note` says how things stand."""
        if not self._console.is_terminal:
            yield from self._lines(name, unit, note)
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
            _Rate(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", markup=False),
        )
        with Progress(*columns, console=self._console) as bars:
            bar = bars.add_task(f"{name:<34}", total=1, unit=unit, note="")
            yield lambda done, total: bars.update(bar, completed=done, total=max(total, 1), note=note())

    def say(self, text: str) -> None:
        """Shows one line."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _lines(self, name: str, unit: str, note: Callable[[], str]) -> Iterator[Advance]:
        started = shown = time.monotonic()
        last = (0, 0)
        # Before the first that was done, work only got ready.
        marks: deque[tuple[float, int]] = deque(maxlen=PACE_LINES)

        def advance(done: int, total: int) -> None:
            nonlocal shown, last
            last = (done, total)
            now = time.monotonic()
            if done and not marks:
                marks.append((now, done))
            if now - shown >= SECONDS_BETWEEN_LINES and (done or note()):
                shown = now
                left = _left(marks, now, done, total)
                if done:
                    marks.append((now, done))
                stand = f"; {note()}" if note() else ""
                self.say(f"{name}: {done:,}/{total:,} {unit}{left}{stand}")

        yield advance
        seconds = time.monotonic() - started
        done = (
            f"{counted(last[0], unit.removesuffix('s'))} in {seconds:,.1f} s" if last[0] else "nothing was left to do"
        )
        self.say(f"{name}: {done}")


@contextmanager
def interruptible(progress: Shown, kept: Callable[[], str]) -> Iterator[None]:
    """Ends a command that Ctrl-C interrupts by one line, with what `kept` says of what was done, and exit code 130."""
    try:
        yield
    except KeyboardInterrupt:
        progress.say("; ".join(filter(None, ["interrupted", kept()])))
        raise typer.Exit(130) from None


def _left(marks: Sequence[tuple[float, int]], now: float, done: int, total: int) -> str:
    """Returns how long what is left takes at the pace since the first of the marks, of which each has a time and how
    much was done.
    """
    if not marks or done <= marks[0][1]:
        return ""
    seconds, number = now - marks[0][0], done - marks[0][1]
    return f", {seconds * (total - done) / number:,.0f} s left"


def _is_open(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed
