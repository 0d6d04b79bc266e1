"""Converts files of games to datasets: the interface of a game's reader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol


class Reader(Protocol):
    """Converts files of games to datasets; a game's plugin registers it by the ending of such files."""

    def expected(self, files: Sequence[Path]) -> int:
        """Returns the approximate number of samples in the files, from their sizes."""

    def read(
        self, files: Sequence[Path], out: Path, *, reference: str, on_progress: Callable[[int, int], None]
    ) -> None:
        """Writes a dataset into the new folder `out`, or one each into its `train`, `validation` and `test`.

        `reference` is the game as the user names it; `on_progress` is called with the bytes read and the bytes of all
        files.
        """
