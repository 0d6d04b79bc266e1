"""Generates datasets from games of scripted or searching agents."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from moemcts.agents import Agent
from moemcts.errors import ForeignData, MoemctsError, UsageError
from moemcts.game import Game, Player, first_state
from moemcts.learn.data.finished_games import FinishedGames
from moemcts.learn.data.records import GameLog, Records
from moemcts.learn.data.shards import REQUESTED_SAMPLES, ShardWriter
from moemcts.learn.data.varied import num_random_plies
from moemcts.learn.threads import torch_threads
from moemcts.play import Step, Table, play, seats_of
from moemcts.store import MANIFEST, read_toml


def generate(
    game: Game,
    agents: Sequence[Agent],
    num_samples: int,
    *,
    seed: int,
    out: Path,
    reference: str = "",
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    keep: float = 1.0,
    only_first: bool = False,
    parallel_games: int = 64,
    games_per_shard: int = 512,
) -> Path:
    """Plays games, one agent per seat, until exactly `num_samples` decisions are on disk; returns `out`.

    All decisions of active players are logged except forced ones and random ones of a `RandomStartAgent`. With `keep`
    below 1, only a random share of the positions is logged: the same number of samples then comes from more games,
    whose results are the value targets. With `only_first`, only decisions of the first agent are logged, and all agents
    move on by a seat from game to game.

    Games are played `parallel_games` at a time, with each agent deciding in all of them at once. They depend only on
    the seed and their number, not on how many are played at once. Shard `i` holds the games from `i * games_per_shard`.
    Finished games are saved to disk early, see `FinishedGames`: an interrupted generation resumes from them when it is
    called again, and produces the same bytes. It may then ask for another number of samples, with the same result as if
    it had from the start, but not for fewer than it has up to the first unfinished game.

    Raises ForeignData if `out` holds a dataset made otherwise, UsageError for fewer samples than it has, MoemctsError
    if games yield no samples, ValueError unless there is one agent per seat.
    """
    if len(agents) != game.spec.num_players:
        raise ValueError(f"expected {game.spec.num_players} agents, one per seat, got {len(agents)}")
    source: dict[str, Any] = {
        "agents": [agent.name for agent in agents],
        "seed": seed,
        REQUESTED_SAMPLES: num_samples,
        "games_per_shard": games_per_shard,
    }
    source |= {"keep": keep} if keep < 1 else {}
    source |= {"only_first": True} if only_first else {}
    existing = _read_source(out)
    if any(first_plies := [num_random_plies(agent) for agent in agents]):
        _check_no_random_samples(out, existing, source)
        source[FIRST_PLY] = first_plies
    writer = ShardWriter(out, game, reference=reference or game.spec.name, source=source)
    if existing and existing.get(REQUESTED_SAMPLES) != num_samples:
        _check_enough(out, writer, num_samples, games_per_shard)
        # Saved at once: a later call with the former number is then checked too, and drops no games played from here
        # on.
        writer.save()
    games = _GameSource(game, agents, seed, keep, only_first)
    for shard in range(writer.num_shards):
        # Left over from a kill between writing a shard and removing its games.
        shutil.rmtree(_games_folder(out, shard), ignore_errors=True)
    num_empty_games = 0
    while writer.num_samples < num_samples:
        before = writer.num_samples
        numbers = range(writer.num_shards * games_per_shard, (writer.num_shards + 1) * games_per_shard)
        with torch_threads(1), FinishedGames(_games_folder(out, writer.num_shards), writer.head) as finished:
            records = _Shard(games, numbers, num_samples - before, finished).play(
                parallel_games,
                lambda done, before=before: on_progress(min(before + done, num_samples), num_samples),  # type: ignore[misc]
            )
            add = writer.append if before + len(records) < num_samples else writer.finish
            add(records)
        num_empty_games = 0 if len(records) else num_empty_games + games_per_shard
        if num_empty_games * keep >= MAX_EMPTY_GAMES:
            if not writer.num_samples:
                # Nothing is lost, and the folder is free for other settings.
                (out / MANIFEST).unlink(missing_ok=True)
            raise MoemctsError(
                f"no sample from {num_empty_games:,} games of {game.spec.name}: expected decisions between several "
                "actions"
                + (f" after {max(first_plies)} random plies; use fewer random plies" if any(first_plies) else "")
            )
    if not writer.is_complete:
        # The shards hold exactly enough: finished games after an unfinished one were for a larger number.
        writer.finish()
        shutil.rmtree(_games_folder(out, writer.num_shards), ignore_errors=True)
    on_progress(writer.num_samples, num_samples)
    return out


MAX_EMPTY_GAMES = 1000
"""Number of games without a sample, times `keep`, after which generation gives up."""
FIRST_PLY = "samples_from_ply"
"""Manifest key for the plies from which agents' decisions are samples; datasets without it have random ones too."""


def _games_folder(out: Path, shard: int) -> Path:
    """Returns the folder of a shard's finished games, in use until the shard is written."""
    return out / f"shard-{shard:05d}.games"


def _read_source(out: Path) -> dict[str, Any]:
    """Returns the source of the samples that a folder already holds; empty if it holds none."""
    source = read_toml(out / MANIFEST).get("source") if (out / MANIFEST).exists() else None
    return dict(source) if isinstance(source, Mapping) else {}


def _check_enough(out: Path, writer: ShardWriter, num_samples: int, games_per_shard: int) -> None:
    """Raises UsageError if there are more samples than requested."""
    finished = FinishedGames(_games_folder(out, writer.num_shards), writer.head)
    num_existing = writer.num_samples + finished.num_samples(writer.num_shards * games_per_shard)
    if num_samples < num_existing:
        raise UsageError(f"expected at least {num_existing} samples, which {out} already has, got {num_samples}")


def _check_no_random_samples(out: Path, existing: Mapping[str, Any], source: Mapping[str, Any]) -> None:
    """Raises ForeignData if `out` holds a dataset whose samples include plies at random."""
    if existing.get("agents") == source["agents"] and FIRST_PLY not in existing:
        raise ForeignData(
            f"{out} was begun by a version in which random plies were samples too; generate into another folder "
            "(a complete dataset can be learned from as it is)"
        )


@dataclass(eq=False, kw_only=True)
class _LoggedTable(Table):
    """A game whose decisions are logged."""

    log: GameLog
    keep_rng: np.random.Generator
    """Decides which positions are kept."""
    learners: frozenset[Player]
    """Players whose decisions are logged."""


@dataclass(frozen=True)
class _GameSource:
    """What the games of a dataset depend on, besides their numbers."""

    game: Game
    agents: Sequence[Agent]
    seed: int
    keep: float
    only_first: bool

    def open(self, number: int) -> _LoggedTable:
        """Returns a game at its start."""
        num_players = self.game.spec.num_players
        start = self._seed(number).generate_state(1, np.uint64)[0]
        first = number % num_players if self.only_first else 0
        learners = [first] if self.only_first else range(num_players)
        return _LoggedTable(
            state=first_state(self.game, int(start >> np.uint64(1))),
            agents=[self.agents[(seat - first) % num_players] for seat in range(num_players)],
            seats=seats_of(num_players, self.seed, number),
            chance=np.random.default_rng(self._seed(number, num_players + 1)),
            log=GameLog(number),
            keep_rng=np.random.default_rng(self._seed(number, num_players)),
            learners=frozenset(learners),
        )

    def log_step(self, step: Step[_LoggedTable]) -> None:
        """Logs the decisions that had several options; raises AgentFailure if an agent has failed."""
        step.check()
        if step.table.keep_rng.random() < self.keep:
            samples = [
                (player, decision)
                for player, decision, num_legal in zip(step.players, step.decisions, step.num_legal, strict=True)
                if num_legal > 1 and self._is_sample(step, player)
            ]
            step.table.log.add(step.state, samples)
        if step.table.paid is not None or self.game.spec.discount != 1:
            step.table.log.pay(step.state, step.table.state, self.game.spec.discount)

    def _is_sample(self, step: Step[_LoggedTable], player: Player) -> bool:
        """Returns whether a player's decision is a sample."""
        table = step.table
        return player in table.learners and step.state.ply >= num_random_plies(table.agents[player])

    def _seed(self, *number: int) -> np.random.SeedSequence:
        return np.random.SeedSequence((self.seed, *number))


class _Shard:
    """The games of one shard, as many as the requested number of samples takes."""

    def __init__(self, source: _GameSource, numbers: range, num_wanted: int, finished: FinishedGames) -> None:
        self._source = source
        self._numbers = numbers
        self._num_wanted = num_wanted
        self._finished = finished
        self._num_samples = {number: len(records) for number, records in finished.records.items()}
        """Per game, so far."""
        self._tables: dict[int, _LoggedTable] = {}
        """The games in progress."""

    def play(self, parallel_games: int, on_progress: Callable[[int], None]) -> Records:
        """Returns the first `num_wanted` samples of the games, or all if there are fewer."""
        on_progress(self._num_done())
        for steps in play(self._source.game, self._open(), max_parallel=parallel_games):
            for step in steps:
                self._log_step(step)
            end = self._end()
            for number in [number for number in self._tables if number >= end]:
                self._tables.pop(number).close()
            self._finished.end_round()
            on_progress(self._num_done())
        records = self._finished.records
        return Records.join([records[number] for number in self._needed() if number in records]).first(self._num_wanted)

    def _open(self) -> Iterator[_LoggedTable]:
        for number in self._numbers:
            if number >= self._end():
                return
            if number not in self._finished.records:
                self._tables[number] = self._source.open(number)
                yield self._tables[number]

    def _log_step(self, step: Step[_LoggedTable]) -> None:
        self._source.log_step(step)
        log = step.table.log
        self._num_samples[log.number] = log.num_samples
        if not step.table.players:
            self._finished.add(log.number, log.finish(self._source.game, step.table.state))
            del self._tables[log.number]

    def _num_done(self) -> int:
        return sum(self._num_samples.get(number, 0) for number in self._needed())

    def _needed(self) -> range:
        return range(self._numbers.start, self._end())

    def _end(self) -> int:
        """Returns the end of the range of games needed, as far as known."""
        logged = 0
        for number in self._numbers:
            if logged >= self._num_wanted:
                return number
            logged += self._num_samples.get(number, 0)
        return self._numbers.stop
