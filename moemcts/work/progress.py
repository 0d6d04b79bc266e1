"""How long work says how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

Advance = Callable[[int, int], None]
"""Called with what is done and the total."""


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
        yield lambda done, total: None

    def say(self, text: str) -> None:
        pass
