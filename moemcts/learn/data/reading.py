"""Files of games become datasets: what a game's reader does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol


class Reader(Protocol):
    """Turns files of games into datasets; a game's plugin registers it by the ending of such files."""

    def expected(self, files: Sequence[Path]) -> int:
        """Returns about how many samples the files hold, from their sizes."""

    def read(
        self, files: Sequence[Path], out: Path, *, reference: str, on_progress: Callable[[int, int], None]
    ) -> None:
        """Writes a dataset into the new folder `out`, or one each into its `train`, `validation` and `test`.

        `reference` is the game as the user names it; `on_progress` is told bytes read and bytes of all files.
        """
