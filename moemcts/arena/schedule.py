"""Games played from a list, with those that are already in a file left out."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from moemcts.arena.games import GameRecord, Lineup, OutcomeRule, Progress, play_games
from moemcts.arena.journal import Journal
from moemcts.errors import DamagedFile, ForeignData
from moemcts.game import Game


def play_schedule(
    game: Game,
    lineups: Sequence[Lineup],
    header: Mapping[str, Any],
    *,
    path: Path | None,
    seed: int,
    rule: OutcomeRule,
    max_parallel: int,
    max_plies: int | None,
    on_progress: Callable[[Progress], None] | None,
) -> Generator[GameRecord, None, None]:
    """Yields the games in the file first, then each that was played now, once it is in the file.

    `index` of each is its position in `lineups`. Raises ForeignData where the file holds other games.
    """
    if path is None:
        yield from play_games(
            game, lineups, seed=seed, rule=rule, max_parallel=max_parallel, max_plies=max_plies, on_progress=on_progress
        )
        return
    with Journal(path, header) as journal:
        done = {}
        for number, line in enumerate(journal.lines, start=2):
            record = _record(path, number, line)
            # A longer match may have been broken off, or this one be a longer one.
            if record.index < len(lineups):
                _check(path, number, record, lineups[record.index])
                done[record.index] = record
        yield from done.values()
        left = [index for index in range(len(lineups)) if index not in done]

        def report(progress: Progress) -> None:
            if on_progress is not None:
                on_progress(replace(progress, num_finished=progress.num_finished + len(done)))

        games = play_games(
            game,
            (lineups[index] for index in left),
            seed=seed,
            rule=rule,
            max_parallel=max_parallel,
            max_plies=max_plies,
            on_progress=report,
        )
        for played in games:
            record = replace(played, index=left[played.index])
            journal.append(record.to_json())
            yield record


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
