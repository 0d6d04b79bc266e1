"""The finished games of a shard that is not written yet, saved to disk so that a kill loses few of them."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from numpy.typing import NDArray

from moemcts.errors import DamagedFile
from moemcts.learn.container import container_bytes, read_container
from moemcts.learn.data.records import Records
from moemcts.learn.data.shards import without_num_samples
from moemcts.learn.identity import check_same
from moemcts.store import digest, read_bytes, write_bytes

SECONDS_UNWRITTEN = 20.0
"""Longest time that finished games wait to be written together, if rounds take as long as the last one."""
_HASH = 16
"""Digits of a file's hash in its name."""


class FinishedGames:
    """The finished games of one shard, including those from before an interruption.

    They have a folder of their own, several to a file, while the shard is being made. Leaving the `with` block removes
    the folder, or, on an exception, saves all games in it. A file is named by the hash of its content; one that does
    not match is ignored, and its games are played again.
    """

    def __init__(self, folder: Path, dataset: Mapping[str, Any]) -> None:
        """Loads the games in the folder; `dataset` describes their dataset, as its manifest begins.

        Raises ForeignData if these games are of another dataset, regardless of the number of samples.
        """
        self.records: dict[int, Records] = {}
        """Keyed by game number."""
        self._folder = folder
        self._dataset = without_num_samples(dataset)
        self._unwritten: list[int] = []
        self._unwritten_since = 0.0
        self._round_began = time.monotonic()
        for path in sorted(folder.glob("*.safetensors")):
            with contextlib.suppress(DamagedFile):
                self.records |= self._read(path)

    def num_samples(self, first: int) -> int:
        """Returns the number of samples of consecutive games from a number on, up to the first missing game."""
        consecutive = itertools.takewhile(self.records.__contains__, itertools.count(first))
        return sum(len(self.records[number]) for number in consecutive)

    def add(self, number: int, records: Records) -> None:
        """Adds a game that is over."""
        if not self._unwritten:
            self._unwritten_since = time.monotonic()
        self.records[number] = records
        self._unwritten.append(number)

    def end_round(self) -> None:
        """Writes finished games to disk if they would wait too long for the end of the next round."""
        now = time.monotonic()
        next_round_ends = now + (now - self._round_began)
        self._round_began = now
        if self._unwritten and next_round_ends - self._unwritten_since >= SECONDS_UNWRITTEN:
            self.save()

    def save(self) -> None:
        """Writes all games that are not on disk; raises MoemctsError on failure."""
        if not self._unwritten:
            return
        arrays = {
            f"{number}.{name}": array
            for number in self._unwritten
            for name, array in self.records[number].arrays().items()
        }
        content = container_bytes(arrays, {"dataset": self._dataset})
        write_bytes(self._folder / f"{digest(content)[:_HASH]}.safetensors", content)
        self._unwritten = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            shutil.rmtree(self._folder, ignore_errors=True)
        else:
            self.save()

    def _read(self, path: Path) -> dict[int, Records]:
        if digest(read_bytes(path))[:_HASH] != path.stem:
            raise DamagedFile(f"{path} is damaged: its content differs from what was written")
        arrays, content = read_container(path)
        check_same(path, self._dataset, without_num_samples(content.get("dataset", {})))
        games: dict[int, dict[str, NDArray[Any]]] = {}
        for key, array in arrays.items():
            number, _, name = key.partition(".")
            games.setdefault(int(number), {})[name] = array
        return {number: Records.of_arrays(game) for number, game in games.items()}
