"""The games of an experiment's arms, on the boards of its training seeds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from moemcts.agents import Agent, PolicyAgent
from moemcts.arena.match import MatchResult
from moemcts.arena.records import Lineup
from moemcts.arena.schedules import MatchSchedule
from moemcts.game import Game
from moemcts.naming import check_backend, opponents_named
from moemcts.runs.arms import Arm
from moemcts.runs.experiment.boards import Absent, Boards
from moemcts.runs.experiment.fields import make_field
from moemcts.runs.experiment.trainings import ArmTrainings
from moemcts.runs.run import Part
from moemcts.search import SearchAgent
from moemcts.search.opponents import Opponents
from moemcts.work import Workers
from moemcts.work.progress import Advance, unheard

MATCHES = "matches"
"""The task of the parts that are matches."""
SEARCHED, RAW = "searched", "raw"
"""The matches: with search, and of the networks alone."""


class ArmMatches:
    """Who of an experiment's arms plays which games, and what came of them."""

    def __init__(
        self,
        boards: Boards,
        trainings: ArmTrainings,
        remade: Callable[[str, int, str], tuple[Game, Sequence[Lineup]]],
    ) -> None:
        """Raises UsageError where the settings name something that does not exist.

        `remade` returns the game and the lineups of `games_of`, made anew where it is called.
        """
        self.boards = boards
        self.arms = trainings.arms
        self.field = make_field(boards.config.match.field, boards.game)
        """Who sits in the seats that are not an arm's."""
        self._trainings = trainings
        self._config = boards.config
        self._remade = remade
        match = boards.config.match
        self.opponent_model()
        check_backend(match.backend, match.precision, match.device)

    def opponent_model(self) -> Opponents:
        """Returns who the search believes to face."""
        return opponents_named(self._config.match.opponent_model or self.field.model, self.boards.game)

    def contestants(self) -> list[Arm]:
        """Returns the arms that play: all, but not the single network against itself."""
        return self.field.contestants(self.arms)

    def players(self, kind: str) -> list[str]:
        """Returns who plays the games of a kind: the arms that play, and who else is measured beside networks."""
        arms = [arm.name for arm in self.contestants()]
        return [*arms, *self.field.extra] if kind == RAW else arms

    def parts(self, num_workers: int) -> list[Part]:
        """Returns games per kind, seed and who plays them; many are shared by as many workers."""
        kinds = [RAW, SEARCHED] if self._config.match.raw_games else [SEARCHED]
        return [
            self._part(kind, seed, player, num_workers)
            for kind in kinds
            for seed in self._trainings.seeds
            for player in self.players(kind)
        ]

    def games_of(self, kind: str, seed: int, player: str) -> MatchSchedule:
        """Returns the games of a kind and a training seed that one of `players` plays."""
        return self._schedule(kind, seed, player, self._agents)

    def results(self, kind: str) -> list[MatchResult]:
        """Returns the matches of a kind, one of each training seed; none where none are played."""
        baseline = self._trainings.single.name
        return [
            MatchResult.joined([self._read(kind, seed, player) for player in self.players(kind)], baseline=baseline)
            for seed in self._trainings.seeds
            if self._num_games(kind) and self.contestants()
        ]

    def _part(self, kind: str, seed: int, player: str, num_workers: int) -> Part:
        config, own, num_games = self._config, self._arm(player), self._num_games(kind)
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
                **({} if own is None else {"network": own.network, "gate": own.gate, "scheme": own.scheme}),
                **self.boards.decided_by,
                **self.field.decided_by,
                **{f"search.{key}": value for key, value in search.items()},
            },
            extent={"games": num_games},
            # Only a full load for every worker is worth starting them.
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
            functools.partial(self._remade, kind, seed, player),
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
        """Returns a match that is over; only where games of it are missing do its agents have to play."""
        schedule = self._schedule(kind, seed, player, lambda arms, *_: {arm.name: Absent(arm.name) for arm in arms})
        found = self.boards.read(schedule, seed, label=self._label(kind, seed, player))
        return found or self._match(kind, seed, player)

    def _play(self, kind: str, seed: int, player: str, advance: Advance, crew: Workers | None = None) -> None:
        self._match(kind, seed, player, advance, crew)

    def _match(
        self, kind: str, seed: int, player: str, advance: Advance = unheard, crew: Workers | None = None
    ) -> MatchResult:
        schedule, label = self.games_of(kind, seed, player), self._label(kind, seed, player)
        return self.boards.play(schedule, seed, label=label, advance=advance, crew=crew)

    def _label(self, kind: str, seed: int, player: str) -> str:
        own = self._arm(player)
        return f"{kind}-{own.label if own else player}-{seed}"

    def _arm(self, player: str) -> Arm | None:
        return next((arm for arm in self.arms if arm.name == player), None)

    def _num_games(self, kind: str) -> int:
        return self._config.match.raw_games if kind == RAW else self._config.match.games
