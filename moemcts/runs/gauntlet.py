"""Matches of generations: of the newest against the one that plays, and against opponents that stay the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moemcts.agents import Agent, Named
from moemcts.arena.duel import DuelResult, SequentialTest
from moemcts.arena.games import Conditions
from moemcts.arena.match import MatchResult
from moemcts.arena.openings import Opening
from moemcts.arena.playing import Watch, play_match
from moemcts.arena.rating import Sprt
from moemcts.arena.records import GameRecord
from moemcts.arena.schedules import Remake, Schedule, duel_schedule, match_schedule, seating_of
from moemcts.arena.solo import SoloResult
from moemcts.game import Game
from moemcts.store import digest, read_bytes
from moemcts.weights import MANIFEST
from moemcts.work import Workers
from moemcts.work.progress import Advance


@dataclass(frozen=True, kw_only=True)
class Duel:
    """Two agents against each other; in a game of one player from the same starts, each alone."""

    game: Game
    agents: Mapping[str, Agent]
    """By the names in the match's file."""
    openings: Sequence[Opening]
    num_games: int
    seed: int
    parallel: int
    identity: Mapping[str, Any]
    """What else decides the games."""
    journal: Path
    seating: Sequence[str]
    """Who sits where in the first game on an opening; in the others everybody moves on by one seat."""
    sprt: Sprt | None = None
    remake: Remake | None = None
    """What other processes need to play it."""

    def play(self, workers: Workers, advance: Advance) -> DuelResult | SoloResult:
        """Plays what is not played yet, and returns all games."""
        agents = {name: Named(agent, name) for name, agent in self.agents.items()}
        shared: Any = {
            "num_games": self.num_games,
            "openings": self.openings,
            "identity": self.identity,
            "remake": self.remake,
        }
        if self.game.spec.num_players == 1:
            alone = match_schedule(self.game, agents, (), **shared)
            return SoloResult(MatchResult.of(alone, self._records(alone, workers, advance)), self.game.spec.score_unit)
        schedule = duel_schedule(self.game, agents, seating=self.seating, **shared)
        test = None if self.sprt is None else SequentialTest(schedule, self.sprt)
        return DuelResult.of(schedule, self._records(schedule, workers, advance, test), sprt=self.sprt)

    def _records(
        self, schedule: Schedule, workers: Workers, advance: Advance, stop: SequentialTest | None = None
    ) -> tuple[GameRecord, ...]:
        return play_match(
            self.game,
            schedule,
            Conditions(seed=self.seed, max_parallel=self.parallel),
            journal=self.journal,
            workers=workers,
            stop=stop,
            watch=Watch(on_progress=lambda state: advance(state.num_finished, len(schedule.lineups))),
        )


def in_turn(game: Game, first: str, second: str) -> tuple[str, ...]:
    """Returns the seats of two agents that have as many sides each: only then are equals expected to score one half.

    None in a game of one player, where each plays alone. Raises ValueError for another odd number of sides.
    """
    num_sides = len(game.spec.sides)
    if num_sides == 1:
        return ()
    if num_sides % 2:
        raise ValueError(f"expected a game in which two agents have as many seats each, got one of {num_sides}")
    return seating_of(game, (first, second))


def one_against_all(game: Game, first: str, second: str) -> tuple[str, ...]:
    """Returns the seats where the second agent has all sides but one: ratings can be fitted to that, too."""
    return seating_of(game, (first, *[second] * (len(game.spec.sides) - 1)))


def manifest_digest(experts: Path) -> str:
    """Returns a name for exactly the experts in a folder; raises DamagedFile where there are none."""
    return digest(read_bytes(experts / MANIFEST))[:16]


def is_promoted(result: DuelResult | SoloResult, name: str, *, score: float, sprt: Sprt | None) -> bool:
    """Returns whether an agent has scored more than `score` on the mean, or with a test whether that decided for it."""
    if sprt is not None and isinstance(result, DuelResult):
        return sprt.decision(result.evidence(sprt)) == "H1"
    scores = result.scores(name)
    return sum(scores) / len(scores) > score
