"""Evaluates generations of self-play: against the champion, and against fixed opponents."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moemcts.arena.openings import BOARDS_PER_SEED, Opening, OpeningSettings, first_board, starts
from moemcts.arena.rating import Sprt
from moemcts.arena.records import Lineup
from moemcts.arena.schedules import Remake
from moemcts.errors import UsageError
from moemcts.game import Game
from moemcts.learn.identity import FileContent, validate_content
from moemcts.learn.loop.players import without_noise
from moemcts.naming import contestants, experts_of
from moemcts.plugins import plugins
from moemcts.runs.copies import GAUNTLET, openings_file
from moemcts.runs.selfplay.duels import Duel, in_turn, is_promoted, one_against_all
from moemcts.runs.selfplay.generations import PROMOTED
from moemcts.runs.selfplay.players import Players, generation_name
from moemcts.runs.selfplay.settings import SelfPlayConfig
from moemcts.runs.settings import MAX_SEED
from moemcts.store import manifest_digest, read_json, write_json
from moemcts.work import InProcess, Workers
from moemcts.work.progress import Advance

_BOARDS = 10_000
"""Start positions reserved for each generation's promotion match."""
_SEEDS = MAX_SEED + 1


class GenerationMatches:
    """The evaluation matches of generations."""

    def __init__(
        self, players: Players, measured: Sequence[int], get_workers: Callable[[], Workers] = InProcess
    ) -> None:
        """`measured` are the generations to measure, in order; `get_workers` returns the workers that play a match.

        Raises UsageError if the promotion test is invalid or does not fit the game.
        """
        self.players = players
        self.config, self.game = players.config, players.game
        self.folder, self.on_disk = players.folder, players.on_disk
        self.measured = measured
        self._get_workers = get_workers
        self._sprt = self._make_sprt()

    def _make_sprt(self) -> Sprt | None:
        """Returns the sequential test for promotion; None if another rule decides. Raises as the constructor."""
        rule = self.config.promotion
        if rule.rule == "none":
            return None
        try:
            if not in_turn(self.game, "newest", "champion") and rule.rule == "sprt":
                raise ValueError("expected rule none or score in a game of one player, got 'sprt'")
            return Sprt(elo0=rule.elo0, elo1=rule.elo1, model="logistic") if rule.rule == "sprt" else None
        except ValueError as error:
            raise UsageError(f"promotion in {self.config.game}: {error}") from None

    def promote(self, generation: int, advance: Advance) -> None:
        """Plays the newest experts against the champion and records whether they are promoted."""
        if self.on_disk.read_result(generation, PROMOTED):
            return
        newest, duel = generation_name(generation), self.promotion(generation)
        result = duel.play(self._get_workers(), advance)
        self.on_disk.write_result(
            generation,
            PROMOTED,
            {
                "promoted": is_promoted(result, newest, score=self.config.promotion.score),
                "champion": self.on_disk.champion(generation - 1),
                "games": len(result.records),
                "counts": list(result.counts(newest)),
            },
        )

    def promotion(self, generation: int) -> Duel:
        """Returns the match of a generation's experts against the champion."""
        rule, champion = self.config.promotion, self.on_disk.champion(generation - 1)
        search = without_noise(self.config.search, temperature=rule.temperature)
        return Duel(
            game=self.game,
            agents={
                generation_name(number): self.players.contestant(number, search, rule.simulations)
                for number in (generation, champion)
            },
            openings=self._openings(rule.games, generation),
            num_games=rule.games,
            seed=self._board(generation),
            parallel=rule.parallel or self.config.games.parallel,
            in_flight=self.config.games.in_flight or 1,
            identity=self._identity([generation, champion], search.model_dump(mode="json"), rule.simulations),
            journal=self.folder / "matches" / f"promote-{generation:04d}.jsonl",
            seating=in_turn(self.game, generation_name(generation), generation_name(champion)),
            sprt=self._sprt,
            remake=self._recreation(GenerationMatches.promotion, generation),
        )

    def measure(self, generation: int, advance: Advance) -> None:
        """Plays a generation against the fixed opponents and against the previously measured generation."""
        opponents = self._opponents(generation)
        name, matches = generation_name(generation), []
        for number, opponent in enumerate(opponents):
            duel = self.measurement(generation, number)
            result = duel.play(
                self._get_workers(),
                lambda done, total, n=number: advance(n * total + done, len(opponents) * total),  # type: ignore[misc]
            )
            matches.append(
                {
                    "agent": name,
                    "other": opponent,
                    "counts": list(result.counts(name)),
                    "tally": result.tally(name).to_json(),
                    "rankings": [
                        [list(map(list, ranking.groups)), list(ranking.unranked), ranking.board]
                        for ranking in result.rankings()
                    ],
                    "returns": result.mean_returns,
                }
            )
        write_json(measurement_file(self.folder, generation), matches)

    def measurement(self, generation: int, number: int) -> Duel:
        """Returns one of the matches in which a generation is measured."""
        gauntlet, name = self.config.gauntlet, self._opponents(generation)[number]
        search = without_noise(self.config.search, temperature=0.0)
        generations, experts, is_timed = [generation], dict[str, Any](), False
        if number < len(gauntlet.opponents):
            opponent = contestants([name], self.game)[name]
            agent, is_timed, experts = opponent.agent, opponent.is_timed, experts_of([name])
        else:
            generations += self._previously_measured(generation)
            agent = self.players.contestant(generations[-1], search, gauntlet.simulations)
        return Duel(
            game=self.game,
            agents={
                generation_name(generation): self.players.contestant(generation, search, gauntlet.simulations),
                name: agent,
            },
            openings=self._gauntlet_openings,
            num_games=gauntlet.games,
            seed=self._board(0) + number,
            # Agents with a time limit play one game at a time.
            parallel=1 if is_timed else gauntlet.parallel,
            in_flight=1 if is_timed else self.config.games.in_flight or 1,
            identity=self._identity(generations, search.model_dump(mode="json"), gauntlet.simulations) | experts,
            journal=self.folder / "matches" / f"measure-{generation:04d}-{number}.jsonl",
            seating=one_against_all(self.game, generation_name(generation), name),
            remake=None if is_timed else self._recreation(GenerationMatches.measurement, generation, number),
        )

    def _opponents(self, generation: int) -> list[str]:
        """Returns the names of the opponents that a generation is measured against."""
        gauntlet = self.config.gauntlet
        previous = self._previously_measured(generation) if gauntlet.previous else []
        return [*gauntlet.opponents, *map(generation_name, previous)]

    def _previously_measured(self, generation: int) -> list[int]:
        """Returns the previously measured generation as a list, empty if there is none."""
        earlier = [number for number in self.measured if number < generation and not self.on_disk.is_gone(number)]
        return earlier[-1:]

    def _recreation(self, duel: Callable[..., Duel], *arguments: int) -> Remake:
        """Returns what recreates `duel(self, *arguments)` in other processes."""
        return _RecreateDuel(self.folder.absolute(), self.config, tuple(self.measured), duel, arguments)

    def measurements(self) -> list[dict[str, Any]]:
        """Returns the matches of all measured generations; raises DamagedFile for an invalid file."""
        paths = [measurement_file(self.folder, generation) for generation in self.measured]
        return [match for path in paths if path.exists() for match in _read_measurement(path)]

    @functools.cached_property
    def opening_settings(self) -> OpeningSettings:
        """How the games that measure generations begin."""
        gauntlet = self.config.gauntlet
        path = Path(gauntlet.openings) if gauntlet.openings else None
        return OpeningSettings.of(self.game, path=path, random_plies=gauntlet.random_plies)

    @property
    def num_openings(self) -> int:
        """Openings of the games that measure a generation; 0 if none is measured."""
        # One plays against all from each side: team mates are one agent.
        return -(-self.config.gauntlet.games // len(self.game.spec.sides)) if self.measured else 0

    @functools.cached_property
    def _gauntlet_openings(self) -> list[Opening]:
        file = openings_file(self.folder, self.config, GAUNTLET)
        return starts(
            self.game,
            self.num_openings,
            path=None if file is None else file.path,
            random_plies=self.opening_settings.random_plies,
            seed=self._board(0),
        )

    def _openings(self, num_games: int, generation: int) -> list[Opening]:
        # Each opening is played in two seatings, or by each agent alone.
        num_seatings = min(2, self.game.spec.num_players)
        return starts(self.game, -(-num_games // num_seatings), seed=self._board(generation))

    def _board(self, generation: int) -> int:
        # When a seed has no start positions left, take those of seeds that users cannot choose.
        hundreds, rest = divmod(generation, BOARDS_PER_SEED // _BOARDS)
        return first_board(self.config.seed + 1 + hundreds * _SEEDS) + rest * _BOARDS

    def _identity(
        self, generations: Sequence[int], search: Mapping[str, Any], simulations: int | None
    ) -> dict[str, Any]:
        return {
            "experts": [manifest_digest(self.on_disk.experts(generation)) for generation in generations],
            "search": dict(search),
            "simulations": simulations,
            "backend": self.config.games.backend,
            **({} if self.config.games.device == "cpu" else {"device": self.config.games.device}),
        }


@dataclass(frozen=True)
class _RecreateDuel:
    """Recreates a match in the calling process, where experts are loaded once."""

    folder: Path
    config: SelfPlayConfig
    measured: Sequence[int]
    duel: Callable[..., Duel]
    """A method of `GenerationMatches`."""
    arguments: Sequence[int]

    def __call__(self) -> tuple[Game, Sequence[Lineup]]:
        """Returns the game and the lineups."""
        return self._matches.game, self.duel(self._matches, *self.arguments).schedule.lineups

    @functools.cached_property
    def _matches(self) -> GenerationMatches:
        return GenerationMatches(Players(self.folder, self.config, plugins().game(self.config.game)), self.measured)


class _Match(FileContent):
    agent: str
    other: str
    counts: list[int]
    rankings: list[list[Any]]
    returns: list[float] | None = None


class _Measurement(FileContent):
    """The schema of a file; only what is read elsewhere is checked for its type."""

    matches: list[_Match]


def _read_measurement(path: Path) -> list[dict[str, Any]]:
    """Returns the matches of a measured generation; raises DamagedFile for an invalid file."""
    matches: list[dict[str, Any]] = read_json(path)
    validate_content(
        _Measurement, {"matches": matches}, f"{path} does not hold the results of the games that measure a generation"
    )
    return matches


def measurement_file(folder: Path, generation: int) -> Path:
    """Returns the file with the results of the games that measure a generation."""
    return folder / "matches" / f"measure-{generation:04d}.json"
