"""An agent that fails in one game fails in no other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from games_for_tests import NativeTicTacToe
from moemcts.arena.guard import Guarded

from moemcts.agents import Decision, RandomAgent, Seat
from moemcts.arena import GameRecord, Lineup, play_games
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


def play(agent: RandomAgent | Guarded, *, max_parallel: int) -> list[GameRecord]:
    lineups = [Lineup(agents=[agent, RandomAgent()], seed=seed) for seed in range(40)]
    games = play_games(NativeTicTacToe(), lineups, seed=3, max_parallel=max_parallel)
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
    records = play(Guarded(Fragile(how)), max_parallel=max_parallel)
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
    lineups = [Lineup(agents=[RandomAgent(), Guarded(Mute())], seed=seed) for seed in range(3)]
    for record in play_games(game, lineups):
        assert record.failure == "mute in seat 1: ValueError: expected 1 decisions, one per view, got 0"
        assert record.returns == (1, -1)


def test_running_out_of_memory_is_nobodys_loss() -> None:
    class Greedy:
        name = "greedy"

        def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
            raise MemoryError

    game = NativeTicTacToe()
    seat = Seat(0, np.random.default_rng(0))
    with pytest.raises(MemoryError):
        Guarded(Greedy()).act(game.views([(game.initial_state(), 0)]), [seat])
