"""Duels of generations, with those that play and with opponents that stay the same, and who is promoted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from moemcts.agents import Agent, Named
from moemcts.arena.duel import DuelResult, SequentialTest
from moemcts.arena.games import Conditions
from moemcts.arena.journal import put_in_order
from moemcts.arena.match import MatchResult
from moemcts.arena.openings import Opening
from moemcts.arena.playing import Watch, play_match
from moemcts.arena.rating import Sprt
from moemcts.arena.schedules import (
    DuelSchedule,
    MatchSchedule,
    Remake,
    duel_schedule,
    match_schedule,
    seating_of,
)
from moemcts.arena.solo import SoloResult
from moemcts.game import Game
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
    """Games that one worker plays side by side: which share batches does not depend on how many workers there are."""
    identity: Mapping[str, Any]
    """What else decides the games."""
    journal: Path
    seating: Sequence[str]
    """Who sits where in the first game on an opening; in the others everybody moves on by one seat."""
    in_flight: int = 1
    sprt: Sprt | None = None
    remake: Remake | None = None
    """What other processes need to play it."""

    @cached_property
    def schedule(self) -> DuelSchedule | MatchSchedule:
        """The games; in a game of one player each agent alone."""
        agents = {name: Named(agent, name) for name, agent in self.agents.items()}
        shared: Any = {
            "num_games": self.num_games,
            "openings": self.openings,
            "identity": self.identity,
            "remake": self.remake,
        }
        if self.game.spec.num_players == 1:
            return match_schedule(self.game, agents, (), **shared)
        return duel_schedule(self.game, agents, seating=self.seating, **shared)

    def play(self, workers: Workers, advance: Advance) -> DuelResult | SoloResult:
        """Plays what is not played yet, and returns all games; the file is the same whoever has played them."""
        schedule = self.schedule
        test = None
        if self.sprt is not None and isinstance(schedule, DuelSchedule):
            test = SequentialTest(schedule, self.sprt)
        records = play_match(
            self.game,
            schedule,
            Conditions(seed=self.seed, max_parallel=self.parallel, in_flight=self.in_flight),
            journal=self.journal,
            workers=workers,
            stop=test,
            share=self.parallel,
            watch=Watch(on_progress=lambda state: advance(state.num_finished, len(schedule.lineups))),
        )
        put_in_order(self.journal, [record.index for record in records])
        if isinstance(schedule, DuelSchedule):
            return DuelResult.of(schedule, records, sprt=self.sprt)
        return SoloResult(MatchResult.of(schedule, records), self.game.spec.score_unit)


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


def is_promoted(result: DuelResult | SoloResult, name: str, *, score: float, sprt: Sprt | None) -> bool:
    """Returns whether an agent has scored more than `score` on the mean, or with a test whether that decided for it."""
    if sprt is not None and isinstance(result, DuelResult):
        return sprt.decision(result.evidence(sprt)) == "H1"
    scores = result.scores(name)
    return sum(scores) / len(scores) > score
