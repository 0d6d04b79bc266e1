"""Matches on the boards of training seeds, as a run keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from moemcts.agents import Agent, Decision, Seat
from moemcts.arena.games import Conditions
from moemcts.arena.match import MatchResult
from moemcts.arena.openings import Beginnings, Opening, first_board, starts
from moemcts.arena.playing import Watch, play_match, read_match
from moemcts.arena.schedules import MatchSchedule, Remake, match_schedule
from moemcts.errors import MoemctsError
from moemcts.game import Game, Views
from moemcts.naming import is_timed
from moemcts.runs.kept_openings import MATCH, OpeningsFile, openings_file
from moemcts.runs.settings import MOST_SEEDS, ExperimentConfig
from moemcts.work import Workers
from moemcts.work.progress import Advance, unheard


@dataclass(frozen=True)
class Boards:
    """Where the games of a run start, and the files they are kept in: `matches/LABEL.jsonl` in its folder."""

    folder: Path
    game: Game
    config: ExperimentConfig

    def openings(self, seed: int, num_games: int) -> list[Opening]:
        """Returns where the games of a training seed start, each for one game in every seat.

        A game's own starts are those of no other seed. Of a file each seed draws for itself, so two seeds may share
        some of its positions.
        """
        if (seed, num_games) not in self._read:
            file = self.file
            self._read[seed, num_games] = starts(
                self.game,
                -(-num_games // self.game.spec.num_players),
                path=None if file is None else file.path,
                random_plies=self.beginnings.random_plies,
                seed=self.first(seed),
            )
        return self._read[seed, num_games]

    @cached_property
    def beginnings(self) -> Beginnings:
        """How the games begin."""
        match = self.config.match
        path = Path(match.openings) if match.openings else None
        return Beginnings.of(self.game, path=path, random_plies=match.random_plies)

    @cached_property
    def _read(self) -> dict[tuple[int, int], list[Opening]]:
        """Those of a seed are the same for every arm: a file is not read again for each."""
        return {}

    @property
    def file(self) -> OpeningsFile | None:
        """The file of openings; None where games begin in the game's own start positions."""
        return openings_file(self.folder, self.config, MATCH)

    @property
    def decided_by(self) -> dict[str, Any]:
        """What decides games beside who plays them."""
        match = self.config.match.model_dump(mode="json", exclude={"games", "raw_games", "parallel"})
        content = {} if self.file is None else self.file.decided_by
        return {f"match.{key}": value for key, value in match.items()} | content

    def check(self) -> None:
        """Raises as `starts` where there are too few openings for the games of a training seed, or where games are over
        before so many plies at random.
        """
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
        """Returns games of arms' agents on the boards of a training seed, against who sits in the others, one by one.

        `identity` is what decides them beside the settings; `remake` makes them anew in other processes.
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
        advance: Advance = unheard,
        crew: Workers | None = None,
    ) -> MatchResult:
        """Plays games of a training seed, here or shared by workers; goes on where the match of that label was.

        All arms are compared with the baseline, if it plays, else with the first. Where time limits an agent, games are
        played here, one after the other: beside others it would have less of it.
        """
        crew = None if self._is_timed else crew
        # Each worker plays as many at once as this process alone would.
        num_parallel = 1 if self._is_timed else self.config.match.parallel * (1 if crew is None else crew.count)
        records = play_match(
            self.game,
            schedule,
            replace(self._conditions(seed), max_parallel=num_parallel),
            journal=self._journal(label),
            workers=crew,
            watch=Watch(on_progress=lambda state: advance(state.num_finished, len(schedule.lineups))),
        )
        return MatchResult.of(schedule, records, baseline=baseline if baseline in schedule.arms else None)

    def read(self, schedule: MatchSchedule, seed: int, *, label: str) -> MatchResult | None:
        """Returns what `play` returned if all games of the match of that label are there, else None.

        Its agents are asked for their names alone.
        """
        records = read_match(self.game, schedule, self._conditions(seed), self._journal(label))
        return None if records is None else MatchResult.of(schedule, records)

    def first(self, seed: int) -> int:
        """Returns the number of the first board of a training seed."""
        return first_board(self.config.seed * MOST_SEEDS + self.config.training_seeds.index(seed) + 1)

    @property
    def _is_timed(self) -> bool:
        match = self.config.match
        return self.config.search.seconds is not None or any(map(is_timed, (match.field, match.opponent_model)))

    def _conditions(self, seed: int) -> Conditions:
        return Conditions(seed=self.first(seed), max_parallel=self.config.match.parallel)

    def _journal(self, label: str) -> Path:
        return self.folder / "matches" / f"{label}.jsonl"


class Absent:
    """An agent that has a name and does not play."""

    def __init__(self, name: str) -> None:
        self.name = name

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        raise MoemctsError(f"{self.name} is not here: its games are only read")
