"""Samples keep what was played, by whom, and what came of it."""

import numpy as np
from learning_games import TicTacToe

from moemcts.agents import Decision, Policy
from moemcts.learn.data.records import GameLog, Records, Visits


def play(moves: list[int], number: int = 0) -> Records:
    game, log = TicTacToe(), GameLog(number)
    state = game.initial_state()
    for move in moves:
        policy = Policy(np.array([move]), np.array([1.0], dtype=np.float32))
        log.add(state, [(state.active_players[0], Decision(action=move, policy=policy))])
        state = state.play([move])
    return log.finish(game, state)


FIRST_WINS = [0, 3, 1, 4, 2]


def test_column_zero_of_the_returns_is_the_viewer() -> None:
    records = play(FIRST_WINS)
    assert records.player.tolist() == [0, 1, 0, 1, 0]
    assert records.returns.tolist() == [[1, -1], [-1, 1], [1, -1], [-1, 1], [1, -1]]


def test_the_last_decision_is_one_ply_from_the_end() -> None:
    assert play(FIRST_WINS).plies_to_end.tolist() == [5, 4, 3, 2, 1]


def test_joined_records_are_the_parts_one_after_the_other() -> None:
    parts = [play(FIRST_WINS, 0), play([4, 0, 3, 1, 5], 1)]
    joined = Records.join(parts)
    assert joined.action.tolist() == [0, 3, 1, 4, 2, 4, 0, 3, 1, 5]
    assert joined.position.tolist() == list(range(10))
    assert joined.game.tolist() == [0] * 5 + [1] * 5
    rows = [joined.positions.take(np.array([i])).data.tobytes().decode() for i in (1, 6)]
    assert rows == ["0", "4"]
    assert joined.visits is not None
    assert joined.visits.dense(np.array([6, 5]), 9).argmax(axis=1).tolist() == [0, 4]


def test_the_first_samples_survive_the_way_to_disk_and_back() -> None:
    records = play(FIRST_WINS).first(3)
    copy = Records.of_arrays(records.arrays())
    assert len(copy) == len(copy.positions) == 3
    assert copy.action.tolist() == [0, 3, 1]
    assert copy.visits is not None
    assert copy.visits.offsets.tolist() == [0, 1, 2, 3]


def test_dense_visits_hold_the_shares_of_their_row() -> None:
    visits = Visits.of([(np.array([1, 3]), np.array([0.25, 0.75])), (np.array([0]), np.array([1.0]))])
    assert visits.dense(np.array([1, 0]), 4).tolist() == [[1, 0, 0, 0], [0, 0.25, 0, 0.75]]
