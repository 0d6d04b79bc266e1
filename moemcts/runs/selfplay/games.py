"""The games of a generation: played in chunks, here or elsewhere, and joined to a dataset."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from moemcts.errors import DamagedFile, MoemctsError
from moemcts.game import Game
from moemcts.learn.data.generation import MAX_EMPTY_GAMES
from moemcts.learn.data.shards import ShardWriter
from moemcts.learn.loop.config import GamesConfig
from moemcts.learn.loop.games import RESIGNED, Counts, PlayedGames
from moemcts.learn.loop.players import Usage
from moemcts.learn.tensors import map_sealed, sealed_bytes

SECONDS_BETWEEN_REPORTS = 0.5


@dataclass(frozen=True, kw_only=True)
class Speed:
    """Running totals for some games."""

    num_games: int = 0
    num_samples: int = 0
    num_plies: int = 0
    num_batches: int = 0
    num_positions: int = 0
    """Positions evaluated."""
    network_seconds: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: Speed) -> Speed:
        return Speed(**{name: value + getattr(other, name) for name, value in vars(self).items()})

    def __sub__(self, other: Speed) -> Speed:
        return Speed(**{name: value - getattr(other, name) for name, value in vars(self).items()})

    def rates(self, seconds: float) -> dict[str, float]:
        """Returns rates over so many seconds, the mean batch size and the network's share of the time."""
        seconds = max(seconds, 1e-9)
        return {
            "games_per_second": round(self.num_games / seconds, 3),
            "plies_per_second": round(self.num_plies / seconds, 2),
            "positions_per_second": round(self.num_positions / seconds, 1),
            "mean_batch": round(self.num_positions / max(self.num_batches, 1), 1),
            "network_share": round(self.network_seconds / max(self.seconds, 1e-9), 4),
        }


class Chunk(NamedTuple):
    """Games of a generation that one process has played as a unit."""

    number: int
    content: bytes
    """The content of its file."""


@dataclass
class SpeedMeter:
    """Measures the total speed of shares of one or several chunks, played concurrently or one after the other."""

    started: float = field(default_factory=time.monotonic)
    total: Speed = Speed()
    """The totals over all shares; `seconds` sums the time of several processes."""
    _shares: dict[int, Speed] = field(default_factory=dict)

    def update(self, share: int, speed: Speed) -> None:
        """Replaces a share's running totals."""
        # Updated incrementally: hundreds of shares report every half second.
        self.total += speed - self._shares.get(share, Speed())
        self._shares[share] = speed

    @property
    def seconds(self) -> float:
        """Elapsed time."""
        return time.monotonic() - self.started


def throttle_progress(report: Callable[[Speed], None], usage: Usage, started: float) -> Callable[[Counts], None]:
    """Returns a callback for every round of games that reports once per `SECONDS_BETWEEN_REPORTS` at most."""
    last = 0.0

    def on_counts(counts: Counts) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_REPORTS:
            last = now
            report(speed_of(counts, usage, started))

    return on_counts


def speed_of(counts: Counts, usage: Usage, started: float) -> Speed:
    """Returns the totals since `started`."""
    return Speed(
        num_games=counts.num_games,
        num_samples=counts.num_samples,
        num_plies=counts.num_plies,
        num_batches=usage.num_batches,
        num_positions=usage.num_positions,
        network_seconds=usage.seconds,
        seconds=time.monotonic() - started,
    )


def chunk_bytes(played: PlayedGames) -> bytes:
    """Returns the content of a file for some games of a generation."""
    return sealed_bytes(played.arrays())


def read_chunk(path: Path) -> PlayedGames:
    """Returns the games in a file; raises DamagedFile if it is damaged."""
    return PlayedGames.of_arrays(map_sealed(path))


def recover_chunks(paths: Sequence[Path]) -> Speed:
    """Returns the number of games and samples in files of an earlier start.

    Damaged files, such as from an interrupted copy, are removed; their games are played again.
    """
    chunks = []
    for path in paths:
        try:
            chunks.append(read_chunk(path))
        except DamagedFile:
            path.unlink()
    return Speed(num_games=sum(map(len, chunks)), num_samples=sum(len(chunk.records) for chunk in chunks))


def game_indices(config: GamesConfig, chunk: int) -> range:
    """Returns the indices of the games of a chunk."""
    start, end = chunk * config.per_part, (chunk + 1) * config.per_part
    return range(start, end if config.samples is not None else min(end, config.games))


def chunks_to_play(
    config: GamesConfig, num_workers: int, samples_of: Callable[[int], int | None], expected_samples: float = 0.0
) -> Iterator[list[int]]:
    """Yields the chunks to play next until there are enough games.

    `samples_of` returns the number of samples of a chunk, or None if it is not played yet. With a fixed number of
    games, all missing chunks come at once. With a fixed number of samples, as many come as are estimated to be missing:
    from the mean of the chunks played, else from `expected_samples` per chunk, the previous generation's; if neither is
    known, one per worker. Raises MoemctsError if games yield no samples.
    """
    if config.samples is None:
        yield [chunk for chunk in range(-(-config.games // config.per_part)) if samples_of(chunk) is None]
        return
    while True:
        num_chunks = num_samples = 0
        while num_samples < config.samples and (found := samples_of(num_chunks)) is not None:
            num_samples += found
            num_chunks += 1
        if num_samples >= config.samples:
            return
        num_games = num_chunks * config.per_part
        if not num_samples and num_games * config.full_share >= MAX_EMPTY_GAMES:
            raise MoemctsError(
                f"no sample from {num_games:,} games: expected decisions between several actions after up to "
                f"{config.random_plies} random moves; choose a smaller games.random_plies, or games.games in "
                "place of games.samples"
            )
        mean = num_samples / num_chunks if num_samples else expected_samples
        num_missing = math.ceil((config.samples - num_samples) / mean) if mean else num_workers
        yield [chunk for chunk in range(num_chunks, num_chunks + num_missing) if samples_of(chunk) is None]


def join_chunks(
    game: Game, config: GamesConfig, chunks: Sequence[Path], out: Path, *, reference: str, source: dict[str, Any]
) -> tuple[int, list[PlayedGames]]:
    """Joins chunks in order to a dataset and returns the number of samples, and the games that they are from.

    If a number of samples is configured, the excess is cut off.
    """
    writer = ShardWriter(out, game, reference=reference, source=source)
    remaining, joined = config.samples, list[PlayedGames]()
    for number, path in enumerate(chunks):
        played = read_chunk(path)
        records = played.records
        if remaining is not None:
            ends = np.cumsum(played.num_samples)
            played = played.first(int(np.searchsorted(ends, remaining)) + 1)
            records = played.records.first(remaining)
            remaining -= len(records)
        joined.append(played)
        if number >= writer.num_shards:
            writer.append(records)
    writer.finish()
    return writer.num_samples, joined


def game_statistics(chunks: Sequence[PlayedGames]) -> dict[str, Any]:
    """Returns statistics of games: numbers, lengths, results by seat, duplicates, resignations."""
    plies = np.concatenate([chunk.plies for chunk in chunks])
    returns = np.concatenate([chunk.returns for chunk in chunks])
    courses = np.concatenate([chunk.course for chunk in chunks])
    seats = np.concatenate([chunk.seat_learned_from for chunk in chunks])
    resigner = np.concatenate([chunk.resigner for chunk in chunks])
    ending = np.concatenate([chunk.ending for chunk in chunks])
    resignable = np.flatnonzero(resigner >= 0)
    num_wrong = int((returns[resignable, resigner[resignable]] > -1).sum())
    with_opponents = np.flatnonzero(seats >= 0)
    own = returns[with_opponents, seats[with_opponents]]
    return {
        "games": len(plies),
        "plies": {
            "shortest": int(plies.min()),
            "median": float(np.median(plies)),
            "mean": round(float(plies.mean()), 3),
            "longest": int(plies.max()),
        },
        "results": [
            {
                "won": round(float((column > 0).mean()), 5),
                "tied": round(float((column == 0).mean()), 5),
                "lost": round(float((column < 0).mean()), 5),
                "mean": round(float(column.mean()), 7),
            }
            for column in returns.T
        ],
        "duplicates": round(1 - len(np.unique(courses)) / len(courses), 5),
        "resigned": round(float((ending == RESIGNED).mean()), 5),
        "would_have_resigned": len(resignable),
        "wrongly": num_wrong,
        "against_others": len(with_opponents),
        "won_against_others": round(float((own > 0).mean()), 5) if len(with_opponents) else None,
    }
