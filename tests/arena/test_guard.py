"""An agent that fails in one game fails in no other."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from games_for_tests import NativeTicTacToe

from moemcts.agent_calls import call_agent
from moemcts.agents import Decision, Policy, RandomAgent, Seat
from moemcts.arena import Conditions, GameRecord, Lineup, duel_schedule, play_games, play_match
from moemcts.errors import AgentFailure, Failure, UsageError
from moemcts.game import Views
from moemcts.play import play as advance
from moemcts.play import seats_of


class Fragile(RandomAgent):
    """Plays at random, and breaks where the corners a and i of the board are taken."""

    name = "fragile"

    def __init__(self, how: str) -> None:
        self._how = how

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        decisions = list(super().act(views, seats))
        broken = [
            row for row in range(len(seats)) if not {0, 8} & set(views[row].state.legal_actions(views[row].player))
        ]
        if broken and self._how == "raises":
            raise KeyError("corner\nof the board")
        if broken and self._how == "knows":
            raise AgentFailure({row: Failure("timeout", "too slow") for row in broken}, decisions)
        return [Decision(action=8) if row in broken else decision for row, decision in enumerate(decisions)]


def play(agent: RandomAgent, *, max_parallel: int) -> list[GameRecord]:
    lineups = [Lineup(agents=[agent, RandomAgent()], seed=seed) for seed in range(40)]
    games = play_games(NativeTicTacToe(), lineups, Conditions(seed=3, max_parallel=max_parallel))
    return sorted(games, key=lambda record: record.index)


@pytest.mark.parametrize(
    ("how", "termination", "reason"),
    [
        ("raises", "crash", "fragile in seat 0: KeyError: 'corner\\nof the board'"),
        ("knows", "timeout", "fragile in seat 0: too slow"),
        ("answers", "illegal move", "fragile in seat 0: action 8 is illegal at ply"),
    ],
)
@pytest.mark.parametrize("max_parallel", [1, 7, 40])
def test_only_the_games_it_fails_in_are_lost(how: str, termination: str, reason: str, max_parallel: int) -> None:
    sound = play(RandomAgent(), max_parallel=40)
    records = play(Fragile(how), max_parallel=max_parallel)
    failed = [record for record in records if record.failure]
    assert 5 < len(failed) < 35
    for record, whole in zip(records, sound, strict=True):
        assert record.moves == whole.moves[: record.plies]
        if record.failure:
            assert record.termination == termination
            assert record.failure.startswith(reason)
            assert record.returns == (-1, 1)
        else:
            assert record.moves == whole.moves


class Counting(Fragile):
    """Plays another legal action after an even number of its moves than after an odd one."""

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        for seat in seats:
            seat.memory = (seat.memory or 0) + 1
        super().act(views, seats)
        legal = [views[row].state.legal_actions(views[row].player) for row in range(len(seats))]
        return [
            Decision(action=int(actions[(1 + seat.memory % 2) % len(actions)]))
            for actions, seat in zip(legal, seats, strict=True)
        ]


def test_who_is_asked_again_remembers_what_it_did_before() -> None:
    alone, together = (play(Counting("raises"), max_parallel=number) for number in (1, 40))
    assert 2 < sum(record.failure != "" for record in alone) < 38
    assert [record.moves for record in together] == [record.moves for record in alone]


def test_an_agent_that_answers_too_little_loses_and_stops_nothing() -> None:
    class Mute:
        name = "mute"

        def __init__(self, answer: Any) -> None:
            self.answer = answer

        def act(self, views: Views, seats: Sequence[Seat]) -> Any:
            return self.answer

    game = NativeTicTacToe()
    for answer, got in (([], "0"), (None, "NoneType"), (Decision(action=0), "Decision")):
        lineups = [Lineup(agents=[RandomAgent(), Mute(answer)], seed=seed) for seed in range(3)]
        for record in play_games(game, lineups):
            assert record.failure == f"mute in seat 1: ValueError: expected one decision per view (1), got {got}"
            assert record.returns == (1, -1)


@pytest.mark.parametrize("policy", [[0.5, 0.5], Policy(np.array([0, 1]), np.array([0.2, 0.3, 0.5], np.float32))])
def test_a_policy_that_is_none_is_a_failure(policy: Any) -> None:
    class Listing:
        name = "listing"

        def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
            return [Decision(action=0, policy=policy)] * len(seats)

    (record,) = play_games(NativeTicTacToe(), [Lineup(agents=[Listing(), RandomAgent()], seed=0)])
    assert record.failure is not None
    assert "in seat 0: expected a Policy with one share per action, got " in record.failure


class Valuer(RandomAgent):
    """Plays at random, and expects something after two plies."""

    name = "valuer"

    def __init__(self, **told: Any) -> None:
        self._told = told

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        is_late = views.plies() > 1
        decisions = super().act(views, seats)
        return [replace(one, **self._told) if late else one for one, late in zip(decisions, is_late, strict=True)]


class Steady(RandomAgent):
    """Decides the same, whatever it sees."""

    def __init__(self, decision: Decision) -> None:
        self._decision = decision

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        return [self._decision] * len(seats)


def valued(path: Path, **told: Any) -> tuple[GameRecord, ...]:
    game = NativeTicTacToe()
    schedule = duel_schedule(game, {"valuer": Valuer(**told), "random": RandomAgent()}, num_games=4)
    return play_match(game, schedule, Conditions(seed=3, keep_thoughts=True), journal=path)


@pytest.mark.parametrize("expert", [0, 1])
def test_numbers_of_other_kinds_are_kept_as_plain_ones(expert: int, tmp_path: Path) -> None:
    told = {"value": np.float32(0.5), "nodes": np.int64(7), "expert": np.int32(expert), "depth": np.uint8(3)}
    records = valued(tmp_path / "games.jsonl", **told)
    assert valued(tmp_path / "games.jsonl", **told) == records
    kept = [one for record in records for joint in record.decisions for one in joint if one.value is not None]
    assert {(one.value, one.nodes, one.expert, one.depth) for one in kept} == {(0.5, 7, expert, 3)}
    assert not any(record.failure for record in records)


@pytest.mark.parametrize("told", [{"nodes": np.int64(7)}, {"expert": np.int64(0)}, {"expert": False}, {"value": 1}])
def test_only_plain_numbers_are_handed_on_as_they_are(told: dict[str, Any]) -> None:
    game = NativeTicTacToe()
    views = game.views([(game.initial_state(), 0)])
    for decision in (Decision(action=1), Decision(action=1, value=0.5, expert=2)):
        assert call_agent(Steady(decision), views, seats_of(1, 0)) == [decision]
        assert call_agent(Steady(decision), views, seats_of(1, 0))[0] is decision
    (plain,) = call_agent(Steady(replace(decision, **told)), views, seats_of(1, 0))
    assert isinstance(plain, Decision)
    assert [type(getattr(plain, name)) for name in ("value", "nodes", "expert")] == [float, int, int]


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"value": float("nan")}, "expected a finite value, got nan"),
        ({"value": np.float32("inf")}, "expected a finite value, got inf"),
        ({"value": "much"}, "expected the Decision's value to be a number, got 'much'"),
        ({"nodes": 1.5}, "expected the Decision's nodes to be a whole number, got 1.5"),
        ({"nodes": np.eye(2)}, "expected the Decision's nodes to be a whole number, got array([[1., 0.], [0., 1.]])"),
        ({"action": None}, "expected the Decision's action to be a whole number, got None"),
    ],
)
def test_numbers_that_are_none_cost_the_game(told: dict[str, Any], reason: str, tmp_path: Path) -> None:
    records = valued(tmp_path / "games.jsonl", **told)
    assert valued(tmp_path / "games.jsonl", **told) == records
    for record in records:
        assert record.failure == f"valuer in seat {record.agents.index('valuer')}: {reason}"
        assert record.termination == "crash"


def test_running_out_of_memory_costs_the_game() -> None:
    class Greedy(RandomAgent):
        name = "greedy"

        def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
            if len(seats) > 1 or views.plies()[0] > 2:
                raise MemoryError
            return super().act(views, seats)

    lineups = [Lineup(agents=[Greedy(), RandomAgent()], seed=seed) for seed in range(3)]
    for record in play_games(NativeTicTacToe(), lineups):
        assert record.failure.startswith("greedy in seat 0: MemoryError: no message in act (test_guard.py:")
        # Together they were too many; one by one there was room for the first moves.
        assert record.plies == 4


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e30, 0.0])
def test_a_limit_that_no_timer_keeps_is_refused(seconds: float) -> None:
    with pytest.raises(UsageError, match="seconds per decision, got"):
        Conditions(agent_timeout=seconds)
    with pytest.raises(UsageError, match="seconds per decision, got"):
        next(advance(NativeTicTacToe(), [], time_limit=seconds))


@pytest.mark.parametrize("stuck", ["sleeps", "works", "catches"])
def test_who_takes_too_long_for_a_decision_loses_by_time(stuck: str) -> None:
    class Slow(RandomAgent):
        name = "slow"

        def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
            while views.plies().max() > 1:
                if stuck == "sleeps":
                    time.sleep(600)
                elif stuck == "catches":
                    with contextlib.suppress(Exception):
                        time.sleep(600)
            return super().act(views, seats)

    lineups = [Lineup(agents=[Slow(), RandomAgent()], seed=seed) for seed in range(2)]
    started = time.monotonic()
    # The other's decisions have to come in time on a machine that is busy, too.
    for record in play_games(NativeTicTacToe(), lineups, Conditions(agent_timeout=0.5)):
        assert (record.termination, record.plies) == ("timeout", 2)
        assert record.failure == "slow in seat 0: no decision within 0.5 s"
    assert time.monotonic() - started < 300
