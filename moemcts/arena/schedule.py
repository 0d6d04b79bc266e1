"""Games played from a list, with those that are already in a file left out."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from moemcts.arena.adjudication import Adjudication, to_json
from moemcts.arena.games import GameRecord, Lineup, OutcomeRule, Progress, last_one_standing, play_games
from moemcts.arena.journal import Journal
from moemcts.errors import DamagedFile, ForeignData
from moemcts.game import Game


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """How the games of a match are played, whoever plays them."""

    seed: int = 0
    rule: OutcomeRule = last_one_standing
    max_parallel: int = 256
    max_plies: int | None = None
    adjudication: Adjudication | None = None
    keep_thoughts: bool = False

    def to_json(self) -> dict[str, Any]:
        """Returns what the header of a match's file says: all that games depend on."""
        return {"seed": self.seed, "max_plies": self.max_plies} | to_json(self.adjudication)


Play = Callable[[Sequence[int], Callable[[Progress], None]], Generator[GameRecord, None, None]]
"""Plays the games of these positions in the schedule and yields their records, each with that as its `index`."""


def play_here(game: Game, lineups: Sequence[Lineup], conditions: Conditions) -> Play:
    """Returns what plays the games of a schedule in this process."""

    def play(indices: Sequence[int], on_progress: Callable[[Progress], None]) -> Generator[GameRecord, None, None]:
        games = play_games(
            game,
            (lineups[index] for index in indices),
            seed=conditions.seed,
            rule=conditions.rule,
            max_parallel=conditions.max_parallel,
            max_plies=conditions.max_plies,
            adjudication=conditions.adjudication,
            keep_thoughts=conditions.keep_thoughts,
            on_progress=on_progress,
        )
        with closing(games):
            for played in games:
                yield replace(played, index=indices[played.index])

    return play


def play_schedule(
    lineups: Sequence[Lineup],
    play: Play,
    header: Mapping[str, Any],
    *,
    path: Path | None,
    on_progress: Callable[[Progress], None] | None,
    on_game: Callable[[GameRecord], None] | None,
) -> Generator[GameRecord, None, None]:
    """Yields the games in the file first, then each that was played now, once it is in the file.

    `index` of each is its position in `lineups`. Raises ForeignData where the file holds other games.
    """
    with nullcontext() if path is None else Journal(path, header) as journal:
        done = {} if journal is None else _finished(journal, lineups)
        for record in done.values():
            if on_game is not None:
                on_game(record)
            yield record

        def report(progress: Progress) -> None:
            if on_progress is not None:
                on_progress(replace(progress, num_finished=progress.num_finished + len(done)))

        with closing(play([index for index in range(len(lineups)) if index not in done], report)) as games:
            for record in games:
                if journal is not None:
                    journal.append(record.to_json())
                if on_game is not None:
                    on_game(record)
                yield record


def _finished(journal: Journal, lineups: Sequence[Lineup]) -> dict[int, GameRecord]:
    done = {}
    for number, line in enumerate(journal.lines, start=2):
        record = _record(journal.path, number, line)
        # A longer match may have been broken off, or this one be a longer one.
        if record.index < len(lineups):
            _check(journal.path, number, record, lineups[record.index])
            done[record.index] = record
    return done


def _record(path: Path, number: int, line: dict[str, Any]) -> GameRecord:
    try:
        return GameRecord.from_json(line)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedFile(
            f"{path}, line {number}: expected a game, got {error!r}; remove the line to play it again"
        ) from error


def _check(path: Path, number: int, record: GameRecord, lineup: Lineup) -> None:
    found = (record.label, record.opening, record.focus, list(record.agents))
    expected = (lineup.label, lineup.opening_name, lineup.focus, [agent.name for agent in lineup.agents])
    if found != expected:
        raise ForeignData(f"{path}, line {number}: expected game {record.index} to be {expected}, got {found}")
