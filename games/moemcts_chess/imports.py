"""Import of PGN files as datasets: streamed, filtered, split, and written atomically."""

from __future__ import annotations

import bz2
import codecs
import glob
import gzip
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from moemcts.errors import MoemctsError, UsageError, unreadable
from moemcts.game import IntArray, Packed
from moemcts.native import core
from moemcts.splitmix import uniform_of
from moemcts.store import is_leftover, write_json
from moemcts_chess.game import ChessGame
from moemcts_chess.openings import check_letters

if TYPE_CHECKING:
    from moemcts.learn.data.records import Records
    from moemcts.learn.data.shards import ShardWriter

SPLITS = ("train", "validation", "test")
POSITION_BYTES = 80
SIDE_BYTE = 45
"""Offset of the side to move in a compact position; native/chess/src/compact.rs documents the layout."""
SHARD_POSITIONS = 250_000
NUM_SHOWN = 20
"""Maximum number of damaged games that a report lists with line and reason."""
LOOKED_AT = 65_536
"""Number of decompressed bytes of a file that are checked before its games are read."""
LEFT_OUT = {
    "variant": "of another one",
    "elo": "a rating is too low or not known",
    "length": "too short or too long",
    "result": "unfinished, or none of those wanted",
    "date": "not known, or outside those wanted",
}
"""Why the filter rejects games, by condition."""
GZIP, BZIP2, ZSTD = b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd"
"""Magic bytes of compressed files."""

Progress = Callable[[int, int, int], None]
"""A callback with the bytes read, the total bytes of all files, and the games read."""


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Conditions on games; all must hold."""

    min_elo: int = 0
    """Both players need at least this rating; unrated players fail."""
    min_plies: int = 0
    max_plies: int = 2**32 - 1
    results: tuple[int, ...] = (1, 0, -1)
    """1 White won, 0 draw, -1 Black won."""
    since: int = 0
    """First accepted date, as a number like 20171231."""
    until: int = 2**32 - 1


class Split(Protocol):
    """Assigns games to `SPLITS`."""

    def __call__(self, numbers: IntArray, dates: IntArray) -> IntArray:
        """Returns indices into `SPLITS`, `[G]`, from the numbers and dates of games."""


@dataclass(frozen=True)
class MonthSplit:
    """Whole months for validation and test, as in the papers; months are numbers like 201209."""

    validation: Sequence[int] = ()
    test: Sequence[int] = ()

    def __call__(self, numbers: IntArray, dates: IntArray) -> IntArray:
        months = dates // 100
        return np.select([np.isin(months, self.validation), np.isin(months, self.test)], [1, 2], 0)


@dataclass(frozen=True)
class RandomSplit:
    """A random split by a game's number among those accepted, which depends on the files and the filter."""

    validation: float = 0.0
    test: float = 0.0
    seed: int = 0

    def __call__(self, numbers: IntArray, dates: IntArray) -> IntArray:
        drawn = uniform_of(numbers, self.seed)
        return np.select([drawn < self.validation, drawn < self.validation + self.test], [1, 2], 0)


@dataclass
class ImportReport:
    """Statistics of an import."""

    num_games: int = 0
    num_positions: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    """Numbers of games excluded by the filter, by condition."""
    num_damaged: int = 0
    damaged: list[str] = field(default_factory=list)
    """The first damaged games: file, line and reason."""
    seconds: float = 0.0
    splits: dict[str, dict[str, int]] = field(default_factory=dict)
    """Numbers of games and positions of each split."""


def import_pgn(
    paths: Sequence[Path],
    game: ChessGame,
    out: Path,
    *,
    reference: str,
    wanted: Filter | None = None,
    split: Split | None = None,
    num_threads: int = 0,
    on_progress: Progress = lambda done, total, games: None,
) -> ImportReport:
    """Writes a dataset for each split with games, such as `out/train`, and `out/import.json`.

    Next to each shard is a table, `games-00000.npz` and so on, with one row per game: number, date, ratings, result,
    length, source file and line. Raises UsageError if `out` exists, MoemctsError if a file cannot be read or contains
    no accepted game; `out` is then not created.
    """
    if out.exists():
        raise UsageError(f"expected a new folder, but {out} exists")
    from moemcts.learn.data.shards import IMPORT_REPORT

    started = time.monotonic()
    report = ImportReport()
    with _new_folder(out) as folder:
        source = {"files": [str(path) for path in paths], "filter": asdict(wanted or Filter()), "split": repr(split)}
        writers = [_SplitWriter(folder / name, game, reference, source) for name in SPLITS]
        for block in _blocks(paths, game, wanted or Filter(), num_threads, report, on_progress):
            which = (split or RandomSplit())(block.numbers, block.dates)
            for index, writer in enumerate(writers):
                writer.add(block, which == index)
        if not report.num_positions:
            raise MoemctsError(_nothing(paths, game, report))
        for name, writer in zip(SPLITS, writers, strict=True):
            if writer.num_games:
                report.splits[name] = {"games": writer.num_games, "positions": writer.finish()}
        report.seconds = round(time.monotonic() - started, 3)
        write_json(folder / IMPORT_REPORT, asdict(report) | source)
    return report


@dataclass(frozen=True)
class _Block:
    """A batch of games from the native reader."""

    numbers: IntArray
    dates: IntArray
    lengths: IntArray
    results: IntArray
    elo: IntArray
    lines: IntArray
    file: int
    actions: np.ndarray[Any, Any]
    positions: np.ndarray[Any, Any]


class _SplitWriter:
    """Writes one dataset incrementally."""

    def __init__(self, folder: Path, game: ChessGame, reference: str, source: Mapping[str, Any]) -> None:
        self._folder = folder
        self._open: Callable[[], ShardWriter] = partial(_shard_writer, folder, game, reference, source)
        self._writer: ShardWriter | None = None
        self._records: list[Records] = []
        self._pending = 0
        self._tables: list[dict[str, IntArray]] = []
        self.num_games = 0

    def add(self, block: _Block, games: np.ndarray[Any, Any]) -> None:
        """Adds the selected games of a block."""
        if not games.any():
            return
        records = _records(block, games)
        self._records.append(records)
        self._pending += len(records)
        self.num_games += int(games.sum())
        table = {"number": block.numbers, "date": block.dates, "result": block.results, "length": block.lengths}
        table |= {"white_elo": block.elo[0], "black_elo": block.elo[1], "line": block.lines}
        table |= {"source": np.full(len(games), block.file)}
        self._tables.append({name: column[games] for name, column in table.items()})
        if self._pending >= SHARD_POSITIONS:
            self._flush()

    def finish(self) -> int:
        """Writes the remaining games and returns the number of positions."""
        self._flush()
        assert self._writer is not None
        self._writer.finish()
        return self._writer.num_samples

    def _flush(self) -> None:
        from moemcts.learn.data.records import Records

        if not self._records:
            return
        self._writer = self._writer or self._open()
        table = {name: np.concatenate([table[name] for table in self._tables]) for name in self._tables[0]}
        path = self._folder / f"games-{self._writer.num_shards:05d}.npz"
        np.savez_compressed(str(path), allow_pickle=False, **table)
        self._writer.append(Records.join(self._records))
        self._records, self._tables, self._pending = [], [], 0


def _shard_writer(folder: Path, game: ChessGame, reference: str, source: Mapping[str, Any]) -> ShardWriter:
    from moemcts.learn.data.shards import ShardWriter

    folder.mkdir(parents=True)
    return ShardWriter(folder, game, reference=reference, source=source)


def _records(block: _Block, games: np.ndarray[Any, Any]) -> Records:
    from moemcts.learn.data.records import Records

    of_game = np.repeat(np.arange(len(games)), block.lengths)
    ends = np.cumsum(block.lengths)
    rows = np.flatnonzero(games[of_game])
    of_game = of_game[rows]
    positions = block.positions.reshape(-1, POSITION_BYTES)[rows]
    player = (positions[:, SIDE_BYTE] & 1).astype(np.int64)
    result = (block.results[of_game] * (1 - 2 * player)).astype(np.float32)
    return Records(
        positions=Packed(positions.reshape(-1), np.arange(len(rows) + 1, dtype=np.int64) * POSITION_BYTES),
        position=np.arange(len(rows), dtype=np.int64),
        player=player,
        action=block.actions[rows].astype(np.int64),
        returns=np.stack([result, -result], axis=1),
        plies_to_end=ends[of_game] - rows,
        game=block.numbers[of_game],
    )


def _blocks(
    paths: Sequence[Path],
    game: ChessGame,
    wanted: Filter,
    num_threads: int,
    report: ImportReport,
    on_progress: Progress,
) -> Iterator[_Block]:
    total = sum(_size(path) for path in paths)
    before = 0
    for file, path in enumerate(paths):
        try:
            _check_text(path)
            reader = core.ChessImporter(path, game.rules, threads=num_threads, **asdict(wanted))
            while (raw := reader.next_games()) is not None:
                _count(raw, path, report)
                numbers = np.arange(report.num_games, report.num_games + len(raw["lengths"]), dtype=np.int64)
                report.num_games += len(numbers)
                report.num_positions += len(raw["actions"])
                on_progress(before + reader.progress[0], total, report.num_games)
                elo = np.stack([raw["white_elo"], raw["black_elo"]])
                dates, lengths, results = raw["dates"], raw["lengths"], raw["results"]
                yield _Block(
                    numbers, dates, lengths, results, elo, raw["lines"], file, raw["actions"], raw["positions"]
                )
        except OSError as error:
            raise unreadable(str(path), error) from None
        before += _size(path)


def _check_text(path: Path) -> None:
    """Raises UsageError if the beginning of a file is UTF-16, which some programs write, or has piece letters that
    `check_letters` rejects.
    """
    start = _start(path)
    if b"\0" not in start:
        check_letters(start.decode("utf-8", errors="replace"), path)
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or b"\0" in start[:2]:
        raise UsageError(f"expected text in UTF-8, got UTF-16 or binary data in {path}; save it as UTF-8")


def _start(path: Path) -> bytes:
    """Returns the decompressed beginning of a file; empty for zstd without the package `zstandard`, or for a damaged
    file, which the reader will report.
    """
    with open(path, "rb") as file:
        magic = file.read(4)
        file.seek(0)
        if not magic.startswith((GZIP, BZIP2, ZSTD)):
            return file.read(LOOKED_AT)
        with suppress(Exception):
            if magic == ZSTD:
                import zstandard

                return bytes(zstandard.open(file).read(LOOKED_AT))
            return bytes((gzip if magic.startswith(GZIP) else bz2).open(file).read(LOOKED_AT))
    return b""


def _count(raw: Mapping[str, Any], path: Path, report: ImportReport) -> None:
    for name, count in raw["rejected"].items():
        report.rejected[name] = report.rejected.get(name, 0) + count
    report.num_damaged += len(raw["damaged"])
    room = NUM_SHOWN - len(report.damaged)
    report.damaged += [f"{path}, line {line}: {reason}" for line, reason in raw["damaged"][: max(room, 0)]]


def _nothing(paths: Sequence[Path], game: ChessGame, report: ImportReport) -> str:
    found = [f"{report.num_games} without moves"] if report.num_games else []
    found += [f"{count} left out by {name} ({LEFT_OUT[name]})" for name, count in report.rejected.items() if count]
    if report.num_damaged:
        found.append(f"{report.num_damaged} damaged, the first at {report.damaged[0]}")
    files = ", ".join(map(str, paths))
    return f"expected games of {game.variant} in {files}, found {'; '.join(found) or 'no game at all'}"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise unreadable(str(path), error) from None


@contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """Opens a temporary folder that is renamed to `out` once complete, and removed if anything fails."""
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        _clear(out)
        part.mkdir(parents=True)
        yield part
        os.replace(part, out)
    except OSError as error:
        raise MoemctsError(f"cannot write {out}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _clear(out: Path) -> None:
    """Removes temporary folders left by imports that were killed."""
    for part in out.parent.glob(f".{glob.escape(out.name)}.*.part"):
        if is_leftover(part):
            shutil.rmtree(part, ignore_errors=True)
