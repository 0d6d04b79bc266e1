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
MAX_DAMAGED_SHOWN = 20
"""Maximum number of damaged games that a report lists with line and reason."""
NUM_BYTES_CHECKED = 65_536
"""Number of decompressed bytes of a file whose encoding is checked before its games are read."""
REJECTION_REASONS = {
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
        draws = uniform_of(numbers, self.seed)
        return np.select([draws < self.validation, draws < self.validation + self.test], [1, 2], 0)


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
        for batch in _read_batches(paths, game, wanted or Filter(), num_threads, report, on_progress):
            split_of_game = (split or RandomSplit())(batch.numbers, batch.dates)
            for index, writer in enumerate(writers):
                writer.add(batch, split_of_game == index)
        if not report.num_positions:
            raise MoemctsError(_describe_rejections(paths, game, report))
        for name, writer in zip(SPLITS, writers, strict=True):
            if writer.num_games:
                report.splits[name] = {"games": writer.num_games, "positions": writer.finish()}
        report.seconds = round(time.monotonic() - started, 3)
        write_json(folder / IMPORT_REPORT, asdict(report) | source)
    return report


@dataclass(frozen=True, kw_only=True)
class _Batch:
    """G games of the native reader, with N positions in all."""

    numbers: IntArray
    """The number of each game in the import, `[G]`, as are all columns up to `lines`."""
    dates: IntArray
    lengths: IntArray
    results: IntArray
    elo: IntArray
    """Ratings of White and Black, `[2, G]`."""
    lines: IntArray
    file: int
    """The index of the file."""
    actions: np.ndarray[Any, Any]
    """The action played in each position, `[N]`."""
    positions: np.ndarray[Any, Any]
    """Compact positions, one after the other."""


class _SplitWriter:
    """Writes one dataset incrementally."""

    def __init__(self, folder: Path, game: ChessGame, reference: str, source: Mapping[str, Any]) -> None:
        self._folder = folder
        self._make_writer: Callable[[], ShardWriter] = partial(_make_shard_writer, folder, game, reference, source)
        self._writer: ShardWriter | None = None
        self._records: list[Records] = []
        self._num_pending = 0
        self._tables: list[dict[str, IntArray]] = []
        self.num_games = 0

    def add(self, batch: _Batch, is_selected: np.ndarray[Any, Any]) -> None:
        """Adds the selected games of a batch; `is_selected` is `[G]`."""
        if not is_selected.any():
            return
        records = _make_records(batch, is_selected)
        self._records.append(records)
        self._num_pending += len(records)
        self.num_games += int(is_selected.sum())
        table = {"number": batch.numbers, "date": batch.dates, "result": batch.results, "length": batch.lengths}
        table |= {"white_elo": batch.elo[0], "black_elo": batch.elo[1], "line": batch.lines}
        table |= {"source": np.full(len(is_selected), batch.file)}
        self._tables.append({name: column[is_selected] for name, column in table.items()})
        if self._num_pending >= SHARD_POSITIONS:
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
        self._writer = self._writer or self._make_writer()
        columns = {name: np.concatenate([table[name] for table in self._tables]) for name in self._tables[0]}
        path = self._folder / f"games-{self._writer.num_shards:05d}.npz"
        np.savez_compressed(str(path), allow_pickle=False, **columns)
        self._writer.append(Records.join(self._records))
        self._records, self._tables, self._num_pending = [], [], 0


def _make_shard_writer(folder: Path, game: ChessGame, reference: str, source: Mapping[str, Any]) -> ShardWriter:
    from moemcts.learn.data.shards import ShardWriter

    folder.mkdir(parents=True)
    return ShardWriter(folder, game, reference=reference, source=source)


def _make_records(batch: _Batch, is_selected: np.ndarray[Any, Any]) -> Records:
    """Returns the positions of the selected games, with results from the points of view of the players to move."""
    from moemcts.learn.data.records import Records

    game_of_row = np.repeat(np.arange(len(is_selected)), batch.lengths)
    ends = np.cumsum(batch.lengths)
    rows = np.flatnonzero(is_selected[game_of_row])
    game_of_row = game_of_row[rows]
    positions = batch.positions.reshape(-1, POSITION_BYTES)[rows]
    player = (positions[:, SIDE_BYTE] & 1).astype(np.int64)
    result = (batch.results[game_of_row] * (1 - 2 * player)).astype(np.float32)
    return Records(
        positions=Packed(positions.reshape(-1), np.arange(len(rows) + 1, dtype=np.int64) * POSITION_BYTES),
        position=np.arange(len(rows), dtype=np.int64),
        player=player,
        action=batch.actions[rows].astype(np.int64),
        returns=np.stack([result, -result], axis=1),
        plies_to_end=ends[game_of_row] - rows,
        game=batch.numbers[game_of_row],
    )


def _read_batches(
    paths: Sequence[Path],
    game: ChessGame,
    wanted: Filter,
    num_threads: int,
    report: ImportReport,
    on_progress: Progress,
) -> Iterator[_Batch]:
    """Yields the accepted games of all files, and counts them and all others in the report."""
    total_bytes = sum(_file_size(path) for path in paths)
    bytes_of_earlier_files = 0
    for file, path in enumerate(paths):
        try:
            _check_encoding(path)
            reader = core.ChessImporter(path, game.rules, threads=num_threads, **asdict(wanted))
            while (columns := reader.next_games()) is not None:
                first_number = report.num_games
                _update_report(report, columns, path)
                on_progress(bytes_of_earlier_files + reader.progress[0], total_bytes, report.num_games)
                yield _Batch(
                    numbers=np.arange(first_number, report.num_games, dtype=np.int64),
                    dates=columns["dates"],
                    lengths=columns["lengths"],
                    results=columns["results"],
                    elo=np.stack([columns["white_elo"], columns["black_elo"]]),
                    lines=columns["lines"],
                    file=file,
                    actions=columns["actions"],
                    positions=columns["positions"],
                )
        except OSError as error:
            raise unreadable(str(path), error) from None
        bytes_of_earlier_files += _file_size(path)


def _check_encoding(path: Path) -> None:
    """Raises UsageError if the beginning of a file is UTF-16, which some programs write, or has piece letters that
    `check_letters` rejects.
    """
    beginning = _read_beginning(path)
    if b"\0" not in beginning:
        check_letters(beginning.decode("utf-8", errors="replace"), path)
    if beginning[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or b"\0" in beginning[:2]:
        raise UsageError(f"expected text in UTF-8, got UTF-16 or binary data in {path}; save it as UTF-8")


def _read_beginning(path: Path) -> bytes:
    """Returns the decompressed beginning of a file; empty for zstd without the package `zstandard`, or for a damaged
    file, which the reader will report.
    """
    with open(path, "rb") as file:
        magic = file.read(4)
        file.seek(0)
        if not magic.startswith((GZIP, BZIP2, ZSTD)):
            return file.read(NUM_BYTES_CHECKED)
        with suppress(Exception):
            if magic == ZSTD:
                import zstandard

                return bytes(zstandard.open(file).read(NUM_BYTES_CHECKED))
            return bytes((gzip if magic.startswith(GZIP) else bz2).open(file).read(NUM_BYTES_CHECKED))
    return b""


def _update_report(report: ImportReport, columns: Mapping[str, Any], path: Path) -> None:
    """Adds a batch of the native reader to the report."""
    report.num_games += len(columns["lengths"])
    report.num_positions += len(columns["actions"])
    for name, count in columns["rejected"].items():
        report.rejected[name] = report.rejected.get(name, 0) + count
    report.num_damaged += len(columns["damaged"])
    num_more = max(MAX_DAMAGED_SHOWN - len(report.damaged), 0)
    report.damaged += [f"{path}, line {line}: {reason}" for line, reason in columns["damaged"][:num_more]]


def _describe_rejections(paths: Sequence[Path], game: ChessGame, report: ImportReport) -> str:
    """Returns why an import has no positions."""
    reasons = [f"{report.num_games} without moves"] if report.num_games else []
    for name, count in report.rejected.items():
        if count:
            reasons.append(f"{count} left out by {name} ({REJECTION_REASONS[name]})")
    if report.num_damaged:
        reasons.append(f"{report.num_damaged} damaged, the first at {report.damaged[0]}")
    files = ", ".join(map(str, paths))
    return f"expected games of {game.variant} in {files}, found {'; '.join(reasons) or 'no game at all'}"


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise unreadable(str(path), error) from None


@contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """Opens a temporary folder that is renamed to `out` once complete, and removed if anything fails."""
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        _remove_leftovers(out)
        part.mkdir(parents=True)
        yield part
        os.replace(part, out)
    except OSError as error:
        raise MoemctsError(f"cannot write {out}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _remove_leftovers(out: Path) -> None:
    """Removes temporary folders left by imports that were killed."""
    for part in out.parent.glob(f".{glob.escape(out.name)}.*.part"):
        if is_leftover(part):
            shutil.rmtree(part, ignore_errors=True)
