"""Matches of an experiment: the openings of each training seed, and the files of games in the run's folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from moemcts.agents import Agent, Decision, Seat
from moemcts.arena.games import Conditions
from moemcts.arena.match import MatchResult
from moemcts.arena.openings import Opening, OpeningSettings, first_board, starts
from moemcts.arena.playing import MatchCallbacks, play_match, read_match
from moemcts.arena.schedules import MatchSchedule, Remake, match_schedule
from moemcts.errors import MoemctsError
from moemcts.game import Game, Views
from moemcts.naming import is_timed
from moemcts.runs.copies import MATCH, OpeningsFile, openings_file
from moemcts.runs.settings import MAX_SEEDS, ExperimentConfig
from moemcts.work import Workers
from moemcts.work.progress import Advance, ignore_progress


@dataclass(frozen=True)
class Boards:
    """The openings of a run's games and the files that store these: `matches/LABEL.jsonl` in its folder."""

    folder: Path
    game: Game
    config: ExperimentConfig

    def openings(self, seed: int, num_games: int) -> list[Opening]:
        """Returns the openings of a training seed, each for one game from every seat.

        The game's own start positions differ between seeds. Openings from a file are drawn for each seed separately, so
        two seeds may share some of them.
        """
        if (seed, num_games) not in self._read:
            file = self.file
            self._read[seed, num_games] = starts(
                self.game,
                -(-num_games // self.game.spec.num_players),
                path=None if file is None else file.path,
                random_plies=self.opening_settings.random_plies,
                seed=self.first(seed),
            )
        return self._read[seed, num_games]

    @cached_property
    def opening_settings(self) -> OpeningSettings:
        """How the games begin."""
        match = self.config.match
        path = Path(match.openings) if match.openings else None
        return OpeningSettings.of(self.game, path=path, random_plies=match.random_plies)

    @cached_property
    def _read(self) -> dict[tuple[int, int], list[Opening]]:
        """A cache: all arms of a seed play the same openings, so a file is not read again for each."""
        return {}

    @property
    def file(self) -> OpeningsFile | None:
        """The file of openings; None if games begin from the game's own start positions."""
        return openings_file(self.folder, self.config, MATCH)

    @property
    def decided_by(self) -> dict[str, Any]:
        """What decides the games, apart from the players."""
        match = self.config.match.model_dump(mode="json", exclude={"games", "raw_games", "parallel"})
        content = {} if self.file is None else self.file.decided_by
        return {f"match.{key}": value for key, value in match.items()} | content

    def check(self) -> None:
        """Raises as `starts` if a training seed has too few openings, or if games end within the random plies."""
        match = self.config.match
        if self.file is not None:
            self.openings(self.config.seed, max(match.games, match.raw_games))
        elif match.random_plies:
            self.openings(self.config.seed, 1)

    def schedule(
        self,
        arms: Mapping[str, Agent],
        field: Sequence[Agent],
        num_games: int,
        seed: int,
        identity: Mapping[str, Any],
        remake: Remake | None = None,
    ) -> MatchSchedule:
        """Returns games of arms' agents from a training seed's openings, with `field` in the other seats.

        The agents of `field` sit in these seats in order. `identity` is what decides the games apart from the settings;
        `remake` recreates the schedule in other processes.
        """
        config = self.config.match
        return match_schedule(
            self.game,
            arms,
            field,
            num_games=num_games,
            openings=self.openings(seed, num_games),
            identity=dict(identity)
            | ({} if config.backend == "torch" else {"backend": config.backend})
            | ({} if config.precision in (None, "float32") else {"precision": config.precision})
            | ({} if config.device == "cpu" else {"device": config.device}),
            remake=remake,
        )

    def play(
        self,
        schedule: MatchSchedule,
        seed: int,
        *,
        label: str,
        baseline: str = "",
        advance: Advance = ignore_progress,
        workers: Workers | None = None,
    ) -> MatchResult:
        """Plays the games of a training seed, in this process or with workers; resumes the match with that label.

        All arms are compared with the baseline if it plays, else with the first arm. If an agent has a time limit,
        games are played in this process, one after the other, so that they do not compete for time.
        """
        workers = None if self._is_timed else workers
        # Each worker plays as many games at once as a single process would.
        num_parallel = 1 if self._is_timed else self.config.match.parallel * (1 if workers is None else workers.count)
        records = play_match(
            self.game,
            schedule,
            replace(self._conditions(seed), max_parallel=num_parallel),
            journal=self._journal(label),
            workers=workers,
            callbacks=MatchCallbacks(on_progress=lambda state: advance(state.num_finished, len(schedule.lineups))),
        )
        return MatchResult.of(schedule, records, baseline=baseline if baseline in schedule.arms else None)

    def read(self, schedule: MatchSchedule, seed: int, *, label: str) -> MatchResult | None:
        """Returns the result of the match with that label if all its games have been played, else None.

        Only the names of its agents are used.
        """
        records = read_match(self.game, schedule, self._conditions(seed), self._journal(label))
        return None if records is None else MatchResult.of(schedule, records)

    def first(self, seed: int) -> int:
        """Returns the index of the first start position of a training seed."""
        return first_board(self.config.seed * MAX_SEEDS + self.config.training_seeds.index(seed) + 1)

    @property
    def _is_timed(self) -> bool:
        match = self.config.match
        return self.config.search.seconds is not None or any(map(is_timed, (match.field, match.opponent_model)))

    def _conditions(self, seed: int) -> Conditions:
        return Conditions(seed=self.first(seed), max_parallel=self.config.match.parallel)

    def _journal(self, label: str) -> Path:
        return self.folder / "matches" / f"{label}.jsonl"


class NamePlaceholder:
    """A placeholder agent that has a name but cannot play."""

    def __init__(self, name: str) -> None:
        self.name = name

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        raise MoemctsError(f"{self.name} cannot play: it stands for an agent whose games are only read")
