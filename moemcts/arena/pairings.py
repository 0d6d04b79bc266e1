"""Comparisons of agents from the same starts: against each other, or each alone in single-player games."""

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
    """The result of a paired schedule: `DuelResult` or `SoloResult`."""

    @property
    def records(self) -> tuple[GameRecord, ...]:
        """All games."""

    @property
    def decision(self) -> SprtDecision | None:
        """The sequential test's decision on the first agent; None without a test."""

    @property
    def mean_returns(self) -> list[float] | None:
        """Each agent's mean return, in the game's own score; None if they played each other."""

    def scores(self, name: str, /) -> list[float]:
        """Returns 1 for each comparison in which an agent did better than the others, 0 if worse, 1/2 if neither."""

    def counts(self, name: str, /) -> tuple[int, int, int]:
        """Returns how often an agent did worse than, as well as and better than the others."""

    def tally(self, name: str, /) -> Tally:
        """Returns wins, ties and losses of an agent, with intervals."""

    def rankings(self) -> list[Ranking]:
        """Returns the ranking of each game or start, for `fit_ratings`."""


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
    """Returns `num_games` games of the agents against each other, see `duel_schedule`; in single-player games, that
    many of each alone.
    """
    shared: Any = {"num_games": num_games, "openings": openings, "identity": identity, "remake": remake}
    if game.spec.num_players > 1:
        return duel_schedule(game, agents, seating=seating, **shared)
    return SoloSchedule(**vars(match_schedule(game, agents, (), **shared)), score_unit=game.spec.score_unit)


def sequential_test(schedule: Schedule, sprt: Sprt | None) -> SequentialTest | None:
    """Returns a callback that stops a schedule once the test is decided; None without a test or outside duels."""
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
    """Returns the result of the games of a schedule; for a duel, including the decision of a sequential test."""
    if isinstance(schedule, DuelSchedule):
        return DuelResult.of(schedule, records, sprt=sprt)
    result = MatchResult.of(schedule, records)
    return SoloResult(result, schedule.score_unit) if isinstance(schedule, SoloSchedule) else result
