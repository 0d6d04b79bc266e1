"""Duels of generations, with those that play and with opponents that stay the same, and who is promoted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from moemcts.agents import Agent, Named
from moemcts.arena.games import Conditions
from moemcts.arena.journal import put_in_order
from moemcts.arena.openings import Opening
from moemcts.arena.pairings import PairedResult, paired_schedule, result_of, sequential_test
from moemcts.arena.playing import Watch, play_match
from moemcts.arena.rating import Sprt
from moemcts.arena.schedules import DuelSchedule, Remake, SoloSchedule, seating_of
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
    def schedule(self) -> DuelSchedule | SoloSchedule:
        """The games; in a game of one player each agent alone."""
        return paired_schedule(
            self.game,
            {name: Named(agent, name) for name, agent in self.agents.items()},
            num_games=self.num_games,
            openings=self.openings,
            seating=self.seating,
            identity=self.identity,
            remake=self.remake,
        )

    def play(self, workers: Workers, advance: Advance) -> PairedResult:
        """Plays what is not played yet, and returns all games; the file is the same whoever has played them."""
        schedule = self.schedule
        records = play_match(
            self.game,
            schedule,
            Conditions(seed=self.seed, max_parallel=self.parallel, in_flight=self.in_flight),
            journal=self.journal,
            workers=workers,
            stop=sequential_test(schedule, self.sprt),
            share=self.parallel,
            watch=Watch(on_progress=lambda state: advance(state.num_finished, len(schedule.lineups))),
        )
        put_in_order(self.journal, [record.index for record in records])
        return result_of(schedule, records, sprt=self.sprt)


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


def is_promoted(result: PairedResult, name: str, *, score: float) -> bool:
    """Returns whether an agent has scored more than `score` on the mean, or with a test whether that decided for it."""
    if result.decision is not None:
        return result.decision == "H1"
    scores = result.scores(name)
    return sum(scores) / len(scores) > score
