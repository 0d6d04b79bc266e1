"""The matches of an experiment's arms, from the openings of its training seeds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from moemcts.agents import Agent, PolicyAgent
from moemcts.arena.match import MatchResult
from moemcts.arena.records import Lineup
from moemcts.arena.schedules import MatchSchedule
from moemcts.game import Game
from moemcts.naming import check_backend, resolve_opponents
from moemcts.runs.arms import Arm
from moemcts.runs.experiment.boards import Boards, NamePlaceholder
from moemcts.runs.experiment.fields import make_field
from moemcts.runs.experiment.trainings import ArmTrainings
from moemcts.runs.run import Part
from moemcts.search import SearchAgent
from moemcts.search.opponents import Opponents
from moemcts.work import Workers
from moemcts.work.progress import Advance, ignore_progress

MATCHES = "matches"
"""The task of the parts that play matches."""
SEARCHED, RAW = "searched", "raw"
"""The kinds of matches: with search, and with the networks' policies alone."""


class ArmMatches:
    """The matches of an experiment's arms and their results."""

    def __init__(
        self,
        boards: Boards,
        trainings: ArmTrainings,
        recreate: Callable[[str, int, str], tuple[Game, Sequence[Lineup]]],
    ) -> None:
        """Raises UsageError if the settings name something that does not exist.

        `recreate` returns the game and the lineups of `games_of`, recreated in the calling process.
        """
        self.boards = boards
        self.arms = trainings.arms
        self.field = make_field(boards.config.match.field, boards.game)
        """Who sits in the seats that are not an arm's."""
        self._trainings = trainings
        self._config = boards.config
        self._recreate = recreate
        match = boards.config.match
        self.opponent_model()
        check_backend(match.backend, match.precision, match.device)

    def opponent_model(self) -> Opponents:
        """Returns the opponent model of the search."""
        return resolve_opponents(self._config.match.opponent_model or self.field.model, self.boards.game)

    def contestants(self) -> list[Arm]:
        """Returns the arms that play: all, except for the single network against itself."""
        return self.field.contestants(self.arms)

    def players(self, kind: str) -> list[str]:
        """Returns the names of the players of a kind of match: arms, and the field's extra agents in raw matches."""
        arms = [arm.name for arm in self.contestants()]
        return [*arms, *self.field.extra] if kind == RAW else arms

    def parts(self, num_workers: int) -> list[Part]:
        """Returns one part per kind, seed and player; parts with many games are shared by all workers."""
        kinds = [RAW, SEARCHED] if self._config.match.raw_games else [SEARCHED]
        return [
            self._part(kind, seed, player, num_workers)
            for kind in kinds
            for seed in self._trainings.seeds
            for player in self.players(kind)
        ]

    def games_of(self, kind: str, seed: int, player: str) -> MatchSchedule:
        """Returns the games of a kind and training seed that one of `players` plays."""
        return self._schedule(kind, seed, player, self._agents)

    def results(self, kind: str) -> list[MatchResult]:
        """Returns the matches of a kind, one per training seed; empty if none are played."""
        baseline = self._trainings.single.name
        return [
            MatchResult.joined([self._read(kind, seed, player) for player in self.players(kind)], baseline=baseline)
            for seed in self._trainings.seeds
            if self._num_games(kind) and self.contestants()
        ]

    def _part(self, kind: str, seed: int, player: str, num_workers: int) -> Part:
        config, arm, num_games = self._config, self._arm(player), self._num_games(kind)
        play = functools.partial(self._play, kind, seed, player)
        search = config.search.model_dump(mode="json") if kind == SEARCHED else {}
        return Part(
            name=self._label(kind, seed, player),
            task=MATCHES,
            unit="games",
            size=num_games,
            do=play,
            decided_by={
                "game": config.game,
                "seed": config.seed,
                **({} if arm is None else {"network": arm.network, "gate": arm.gate, "scheme": arm.scheme}),
                **self.boards.decided_by,
                **self.field.decided_by,
                **{f"search.{key}": value for key, value in search.items()},
            },
            extent={"games": num_games},
            # Starting workers only pays off if each has a full load.
            share=play if num_games >= num_workers * config.match.parallel else None,
        )

    def _schedule(self, kind: str, seed: int, player: str, make: Callable[..., Mapping[str, Agent]]) -> MatchSchedule:
        seated = self.field.seated(self.arms)
        arms = [arm for arm in self.arms if arm.name == player or arm in seated]
        agents = make(arms, kind, seed)
        search = self._config.search.model_dump(mode="json") if kind == SEARCHED else None
        return self.boards.schedule(
            {player: {**self.field.extra, **agents}[player]},
            self.field.agents(agents, self.boards.game.spec.num_players - 1),
            self._num_games(kind),
            seed,
            {"search": search, **self._trainings.weights_of(arms, seed)},
            functools.partial(self._recreate, kind, seed, player),
        )

    def _agents(self, arms: Sequence[Arm], kind: str, seed: int) -> dict[str, Agent]:
        match, game = self._config.match, self.boards.game
        teams = {
            arm.name: self._trainings.experts(arm, seed, match.backend, match.precision, device=match.device)
            for arm in arms
        }
        if kind == RAW:
            return {name: PolicyAgent(team, name=name) for name, team in teams.items()}
        model = self.opponent_model()
        return {
            name: SearchAgent(game, team, self._config.search, opponents=model, name=name)
            for name, team in teams.items()
        }

    def _read(self, kind: str, seed: int, player: str) -> MatchResult:
        """Returns a finished match; its agents are only created if games are missing."""
        schedule = self._schedule(
            kind, seed, player, lambda arms, *_: {arm.name: NamePlaceholder(arm.name) for arm in arms}
        )
        finished = self.boards.read(schedule, seed, label=self._label(kind, seed, player))
        return finished or self._match(kind, seed, player)

    def _play(self, kind: str, seed: int, player: str, advance: Advance, workers: Workers | None = None) -> None:
        self._match(kind, seed, player, advance, workers)

    def _match(
        self, kind: str, seed: int, player: str, advance: Advance = ignore_progress, workers: Workers | None = None
    ) -> MatchResult:
        schedule, label = self.games_of(kind, seed, player), self._label(kind, seed, player)
        return self.boards.play(schedule, seed, label=label, advance=advance, workers=workers)

    def _label(self, kind: str, seed: int, player: str) -> str:
        arm = self._arm(player)
        return f"{kind}-{arm.label if arm else player}-{seed}"

    def _arm(self, player: str) -> Arm | None:
        return next((arm for arm in self.arms if arm.name == player), None)

    def _num_games(self, kind: str) -> int:
        return self._config.match.raw_games if kind == RAW else self._config.match.games
