"""The games of self-play, played here or elsewhere, and if configured in the background during training."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from moemcts.arena.replays import write_jsonl
from moemcts.runs.run import resume_command
from moemcts.runs.selfplay.games import (
    Chunk,
    Speed,
    SpeedMeter,
    chunks_to_play,
    game_statistics,
    join_chunks,
    read_chunk,
    recover_chunks,
)
from moemcts.runs.selfplay.generations import PLAYED, REPLAY
from moemcts.runs.selfplay.players import ChunkPlayer, Players
from moemcts.runs.selfplay.replayer import GameReplayer
from moemcts.runs.selfplay.times import Times
from moemcts.store import write_bytes
from moemcts.work import InProcess, Processes, Workers, num_cores, workers
from moemcts.work.background import BackgroundTask
from moemcts.work.progress import Advance


class Playing:
    """Plays the games of generations in chunks, whose files are joined to a dataset at the end."""

    def __init__(self, players: Players, times: Times) -> None:
        self.players = players
        self.on_disk = players.on_disk
        self._config = players.config
        self._times = times
        self._ahead: BackgroundTask | None = None
        """Plays the next generation's games during training."""

    def keep_workers(self) -> AbstractContextManager[None]:
        """Returns a context in which worker processes stay alive between generations."""
        # Processes that play games ahead belong to a thread and end with it.
        return contextlib.nullcontext() if self._config.games.ahead else self._processes.keep_idle()

    def played_by(self, generation: int) -> int:
        """Returns the generation whose experts play the games of a generation."""
        return self.on_disk.champion(max(0, generation - 1 - self._config.games.ahead))

    def begin(self, generation: int) -> None:
        """Starts playing a generation's games in the background."""
        self._ahead = BackgroundTask(functools.partial(self.play_all, generation))

    def play(self, generation: int, advance: Advance) -> None:
        """Plays a generation's games, or waits for them if they were begun."""
        if self._ahead is not None:
            self._ahead.wait(advance)
            self._ahead = None
        self.play_all(generation, advance)

    def stop(self) -> None:
        """Stops games in the background that are no longer needed."""
        if self._ahead is not None:
            self._ahead.stop()
            self._ahead = None

    def match_workers(self) -> Workers:
        """Returns the workers that play a match."""
        if self._ahead is not None or isinstance(self._config.workers, str) or self._processes.count == 1:
            # All cores are busy with games, or the workers have no access to this folder.
            return InProcess()
        return self._processes

    def play_all(self, generation: int, advance: Advance) -> None:
        """Plays the missing games of a generation and joins them to its dataset."""
        if self.on_disk.read_result(generation, PLAYED):
            return
        games, champion = self._config.games, self.played_by(generation)
        speed = SpeedMeter()
        chunks = self._play_chunks(generation, champion, speed, advance)
        num_samples, played = join_chunks(
            self.players.game,
            games,
            chunks,
            self.on_disk.games(generation),
            reference=self._config.game,
            source={"generation": generation, "champion": champion},
        )
        replayer = GameReplayer(self.players, generation, champion)
        write_jsonl(self.on_disk.of(generation) / REPLAY, [replayer.replay(played[0])])
        result = {
            "samples": num_samples,
            "played_by": champion,
            **game_statistics(played),
            "openings": replayer.frequent_openings(played),
        }
        self.on_disk.write_result(generation, PLAYED, result)
        self.on_disk.remove(generation, "chunks")
        self._times.append(
            {"generation": generation, **speed.total.rates(speed.seconds), "seconds": round(speed.seconds, 2)}
        )

    def _play_chunks(self, generation: int, champion: int, speed: SpeedMeter, advance: Advance) -> list[Path]:
        """Plays the missing chunks of a generation; returns the files of all chunks it needs."""
        games = self._config.games
        recovered = recover_chunks(self.on_disk.chunks(generation))
        counts: dict[int, int] = {}

        def samples_of(chunk: int) -> int | None:
            path = self.on_disk.chunk(generation, chunk)
            if chunk not in counts and path.exists():
                counts[chunk] = len(read_chunk(path).records)
            return counts.get(chunk)

        def on_report(shares: Sequence[Sequence[int]], number: int, report: Speed | Chunk) -> None:
            if isinstance(report, Chunk):
                write_bytes(self.on_disk.chunk(generation, report.number), report.content)
                return
            speed.update(shares[number][0], report)
            total = recovered + speed.total
            expected, unit = games.size
            done = total.num_games if unit == "games" else total.num_samples
            advance(min(done, expected), expected)
            self._times.report_progress(generation, speed, done / expected)

        pool, player = self._workers(), ChunkPlayer(self.players, generation, champion)
        previous = self.on_disk.read_result(generation - 1, PLAYED) if generation > 1 else None
        samples_per_chunk = previous["samples"] / previous["games"] * games.per_part if previous else 0.0
        for missing in chunks_to_play(games, pool.count, samples_of, samples_per_chunk):
            num_shares = min(pool.count, len(missing)) if games.continuous else len(missing)
            shares = [missing[start::num_shares] for start in range(num_shares)]
            pool.map(player, shares, on_report=functools.partial(on_report, shares))
        return [self.on_disk.chunk(generation, chunk) for chunk in range(self._num_chunks(counts))]

    def _num_chunks(self, counts: Mapping[int, int]) -> int:
        """Returns how many chunks are needed, starting with the first."""
        games = self._config.games
        if games.samples is None:
            return -(-games.games // games.per_part)
        total = number = 0
        while total < games.samples:
            total += counts[number]
            number += 1
        return number

    @functools.cached_property
    def _processes(self) -> Processes:
        """The local worker processes; games ahead use at least one, as this process trains meanwhile."""
        count = self._config.workers
        return Processes(count if isinstance(count, int) and count else num_cores(), hint=self._hint)

    def _workers(self) -> Workers:
        if isinstance(self._config.workers, str):
            return workers(self._config.workers, hint=self._hint)
        return self._processes if self._processes.count > 1 or self._config.games.ahead else InProcess()

    @property
    def _hint(self) -> str:
        """What the user can do if a worker has died."""
        hint = f"go on with {resume_command('selfplay', self.players.folder)}"
        return hint if self._config.games.ahead else f"{hint}, or set workers=1"
