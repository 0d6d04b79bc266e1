"""Games in lock-step are the games that would be played alone."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from games_for_tests import HashedTree, NativeTicTacToe, TreeGame
from games_of_the_arena import Leaver, LeavesAt, StayOrLeave
from hypothesis import given, settings
from hypothesis import strategies as st

from moemcts.agents import Agent, Decision, RandomAgent, Seat
from moemcts.arena import Conditions, GameRecord, Lineup, Progress, last_one_standing, play_games
from moemcts.arena.outcomes import outcome_of
from moemcts.errors import AgentFailure, Failure
from moemcts.game import Game, Views


def play(
    game: Game,
    lineups: Sequence[Lineup],
    *,
    on_progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> list[GameRecord]:
    games = play_games(game, lineups, Conditions(**options), on_progress=on_progress)
    return sorted(games, key=lambda record: record.index)


def lineups_of(agents: Sequence[Agent], count: int, **options: object) -> list[Lineup]:
    return [Lineup(agents=agents, opening=i, seed=i, opening_name=f"seed {i}", **options) for i in range(count)]  # type: ignore[arg-type]


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 4), st.booleans(), st.integers(1, 30))
def test_a_game_does_not_depend_on_what_runs_beside_it(num_players: int, simultaneous: bool, max_parallel: int) -> None:
    game = HashedTree(TreeGame(5, num_players, 3, 12, simultaneous))
    lineups = lineups_of([RandomAgent() for _ in range(num_players)], 12)
    alone = [next(iter(play_games(game, [lineup], Conditions(seed=9)))) for lineup in lineups]
    together = play(game, lineups, seed=9, max_parallel=max_parallel)
    assert [record.moves for record in alone] == [record.moves for record in together]
    assert [record.returns for record in alone] == [record.returns for record in together]


def test_another_seed_gives_other_games() -> None:
    game = NativeTicTacToe()
    lineups = lineups_of([RandomAgent(), RandomAgent()], 20)
    first, again, other = (play(game, lineups, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert sum(a.moves == b.moves for a, b in zip(first, other, strict=True)) < 3
    assert len({record.moves for record in first}) == 20


def test_the_moves_lead_to_the_returns() -> None:
    game = NativeTicTacToe()
    for record in play(game, lineups_of([RandomAgent(), RandomAgent()], 30)):
        state = game.initial_state()
        assert record.start_key == state.key() % 2**64
        for joint in record.moves:
            state = state.play(joint)
        assert not state.active_players
        assert record.returns == tuple(state.returns().tolist())
        assert record.plies == state.ply


def test_an_agent_is_asked_once_per_round() -> None:
    agent = Leaver(0.0, "stays")
    game = StayOrLeave(4, length=10)
    list(play_games(game, [Lineup(agents=[agent] * 4) for _ in range(50)]))
    assert agent.asked == [200] * 10
    agent.asked.clear()
    list(play_games(game, [Lineup(agents=[agent] * 4) for _ in range(50)], Conditions(max_parallel=25)))
    assert agent.asked == [100] * 20


def test_places_of_finished_games_are_filled_again() -> None:
    sizes: list[int] = []

    def note(progress: Progress) -> None:
        sizes.append(progress.num_running)

    game = StayOrLeave(2, length=30)
    play(game, lineups_of([Leaver(0.3, "a"), Leaver(0.3, "b")], 100), max_parallel=8, on_progress=note)
    assert max(sizes) == 8
    assert sum(size == 8 for size in sizes) > 0.8 * len(sizes)


def test_games_are_counted_as_they_finish() -> None:
    last: list[Progress] = []
    game = StayOrLeave(2)
    records = play(game, lineups_of([Leaver(0.3, "a"), Leaver(0.3, "b")], 40), on_progress=last.append)
    assert last[-1].num_plies == sum(record.plies for record in records)
    assert [one.num_finished for one in last] == sorted(one.num_finished for one in last)


@pytest.mark.parametrize(
    ("plies", "outcome", "played"),
    [
        ((30, 3, 4, 5), "win", 6),
        ((2, 3, 4, 30), "loss", 3),  # out, and the others play on
        ((9, 3, 4, 9), "tie", 10),  # the last two leave together
        ((30, 3, 30, 30), "tie", 20),  # time runs out
        ((5, 3, 4, 30), "loss", 6),
    ],
)
def test_a_game_is_stopped_and_counted_for_its_focus(plies: Sequence[int], outcome: str, played: int) -> None:
    game = StayOrLeave(4, length=20)
    lineup = Lineup(agents=[LeavesAt(ply) for ply in plies], focus=0)
    record = next(iter(play_games(game, [lineup])))
    assert (record.outcome, record.plies, record.truncated) == (outcome, played, False)


def test_without_a_focus_a_game_goes_on_to_its_end() -> None:
    game = StayOrLeave(4, length=20)
    record = next(iter(play_games(game, [Lineup(agents=[LeavesAt(ply) for ply in (2, 3, 4, 30)])])))
    assert (record.outcome, record.plies) == (None, 5)
    assert record.returns == (-1, -1, -1, 1)


def test_a_game_cut_short_is_marked_and_tied() -> None:
    game = StayOrLeave(2, length=20)
    lineup = Lineup(agents=[LeavesAt(30), LeavesAt(30)], focus=1)
    record = next(iter(play_games(game, [lineup], Conditions(max_plies=5))))
    assert (record.plies, record.truncated, record.outcome) == (5, True, "tie")


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=2, max_size=5))
def test_somebody_wins_exactly_when_somebody_has_a_positive_return(returns: list[float]) -> None:
    scores = [last_one_standing(np.array(returns, dtype=np.float32), player) for player in range(len(returns))]
    if max(returns) > 0:
        assert 1 in scores
        assert 0.5 not in scores
    else:
        # A tie of those who got most: others fell before them.
        assert scores == [0.5 if one == max(returns) else 0.0 for one in returns]


def test_partners_win_together() -> None:
    returns = np.array([1, -1, 1, -1], dtype=np.float32)
    outcomes = [outcome_of(last_one_standing(returns, player)) for player in range(4)]
    assert outcomes == ["win", "loss", "win", "loss"]


def test_a_record_survives_its_file() -> None:
    game = HashedTree(TreeGame(5, 3, 3, 12, True))
    for record in play(game, lineups_of([RandomAgent()] * 3, 5, focus=1, label="x")):
        assert GameRecord.from_json(record.to_json()) == record


def test_an_agent_that_answers_too_little_loses() -> None:
    class Mute:
        name = "mute"

        def act(self, views: object, seats: object) -> list[Decision]:
            return []

    (record,) = play_games(StayOrLeave(2), [Lineup(agents=[Mute(), LeavesAt(9)])])
    assert record.failure == "mute in seat 0: ValueError: expected one decision per view (1), got 0"
    assert record.returns == (-1, 1)


def test_every_player_needs_an_agent() -> None:
    with pytest.raises(ValueError, match="expected an agent for each of 4 players, got 2"):
        list(play_games(StayOrLeave(4), [Lineup(agents=[LeavesAt(1)] * 2)]))


def test_a_game_that_is_over_at_its_start_is_recorded() -> None:
    game = StayOrLeave(2)
    record = next(iter(play_games(game, [Lineup(agents=[LeavesAt(1)] * 2, opening=game.parse_state("9 1"), focus=1)])))
    assert (record.plies, record.outcome) == (0, "win")


class FailsAt:
    """Stays, and fails where a game is at a ply and was to last `length` plies."""

    name = "fails"

    def __init__(self, ply: int, length: int) -> None:
        self.ply = ply
        self.length = length

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        states = [views[row].state for row in range(len(seats))]
        failures = {
            row: Failure("timeout", "no answer within 3 s")
            for row, state in enumerate(states)
            if (state.ply, state.length) == (self.ply, self.length)
        }
        if failures:
            raise AgentFailure(failures, [Decision(action=0)] * len(seats))
        return [Decision(action=0)] * len(seats)


@pytest.mark.parametrize("num_players", [2, 4])
def test_an_agent_that_fails_loses_that_game_and_no_other(num_players: int) -> None:
    game = StayOrLeave(num_players, length=20)
    agents = [FailsAt(5, 18), *(LeavesAt(50) for _ in range(num_players - 1))]
    records = play(game, lineups_of(agents, 7))
    failed = [record for record in records if record.termination != "rules"]
    assert len(failed) == 1
    (record,) = failed
    assert (record.index, record.plies, record.termination, record.truncated) == (2, 5, "timeout", False)
    assert record.failure == "fails in seat 0: no answer within 3 s"
    assert record.returns[0] == -1
    assert sum(record.returns) == pytest.approx(0, abs=1e-6)  # float32
    assert last_one_standing(np.array(record.returns, dtype=np.float32), 0) == 0
    assert GameRecord.from_json(record.to_json()) == record
    assert [one.plies for one in records if one.index != 2] == [20, 19, 17, 16, 15, 14]


def test_a_file_written_before_games_said_why_they_ended_is_read() -> None:
    record = next(iter(play_games(StayOrLeave(2), lineups_of([LeavesAt(3), LeavesAt(4)], 1))))
    values = record.to_json()
    del values["termination"], values["failure"]
    assert GameRecord.from_json(values) == record


def test_a_failure_survives_the_way_between_processes() -> None:
    failure = AgentFailure({1: Failure("crash", "gone")}, [Decision(action=3), None])
    again = pickle.loads(pickle.dumps(failure))
    assert (again.failures, again.decisions, str(again)) == (failure.failures, failure.decisions, "crash: gone")
