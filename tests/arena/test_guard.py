"""An agent that fails in one game fails in no other."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

import pytest
from games_for_tests import NativeTicTacToe

from moemcts.agents import Decision, RandomAgent, Seat
from moemcts.arena import Conditions, GameRecord, Lineup, play_games
from moemcts.errors import AgentFailure, Failure
from moemcts.game import Views


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
        ("answers", "illegal move", "fragile in seat 0: action 8 is not legal at ply"),
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


def test_an_agent_that_answers_too_little_loses_and_stops_nothing() -> None:
    class Mute:
        name = "mute"

        def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
            return []

    game = NativeTicTacToe()
    lineups = [Lineup(agents=[RandomAgent(), Mute()], seed=seed) for seed in range(3)]
    for record in play_games(game, lineups):
        assert record.failure == "mute in seat 1: ValueError: expected 1 decisions, one per view, got 0"
        assert record.returns == (1, -1)


def test_running_out_of_memory_costs_the_game() -> None:
    class Greedy(RandomAgent):
        name = "greedy"

        def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
            if len(seats) > 1 or views.plies()[0] > 2:
                raise MemoryError
            return super().act(views, seats)

    lineups = [Lineup(agents=[Greedy(), RandomAgent()], seed=seed) for seed in range(3)]
    for record in play_games(NativeTicTacToe(), lineups):
        assert record.failure == "greedy in seat 0: MemoryError: no message"
        # Together they were too many; one by one there was room for the first moves.
        assert record.plies == 4


@pytest.mark.parametrize("stuck", ["sleeps", "works", "catches"])
def test_who_takes_too_long_for_a_decision_loses_by_time(stuck: str) -> None:
    class Slow(RandomAgent):
        name = "slow"

        def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
            while views.plies().max() > 1:
                if stuck == "sleeps":
                    time.sleep(60)
                elif stuck == "catches":
                    with contextlib.suppress(Exception):
                        time.sleep(60)
            return super().act(views, seats)

    lineups = [Lineup(agents=[Slow(), RandomAgent()], seed=seed) for seed in range(2)]
    started = time.monotonic()
    for record in play_games(NativeTicTacToe(), lineups, Conditions(agent_timeout=0.05)):
        assert (record.termination, record.plies) == ("timeout", 2)
        assert record.failure == "slow in seat 0: no decision within 0.05 s"
    assert time.monotonic() - started < 10
