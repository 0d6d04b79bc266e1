"""Progress reporting of long tasks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[int, int], None]
"""Called with the amount done and the total."""
SECONDS_BETWEEN_MESSAGES = 1.0
"""Minimum interval between progress messages."""


def ignore_progress(done: int, total: int) -> None:
    """Ignores progress."""


class Progress(Protocol):
    """Displays the progress of tasks."""

    def task(self, name: str, unit: str) -> AbstractContextManager[Advance]:
        """Opens a task whose progress is counted in `unit`s."""

    def say(self, text: str) -> None:
        """Shows one line."""


class NoProgress:
    """Shows nothing."""

    @contextmanager
    def task(self, name: str, unit: str) -> Iterator[Advance]:
        yield ignore_progress

    def say(self, text: str) -> None:
        pass


class MessageProgress:
    """Reports the progress of tasks as short messages, where there is no room for a progress bar."""

    def __init__(self, send: Callable[[str], None]) -> None:
        self._send = send

    @contextmanager
    def task(self, name: str, unit: str) -> Iterator[Advance]:
        """Opens a task; its progress is reported at most once a second."""
        last_sent = -math.inf

        def advance(done: int, total: int) -> None:
            nonlocal last_sent
            if (now := time.monotonic()) - last_sent >= SECONDS_BETWEEN_MESSAGES:
                last_sent = now
                self._send(f"{name}, {done:,}/{total:,} {unit}")

        self._send(name)
        yield advance

    def say(self, text: str) -> None:
        """Discards the line: lines are for interactive use."""


class TotalProgress:
    """Sums the progress of parts; the size of a part is estimated as the mean of known sizes until it is known."""

    def __init__(self, sizes: Sequence[int | None], advance: Advance) -> None:
        """Takes the size of each part, None if it is not known in advance."""
        self._sizes = list(sizes)
        self._advance = advance
        self._done: dict[int, tuple[int, int]] = {}

    def update(self, part: int, state: tuple[int, int]) -> None:
        """Sets the amount done and the total of a part."""
        self._done[part] = state
        _, self._sizes[part] = state
        known_sizes = [size for size in self._sizes if size is not None]
        expected = round(sum(known_sizes) * len(self._sizes) / len(known_sizes))
        self._advance(sum(done for done, _ in self._done.values()), expected)

    def callback(self, part: int) -> Advance:
        """Returns the progress callback of a part."""
        return lambda done, total: self.update(part, (done, total))

    def finish(self, part: int, result: object = None) -> None:
        """Marks a part as done."""
        _, total = self._done.get(part, (0, 0))
        self.update(part, (total, total))
