"""Self-play's games, generation by generation: played here or elsewhere, beside a training where that is asked."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from moemcts.arena.replays import write_jsonl
from moemcts.runs.selfplay.games import (
    Chunk,
    Speed,
    SpeedOfShares,
    describe_games,
    done_before,
    join_chunks,
    read_chunk,
    waves,
)
from moemcts.runs.selfplay.generations import PLAYED, REPLAY
from moemcts.runs.selfplay.players import PlayChunks, Players
from moemcts.runs.selfplay.showing import Showing
from moemcts.runs.selfplay.times import Times
from moemcts.store import write_bytes
from moemcts.work import Here, Processes, Workers, num_cores, workers
from moemcts.work.beside import Beside
from moemcts.work.progress import Advance


class Playing:
    """Plays the games of generations, in parts whose files are joined to a dataset when all are there."""

    def __init__(self, players: Players, times: Times) -> None:
        self.players = players
        self.on_disk = players.on_disk
        self._config = players.config
        self._times = times
        self._ahead: Beside | None = None

    def kept(self) -> AbstractContextManager[None]:
        """Within the block processes that have played wait for the next games."""
        # Those of games ahead are a thread's, and end with it.
        return contextlib.nullcontext() if self._config.games.ahead else self._processes.kept()

    def played_by(self, generation: int) -> int:
        """Returns which generation's experts play the games of a generation."""
        return self.on_disk.champion(max(0, generation - 1 - self._config.games.ahead))

    def begin(self, generation: int) -> None:
        """Plays a generation's games from now on, beside what this process does."""
        self._ahead = Beside(functools.partial(self.play_all, generation))

    def play(self, generation: int, advance: Advance) -> None:
        """Plays a generation's games, or waits for them where they were begun."""
        if self._ahead is not None:
            self._ahead.wait(advance)
            self._ahead = None
        self.play_all(generation, advance)

    def stop(self) -> None:
        """Ends games that were begun and that nobody waits for any more."""
        if self._ahead is not None:
            self._ahead.stop()
            self._ahead = None

    def crew(self) -> Workers:
        """Returns who plays a match."""
        if self._ahead is not None or isinstance(self._config.workers, str) or self._processes.count == 1:
            # Every core has games already, or whoever would play has not this folder.
            return Here()
        return self._processes

    def play_all(self, generation: int, advance: Advance) -> None:
        """Plays the games of a generation that are not played yet, and joins them to its dataset."""
        if self.on_disk.said(generation, PLAYED):
            return
        games, champion = self._config.games, self.played_by(generation)
        speed = SpeedOfShares()
        chunks = self._play_chunks(generation, champion, speed, advance)
        num_samples, played = join_chunks(
            self.players.game,
            games,
            chunks,
            self.on_disk.games(generation),
            reference=self._config.game,
            source={"generation": generation, "champion": champion},
        )
        seen = Showing(self.players, generation, champion)
        write_jsonl(self.on_disk.of(generation) / REPLAY, [seen.replay(played[0])])
        said = {"samples": num_samples, "played_by": champion, **describe_games(played)}
        said |= {"openings": seen.openings(played)}
        self.on_disk.say(generation, PLAYED, said)
        self.on_disk.remove(generation, "chunks")
        self._times.note(
            {"generation": generation, **speed.total.rates(speed.seconds), "seconds": round(speed.seconds, 2)}
        )

    def _play_chunks(self, generation: int, champion: int, speed: SpeedOfShares, advance: Advance) -> list[Path]:
        """Plays the parts of a generation's games that are missing; returns the files of all that it needs."""
        games = self._config.games
        kept = done_before(self.on_disk.chunks(generation))
        counts: dict[int, int] = {}

        def samples_of(chunk: int) -> int | None:
            path = self.on_disk.chunk(generation, chunk)
            if chunk not in counts and path.exists():
                counts[chunk] = len(read_chunk(path).records)
            return counts.get(chunk)

        def hear(shares: Sequence[Sequence[int]], number: int, found: Speed | Chunk) -> None:
            if isinstance(found, Chunk):
                write_bytes(self.on_disk.chunk(generation, found.number), found.content)
                return
            speed.note(shares[number][0], found)
            total = kept + speed.total
            expected, unit = games.size
            done = total.num_games if unit == "games" else total.num_samples
            advance(min(done, expected), expected)
            self._times.tell(generation, speed, done / expected)

        crew, player = self._workers(), PlayChunks(self.players, generation, champion)
        before = self.on_disk.said(generation - 1, PLAYED) if generation > 1 else None
        samples_before = before["samples"] / before["games"] * games.per_part if before else 0.0
        for wave in waves(games, crew.count, samples_of, samples_before):
            num_shares = min(crew.count, len(wave)) if games.continuous else len(wave)
            shares = [wave[start::num_shares] for start in range(num_shares)]
            crew.map(player, shares, on_report=functools.partial(hear, shares))
        return [self.on_disk.chunk(generation, chunk) for chunk in range(self._num_chunks(counts))]

    def _num_chunks(self, counts: Mapping[int, int]) -> int:
        """Returns how many chunks, from the first on, are needed."""
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
        """Those that play here; with games ahead, as this one learns meanwhile, even one."""
        count = self._config.workers
        return Processes(count if isinstance(count, int) and count else num_cores(), hint=self._hint)

    def _workers(self) -> Workers:
        if isinstance(self._config.workers, str):
            return workers(self._config.workers, hint=self._hint)
        return self._processes if self._processes.count > 1 or self._config.games.ahead else Here()

    @property
    def _hint(self) -> str:
        """What to do where one of those who play has died."""
        hint = f"go on with moemcts selfplay --resume {self.players.folder}"
        return hint if self._config.games.ahead else f"{hint}, or set workers=1"
