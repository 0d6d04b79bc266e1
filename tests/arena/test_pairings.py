"""Agents are compared in one way, whether they play each other or each alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from games_for_tests import Savings
from games_of_the_arena import Leaver, StayOrLeave

from moemcts.agents import Agent, Decision, Seat
from moemcts.arena import (
    Conditions,
    DuelResult,
    MatchResult,
    PairedResult,
    SequentialTest,
    SoloResult,
    match_schedule,
    paired_schedule,
    play_match,
    result_of,
    sequential_test,
)
from moemcts.arena.rating import Sprt
from moemcts.game import Game, Views
from moemcts.runs.selfplay.duels import is_promoted

SPRT = Sprt(elo0=0.0, elo1=200.0, model="logistic")


class Always:
    def __init__(self, action: int, name: str) -> None:
        self.action, self.name = action, name

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        return [Decision(action=self.action) for _ in seats]


LEAVERS: Mapping[str, Agent] = {"stays": Leaver(0.05, "stays"), "leaves": Leaver(0.6, "leaves")}
SAVERS: Mapping[str, Agent] = {"saves": Always(1, "saves"), "spends": Always(0, "spends")}


def played(game: Game, agents: Mapping[str, Agent], num_games: int) -> PairedResult:
    schedule = paired_schedule(game, agents, num_games=num_games)
    records = play_match(game, schedule, Conditions(), stop=sequential_test(schedule, SPRT))
    return result_of(schedule, records, sprt=SPRT)


def test_agents_play_each_other_where_there_is_more_than_one_player() -> None:
    duel, solo = played(StayOrLeave(2), LEAVERS, 8), played(Savings(), SAVERS, 8)
    assert isinstance(duel, DuelResult)
    assert isinstance(solo, SoloResult)
    assert len(duel.records) == 8
    assert len(solo.records) == 16, "each plays all games alone"
    assert duel.mean_returns is None
    assert solo.mean_returns == pytest.approx([10, 4])


def test_a_test_stops_and_decides_where_agents_play_each_other_and_nowhere_else() -> None:
    duel, solo = played(StayOrLeave(2), LEAVERS, 400), played(Savings(), SAVERS, 8)
    assert duel.decision == "H1"
    assert len(duel.records) < 400
    assert solo.decision is None
    assert is_promoted(duel, "stays", score=1.0), "who is tested needs no score"
    assert is_promoted(solo, "saves", score=0.5)
    assert not is_promoted(solo, "saves", score=0.9)


def test_arms_against_others_are_no_pairs() -> None:
    schedule = match_schedule(StayOrLeave(2), LEAVERS, Leaver(0.3, "field"), num_games=4)
    assert sequential_test(schedule, SPRT) is None
    assert isinstance(result_of(schedule, play_match(StayOrLeave(2), schedule, Conditions())), MatchResult)
    assert isinstance(sequential_test(paired_schedule(StayOrLeave(2), LEAVERS, num_games=4), SPRT), SequentialTest)
