"""Duels between generations and against fixed opponents, and the promotion rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from moemcts.agents import Agent, Named
from moemcts.arena.games import Conditions
from moemcts.arena.journal import sort_journal
from moemcts.arena.openings import Opening
from moemcts.arena.pairings import PairedResult, paired_schedule, result_of, sequential_test
from moemcts.arena.playing import MatchCallbacks, play_match
from moemcts.arena.rating import Sprt
from moemcts.arena.schedules import DuelSchedule, Remake, SoloSchedule, seating_of
from moemcts.game import Game
from moemcts.work import Workers
from moemcts.work.progress import Advance


@dataclass(frozen=True, kw_only=True)
class Duel:
    """A duel of two agents; in a game of one player, each plays the same starts alone."""

    game: Game
    agents: Mapping[str, Agent]
    """By their names in the match's file."""
    openings: Sequence[Opening]
    num_games: int
    seed: int
    parallel: int
    """Games per batch in one worker; fixed, so that the composition of batches does not depend on the number of
    workers."""
    identity: Mapping[str, Any]
    """What else decides the games."""
    journal: Path
    seating: Sequence[str]
    """The seats in the first game of an opening; in each further game everyone moves on by one seat."""
    in_flight: int = 1
    sprt: Sprt | None = None
    remake: Remake | None = None
    """What other processes need to play the duel."""

    @cached_property
    def schedule(self) -> DuelSchedule | SoloSchedule:
        """The games; in a game of one player each agent plays alone."""
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
        """Plays the games that are missing and returns all; the file does not depend on which process played them."""
        schedule = self.schedule
        records = play_match(
            self.game,
            schedule,
            Conditions(seed=self.seed, max_parallel=self.parallel, in_flight=self.in_flight),
            journal=self.journal,
            workers=workers,
            stop=sequential_test(schedule, self.sprt),
            share=self.parallel,
            callbacks=MatchCallbacks(on_progress=lambda state: advance(state.num_finished, len(schedule.lineups))),
        )
        sort_journal(self.journal, [record.index for record in records])
        return result_of(schedule, records, sprt=self.sprt)


def in_turn(game: Game, first: str, second: str) -> tuple[str, ...]:
    """Returns a seating of two agents with equally many sides each, so that equally strong agents score one half.

    The seating is empty in a game of one player, where each agent plays alone. Raises ValueError for any other odd
    number of sides.
    """
    num_sides = len(game.spec.sides)
    if num_sides == 1:
        return ()
    if num_sides % 2:
        raise ValueError(
            f"expected a game with an even number of seats, so that two agents have as many each, got {num_sides}"
        )
    return seating_of(game, (first, second))


def one_against_all(game: Game, first: str, second: str) -> tuple[str, ...]:
    """Returns a seating in which the second agent has all sides but one; ratings can be fitted to this too."""
    return seating_of(game, (first, *[second] * (len(game.spec.sides) - 1)))


def is_promoted(result: PairedResult, name: str, *, score: float) -> bool:
    """Returns whether an agent's mean score exceeds `score`; with a sequential test, whether it accepted H1."""
    if result.decision is not None:
        return result.decision == "H1"
    scores = result.scores(name)
    return sum(scores) / len(scores) > score
