"""How long work says how far it is."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[int, int], None]
"""Called with what is done and the total."""
SECONDS_BETWEEN_WORDS = 1.0
"""Of work that is told of elsewhere."""


def unheard(done: int, total: int) -> None:
    """Tells nobody how far work is."""


class Progress(Protocol):
    """Shows tasks to whoever waits for them."""

    def task(self, name: str, unit: str) -> AbstractContextManager[Advance]:
        """Opens a task whose progress is counted in `unit`s."""

    def say(self, text: str) -> None:
        """Shows one line."""


class Silence:
    """Shows nothing."""

    @contextmanager
    def task(self, name: str, unit: str) -> Iterator[Advance]:
        yield unheard

    def say(self, text: str) -> None:
        pass


class Told:
    """Has tasks told of in words by whoever is elsewhere, where there is room for a word of each, not for a bar."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    @contextmanager
    def task(self, name: str, unit: str) -> Iterator[Advance]:
        """Opens a task; what is done of it is told of once a second at most."""
        told = -math.inf

        def advance(done: int, total: int) -> None:
            nonlocal told
            if (now := time.monotonic()) - told >= SECONDS_BETWEEN_WORDS:
                told = now
                self._tell(f"{name}, {done:,}/{total:,} {unit}")

        self._tell(name)
        yield advance

    def say(self, text: str) -> None:
        """Tells nothing: lines are for who looks on."""


class Tally:
    """Adds up the progress of parts; one of which nobody has said how long it is counts as long as the others."""

    def __init__(self, sizes: Sequence[int | None], advance: Advance) -> None:
        """Takes how long each part is, where that is known before it begins."""
        self._sizes = list(sizes)
        self._advance = advance
        self._done: dict[int, tuple[int, int]] = {}

    def note(self, part: int, state: tuple[int, int]) -> None:
        """Takes in what is done of a part, and its total."""
        self._done[part] = state
        _, self._sizes[part] = state
        known = [size for size in self._sizes if size is not None]
        expected = round(sum(known) * len(self._sizes) / len(known))
        self._advance(sum(done for done, _ in self._done.values()), expected)

    def of(self, part: int) -> Advance:
        """Returns what is called with the progress of a part."""
        return lambda done, total: self.note(part, (done, total))

    def finish(self, part: int, result: object = None) -> None:
        """Takes in that a part is done."""
        _, total = self._done.get(part, (0, 0))
        self.note(part, (total, total))
