"""Plays a schedule, in this process or in several, with a file from which it can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from moemcts.arena.games import Conditions, Progress, play_games
from moemcts.arena.journal import Journal
from moemcts.arena.records import GameRecord, Lineup, check_moves, key_of
from moemcts.arena.schedules import Remake, Schedule
from moemcts.errors import DamagedFile, ForeignData
from moemcts.game import Game
from moemcts.work import InProcess, Report, Workers


@dataclass(frozen=True)
class MatchCallbacks:
    """Callbacks while a match is played."""

    on_progress: Callable[[Progress], None] = lambda progress: None
    on_game: Callable[[GameRecord], None] = lambda record: None
    """Called with every game: first those in the file, then each as it finishes."""


def play_match(
    game: Game,
    schedule: Schedule,
    conditions: Conditions,
    *,
    journal: Path | None = None,
    workers: Workers | None = None,
    stop: Callable[[GameRecord], bool] | None = None,
    keep_thoughts: bool = True,
    share: int | None = None,
    callbacks: MatchCallbacks = MatchCallbacks(),
) -> tuple[GameRecord, ...]:
    """Plays the games of a schedule and returns them in its order.

    With `journal`, finished games are stored in that file and not played again. `workers` play in this process or, if
    the schedule has a `remake`, in others: the games are the same, up to differences of evaluators between batch sizes.
    With `share`, a worker gets that many consecutive games of the schedule at a time, and which games share batches
    does not depend on the number of workers. `stop` is called with the games in the order of the schedule, whichever
    finish first, and ends the match by returning true. Without `keep_thoughts`, the agents' search data, which takes
    most of the memory, is stored only in the file. Raises ForeignData and DamagedFile for a file of another match.
    """
    games = _OrderedGames(stop)
    with nullcontext() if journal is None else Journal(journal, _make_header(schedule, conditions)) as file:
        finished = {} if file is None else _read_finished(file, game, schedule.lineups, keep_thoughts)
        known_indices = set(finished)

        def add_game(record: GameRecord) -> None:
            callbacks.on_game(record)
            games.add(record)

        try:
            for record in finished.values():
                add_game(record)
            missing = [index for index in range(len(schedule.lineups)) if index not in known_indices]
            progress_by_share: dict[int, Progress] = {}

            def on_message(number: int, message: GameRecord | Progress) -> None:
                if isinstance(message, Progress):
                    progress_by_share[number] = message
                    callbacks.on_progress(_total_progress(len(known_indices), list(progress_by_share.values())))
                    return
                # The replacement of a worker that died plays all of its games again.
                if message.index in known_indices:
                    return
                known_indices.add(message.index)
                if file is not None:
                    file.append(message.to_json())
                add_game(message if keep_thoughts else replace(message, decisions=()))

            _play(game, schedule, conditions, missing, share, workers or InProcess(), on_message)
        except _MatchDecided:
            return tuple(games.in_order)
    return (*games.in_order, *(games.early[index] for index in sorted(games.early)))


def read_match(game: Game, schedule: Schedule, conditions: Conditions, journal: Path) -> tuple[GameRecord, ...] | None:
    """Returns the games of a schedule from the file of its match; None if they are not complete.

    Agents are used only for their names. Raises as `play_match` does.
    """
    if not journal.exists():
        return None
    with Journal(journal, _make_header(schedule, conditions)) as file:
        finished = _read_finished(file, game, schedule.lineups, keep_thoughts=True)
    if len(finished) < len(schedule.lineups):
        return None
    return tuple(finished[index] for index in sorted(finished))


@dataclass(frozen=True)
class LocalPlay:
    """Plays games with the agents of this process."""

    game: Game
    lineups: Sequence[Lineup]
    conditions: Conditions

    def __call__(self, indices: Sequence[int], report: Report) -> None:
        """Plays the games with these indices; reports each record, and the progress after each round."""
        games = play_games(self.game, self.lineups, self.conditions, indices=indices, on_progress=report)
        with closing(games):
            for record in games:
                report(record)


@dataclass(frozen=True)
class RemotePlay:
    """Creates the agents anew in the process that plays, and plays with them."""

    remake: Remake
    conditions: Conditions

    def __call__(self, indices: Sequence[int], report: Report) -> None:
        """Reports as `LocalPlay` does."""
        LocalPlay(*self.remake(), self.conditions)(indices, report)


def _play(
    game: Game,
    schedule: Schedule,
    conditions: Conditions,
    indices: Sequence[int],
    share: int | None,
    workers: Workers,
    on_message: Callable[[int, Any], None],
) -> None:
    num_workers = 1 if schedule.remake is None else min(workers.count, len(indices))
    if share is not None:
        # Grouped by index in the schedule, so that games share batches with the same others whichever are finished
        # already.
        shares = [list(block) for _, block in groupby(indices, key=lambda index: index // share)]
    else:
        # Interleaved, so that early games finish early: `stop` is called in the order of the schedule.
        shares = [list(indices[number::num_workers]) for number in range(num_workers)]
        if num_workers > 1:
            conditions = replace(conditions, max_parallel=max(1, conditions.max_parallel // workers.count))
    if schedule.remake is None or len(shares) <= 1:
        InProcess().map(LocalPlay(game, schedule.lineups, conditions), shares, on_report=on_message)
    else:
        # Agents are created for each share, in this process too: what they remember of other shares must not have an
        # effect.
        workers.map(RemotePlay(schedule.remake, conditions), shares, on_report=on_message)


class _MatchDecided(Exception):
    pass


class _OrderedGames:
    """Collects games as they finish, and returns them to the order of the schedule."""

    def __init__(self, stop: Callable[[GameRecord], bool] | None) -> None:
        self.in_order: list[GameRecord] = []
        self.early: dict[int, GameRecord] = {}
        """Finished games that are waiting for earlier ones, by index."""
        self._stop = stop

    def add(self, record: GameRecord) -> None:
        """Adds a game; raises _MatchDecided if a game that is now in order ends the match."""
        self.early[record.index] = record
        while (following := self.early.pop(len(self.in_order), None)) is not None:
            self.in_order.append(following)
            if self._stop is not None and self._stop(following):
                raise _MatchDecided


def _make_header(schedule: Schedule, conditions: Conditions) -> dict[str, Any]:
    return {**schedule.header, **conditions.to_json(), "identity": dict(schedule.identity)}


def _total_progress(num_finished: int, states: Sequence[Progress]) -> Progress:
    return Progress(
        num_finished=num_finished,
        num_running=sum(state.num_running for state in states),
        num_plies=sum(state.num_plies for state in states),
    )


def _read_finished(
    journal: Journal, game: Game, lineups: Sequence[Lineup], keep_thoughts: bool
) -> dict[int, GameRecord]:
    finished: dict[int, GameRecord] = {}
    for number, line in enumerate(journal.pop_lines(), start=2):
        record = _parse_record(journal.path, number, line)
        if not keep_thoughts:
            record = replace(record, decisions=())
        if record.index in finished and record != finished[record.index]:
            raise DamagedFile(
                f"{journal.path}, line {number}: game {record.index} stands there before, and was another; remove one "
                "of the two lines"
            )
        # The file may be of an interrupted longer match.
        if record.index < len(lineups):
            _check_record(journal.path, number, record, game, lineups[record.index])
            finished[record.index] = record
    return finished


def _parse_record(path: Path, number: int, line: dict[str, Any]) -> GameRecord:
    try:
        return GameRecord.from_json(line)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise DamagedFile(
            f"{path}, line {number} is not a game: {reason}; remove the line to play that game again"
        ) from error


def _check_record(path: Path, number: int, record: GameRecord, game: Game, lineup: Lineup) -> None:
    actual = (record.label, record.opening, record.focus, list(record.agents))
    expected = (lineup.label, lineup.opening_name, lineup.focus, [agent.name for agent in lineup.agents])
    if actual != expected:
        raise ForeignData(
            f"{path}, line {number}: expected game {record.index} to be {expected}, got {actual}; these are games of "
            "another match, or from other openings: give another file or remove this one"
        )
    start = lineup.start(game)
    if record.start_key != key_of(start):
        raise ForeignData(
            f"{path} holds the games of another match: line {number} began elsewhere than at {lineup.opening_name}; "
            "give another file or remove this one"
        )
    try:
        check_moves(start, record.moves)
    except ValueError as error:
        raise DamagedFile(f"{path}, line {number}: {error}; remove the line to play the game again") from error
