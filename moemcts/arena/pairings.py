"""Agents compared from the same starts: against each other, or in a game of one player each alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, overload

from moemcts.agents import Agent
from moemcts.arena.duel import DuelResult, SequentialTest
from moemcts.arena.match import MatchResult
from moemcts.arena.openings import Opening
from moemcts.arena.outcomes import Tally
from moemcts.arena.ranking import Ranking
from moemcts.arena.rating import Sprt, SprtDecision
from moemcts.arena.records import GameRecord
from moemcts.arena.schedules import (
    DuelSchedule,
    MatchSchedule,
    Remake,
    Schedule,
    SoloSchedule,
    duel_schedule,
    match_schedule,
)
from moemcts.arena.solo import SoloResult
from moemcts.game import Game


class PairedResult(Protocol):
    """What the games of a paired schedule say: `DuelResult` or `SoloResult`."""

    @property
    def records(self) -> tuple[GameRecord, ...]:
        """All games."""

    @property
    def decision(self) -> SprtDecision | None:
        """What a sequential test says of the first agent; None without one."""

    @property
    def mean_returns(self) -> list[float] | None:
        """What each agent got on average, in the game's own score; None where they played each other."""

    def scores(self, name: str, /) -> list[float]:
        """Returns 1 each time that an agent did better than the others, 0 if worse, 1/2 if neither."""

    def counts(self, name: str, /) -> tuple[int, int, int]:
        """Returns how often an agent did worse than, like and better than the others."""

    def tally(self, name: str, /) -> Tally:
        """Returns wins, ties and losses of an agent, with intervals."""

    def rankings(self) -> list[Ranking]:
        """Returns how each game or start ended, for `fit_ratings`."""


def paired_schedule(
    game: Game,
    agents: Mapping[str, Agent],
    *,
    num_games: int,
    openings: Sequence[Opening] | None = None,
    seating: Sequence[str] = (),
    identity: Mapping[str, Any] | None = None,
    remake: Remake | None = None,
) -> DuelSchedule | SoloSchedule:
    """Returns `num_games` games of the agents against each other, see `duel_schedule`; in a game of one player so many
    of each alone.
    """
    shared: Any = {"num_games": num_games, "openings": openings, "identity": identity, "remake": remake}
    if game.spec.num_players > 1:
        return duel_schedule(game, agents, seating=seating, **shared)
    return SoloSchedule(**vars(match_schedule(game, agents, (), **shared)), score_unit=game.spec.score_unit)


def sequential_test(schedule: Schedule, sprt: Sprt | None) -> SequentialTest | None:
    """Returns what stops the games of a schedule once a test is decided; None where agents do not play each other."""
    return SequentialTest(schedule, sprt) if sprt is not None and isinstance(schedule, DuelSchedule) else None


@overload
def result_of(schedule: DuelSchedule, records: Sequence[GameRecord], *, sprt: Sprt | None = None) -> DuelResult: ...
@overload
def result_of(schedule: SoloSchedule, records: Sequence[GameRecord], *, sprt: Sprt | None = None) -> SoloResult: ...
@overload
def result_of(
    schedule: MatchSchedule, records: Sequence[GameRecord], *, sprt: Sprt | None = None
) -> MatchResult | SoloResult: ...
def result_of(
    schedule: DuelSchedule | MatchSchedule, records: Sequence[GameRecord], *, sprt: Sprt | None = None
) -> DuelResult | MatchResult | SoloResult:
    """Returns what the games of a schedule say, of a duel with what a sequential test decides."""
    if isinstance(schedule, DuelSchedule):
        return DuelResult.of(schedule, records, sprt=sprt)
    result = MatchResult.of(schedule, records)
    return SoloResult(result, schedule.score_unit) if isinstance(schedule, SoloSchedule) else result
