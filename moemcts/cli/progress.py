"""Progress on standard error: bars on a terminal, lines in a log."""

from __future__ import annotations

import io
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

import typer
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from moemcts.arena.verdict import format_count
from moemcts.cli.interruptions import was_just_interrupted
from moemcts.work.progress import Advance
from moemcts.work.progress import Progress as ProgressDisplay

SECONDS_BETWEEN_LINES = 10.0
PACE_LINES = 30
"""The rate is measured over this many lines, so that parts done before a resumption soon no longer distort it."""
_GAP = 2
"""Columns between the parts of a bar's line."""
_NAME = 22
"""Columns for a task's name if there is room, which aligns the bars."""
_MIN_BAR, _MAX_BAR = 10, 30
_MIN_NOTE = 16
"""Minimum columns for a truncated note."""
_STYLES = {"rate": "cyan", "elapsed": "progress.elapsed", "time": "progress.remaining"}


class ConsoleProgress:
    """Shows the progress of tasks."""

    def __init__(self) -> None:
        # If standard error is closed, discard the output: rich would use standard output, which is for data.
        self._console = Console(stderr=True, emoji=False, file=None if _is_open(sys.stderr) else io.StringIO())

    @contextmanager
    def task(self, name: str, unit: str, note: Callable[[], str] = str) -> Iterator[Advance]:
        """Opens a task whose progress is counted in `unit`s; `note` returns its current state."""
        if not self._console.is_terminal:
            yield from self._lines(name, unit, note)
            return
        bar = Bar(name, unit, note)
        # The bar is drawn in another thread, which must not call `note`.
        with Live(bar, console=self._console, refresh_per_second=10):
            yield bar.advance
            bar.finish()

    def say(self, text: str) -> None:
        """Shows a line of text."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _lines(self, name: str, unit: str, note: Callable[[], str]) -> Iterator[Advance]:
        started_at = printed_at = time.monotonic()
        latest = (0, 0)
        meter = _RateMeter()

        def advance(done: int, total: int) -> None:
            nonlocal printed_at, latest
            latest = (done, total)
            now = time.monotonic()
            meter.note(now, done)
            if now - printed_at >= SECONDS_BETWEEN_LINES and (done or note()):
                printed_at = now
                seconds = meter.seconds_left(now, done, total)
                remaining = "" if seconds is None else f", {seconds:,.0f} s left"
                state = f"; {note()}" if note() else ""
                self.say(f"{name}: {done:,}/{total:,} {unit}{remaining}{state}")

        yield advance
        self.say(f"{name}: {' '.join(filter(None, _summarize(latest[0], unit, time.monotonic() - started_at)))}")


@contextmanager
def interruptible(progress: ProgressDisplay, describe_saved: Callable[[], str]) -> Iterator[None]:
    """Ends a command on Ctrl-C with exit code 130 and a line that includes `describe_saved()`, what was saved."""
    try:
        yield
    except (KeyboardInterrupt, Exception) as error:
        if not isinstance(error, KeyboardInterrupt) and not was_just_interrupted():
            raise
        progress.say("; ".join(filter(None, ["interrupted", describe_saved()])))
        raise typer.Exit(130) from None


class Bar:
    """A task on one line that fits any terminal: the most important parts first, and others as room permits."""

    def __init__(self, name: str, unit: str, note: Callable[[], str]) -> None:
        self._name = name
        self._unit = unit
        self._note = note
        self._state = ""
        self._done, self._total = 0, 0
        self._started_at = time.monotonic()
        self._ended_at: float | None = None
        self._meter = _RateMeter()
        self._rate: float | None = None
        self._ends_at: float | None = None
        """When the task will end at the current rate."""

    def advance(self, done: int, total: int) -> None:
        """Updates what is done and the total."""
        now = time.monotonic()
        self._meter.note(now, done)
        self._rate, left = self._meter.rate(now, done), self._meter.seconds_left(now, done, total)
        self._ends_at = None if left is None else now + left
        self._done, self._total = done, total
        self._state = self._note()

    def finish(self) -> None:
        """Marks the task as finished."""
        self._state = self._note()
        self._ended_at = time.monotonic()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        bar = "bar"
        parts = self._parts() | {bar: " " * _MIN_BAR if self._total else ""}
        room = options.max_width - cell_len(self._name)
        shown = dict[str, str]()
        for part in ("count", "time", "note", bar, "rate", "elapsed"):
            text = parts[part]
            if part == "note" and room - _GAP >= _MIN_NOTE and cell_len(text) > room - _GAP:
                text = set_cell_size(text, room - _GAP - 1) + "…"
            if text and cell_len(text) + _GAP <= room:
                shown[part] = text
                room -= cell_len(text) + _GAP
        padding = max(0, min(room, _NAME - cell_len(self._name)))
        length = min(_MAX_BAR, _MIN_BAR + room - padding)
        line = Table.grid(padding=(0, _GAP, 0, 0))
        cells: list[Text | ProgressBar] = [Text(self._name + " " * padding, overflow="ellipsis")]
        for part in (bar, "count", "rate", "elapsed", "time", "note"):
            if part in shown:
                progress = ProgressBar(total=self._total, completed=self._done, width=length)
                cells.append(progress if part == bar else Text(shown[part], style=_STYLES.get(part, "")))
        for _ in cells:
            line.add_column(no_wrap=True)
        line.add_row(*cells)
        yield line

    def _parts(self) -> dict[str, str]:
        """Returns the text of each part."""
        if self._ended_at is not None:
            count, lasted = _summarize(self._done, self._unit, self._ended_at - self._started_at)
            return {"count": count, "time": lasted, "note": self._state, "rate": "", "elapsed": ""}
        now, total = time.monotonic(), f"{self._total:,}"
        left = "-:--:--" if self._ends_at is None else _format_clock(self._ends_at - now)
        rate = 0.0 if self._rate is None else self._rate
        return {
            "count": f"{self._done:>{len(total)},}/{total} {self._unit}" if self._total else "",
            "time": f"{left} left" if self._total else "",
            "note": self._state,
            "rate": f"{rate:,.{0 if rate >= 10 else 1}f} {self._unit}/s" if rate else "",
            "elapsed": _format_clock(now - self._started_at),
        }


class _RateMeter:
    """The recent rate of a task, measured from the first item on: before that, work is only starting up."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque(maxlen=PACE_LINES)

    def note(self, now: float, done: int) -> None:
        """Records how much is done."""
        if done and (not self._marks or now - self._marks[-1][0] >= SECONDS_BETWEEN_LINES):
            self._marks.append((now, done))

    def rate(self, now: float, done: int) -> float | None:
        """Returns the rate per second; None if it is not known yet."""
        if not self._marks:
            return None
        seconds, number = now - self._marks[0][0], done - self._marks[0][1]
        return number / seconds if number > 0 and seconds > 0 else None

    def seconds_left(self, now: float, done: int, total: int) -> float | None:
        """Returns the estimated seconds left; None if the rate is not known yet."""
        rate = self.rate(now, done)
        return None if rate is None else (total - done) / rate


def _summarize(done: int, unit: str, seconds: float) -> tuple[str, str]:
    """Returns what was done in total, and how long it took."""
    if not done:
        return "nothing was left to do", ""
    return format_count(done, unit.removesuffix("s")), f"in {seconds:,.1f} s"


def _format_clock(seconds: float) -> str:
    """Formats seconds as hours, minutes and seconds."""
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def _is_open(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed
