"""Progress on standard error: bars where a person watches, lines where a log is written."""

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

from moemcts.arena.verdict import counted
from moemcts.cli.interruptions import came_just_now
from moemcts.work.progress import Advance
from moemcts.work.progress import Progress as Shown

SECONDS_BETWEEN_LINES = 10.0
PACE_LINES = 30
"""So many lines back the pace is taken from: what resumed parts had done before is no pace, and passes."""
_GAP = 2
"""Columns between the parts of a bar's line."""
_NAME = 22
"""Columns that names of tasks have where there is room, so that one bar stands below the other."""
_LEAST_BAR, _LONGEST_BAR = 10, 30
_LEAST_NOTE = 16
"""Columns of a note below which what is left of it says nothing."""
_STYLES = {"rate": "cyan", "elapsed": "progress.elapsed", "time": "progress.remaining"}


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
        bar = Bar(name, unit, note)
        # The bar is drawn in a thread of its own, which asks nobody how things stand.
        with Live(bar, console=self._console, refresh_per_second=10):
            yield bar.advance
            bar.finish()

    def say(self, text: str) -> None:
        """Shows one line."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _lines(self, name: str, unit: str, note: Callable[[], str]) -> Iterator[Advance]:
        started = shown = time.monotonic()
        last = (0, 0)
        pace = _Pace()

        def advance(done: int, total: int) -> None:
            nonlocal shown, last
            last = (done, total)
            now = time.monotonic()
            pace.note(now, done)
            if now - shown >= SECONDS_BETWEEN_LINES and (done or note()):
                shown = now
                seconds = pace.left(now, done, total)
                left = "" if seconds is None else f", {seconds:,.0f} s left"
                stand = f"; {note()}" if note() else ""
                self.say(f"{name}: {done:,}/{total:,} {unit}{left}{stand}")

        yield advance
        self.say(f"{name}: {' '.join(filter(None, _ending(last[0], unit, time.monotonic() - started)))}")


@contextmanager
def interruptible(progress: Shown, kept: Callable[[], str]) -> Iterator[None]:
    """Ends a command that Ctrl-C interrupts by one line, with what `kept` says of what was done, and exit code 130."""
    try:
        yield
    except (KeyboardInterrupt, Exception) as error:
        if not isinstance(error, KeyboardInterrupt) and not came_just_now():
            raise
        progress.say("; ".join(filter(None, ["interrupted", kept()])))
        raise typer.Exit(130) from None


class Bar:
    """A task on one line, however narrow the terminal: what matters most, and as much else as there is room for."""

    def __init__(self, name: str, unit: str, note: Callable[[], str]) -> None:
        self._name = name
        self._unit = unit
        self._note = note
        self._stand = ""
        self._done, self._total = 0, 0
        self._started = time.monotonic()
        self._ended: float | None = None
        self._pace = _Pace()
        self._rate: float | None = None
        self._ends: float | None = None
        """When all will be done, by the pace so far."""

    def advance(self, done: int, total: int) -> None:
        """Takes in what is done and the total."""
        now = time.monotonic()
        self._pace.note(now, done)
        self._rate, left = self._pace.rate(now, done), self._pace.left(now, done, total)
        self._ends = None if left is None else now + left
        self._done, self._total = done, total
        self._stand = self._note()

    def finish(self) -> None:
        """Takes in that nothing more comes."""
        self._stand = self._note()
        self._ended = time.monotonic()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        bar = "bar"
        parts = self._parts() | {bar: " " * _LEAST_BAR if self._total else ""}
        room = options.max_width - cell_len(self._name)
        shown = dict[str, str]()
        for part in ("count", "time", "note", bar, "rate", "elapsed"):
            text = parts[part]
            if part == "note" and room - _GAP >= _LEAST_NOTE and cell_len(text) > room - _GAP:
                text = set_cell_size(text, room - _GAP - 1) + "…"
            if text and cell_len(text) + _GAP <= room:
                shown[part] = text
                room -= cell_len(text) + _GAP
        padding = max(0, min(room, _NAME - cell_len(self._name)))
        length = min(_LONGEST_BAR, _LEAST_BAR + room - padding)
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
        """Returns what there is to say, by its part."""
        if self._ended is not None:
            count, lasted = _ending(self._done, self._unit, self._ended - self._started)
            return {"count": count, "time": lasted, "note": self._stand, "rate": "", "elapsed": ""}
        now, total = time.monotonic(), f"{self._total:,}"
        left = "-:--:--" if self._ends is None else _clock(self._ends - now)
        rate = 0.0 if self._rate is None else self._rate
        return {
            "count": f"{self._done:>{len(total)},}/{total} {self._unit}" if self._total else "",
            "time": f"{left} left" if self._total else "",
            "note": self._stand,
            "rate": f"{rate:,.{0 if rate >= 10 else 1}f} {self._unit}/s" if rate else "",
            "elapsed": _clock(now - self._started),
        }


class _Pace:
    """How fast a task goes on of late; before the first that was done, work only got ready."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque(maxlen=PACE_LINES)

    def note(self, now: float, done: int) -> None:
        """Takes in how much is done."""
        if done and (not self._marks or now - self._marks[-1][0] >= SECONDS_BETWEEN_LINES):
            self._marks.append((now, done))

    def rate(self, now: float, done: int) -> float | None:
        """Returns how much is done in a second; None where that is not known yet."""
        if not self._marks:
            return None
        seconds, number = now - self._marks[0][0], done - self._marks[0][1]
        return number / seconds if number > 0 and seconds > 0 else None

    def left(self, now: float, done: int, total: int) -> float | None:
        """Returns how many seconds what is left takes; None where that is not known yet."""
        rate = self.rate(now, done)
        return None if rate is None else (total - done) / rate


def _ending(done: int, unit: str, seconds: float) -> tuple[str, str]:
    """Returns what was done in the end, and how long it took."""
    if not done:
        return "nothing was left to do", ""
    return counted(done, unit.removesuffix("s")), f"in {seconds:,.1f} s"


def _clock(seconds: float) -> str:
    """Returns hours, minutes and seconds."""
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def _is_open(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed
