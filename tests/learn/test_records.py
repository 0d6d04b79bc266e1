"""Samples keep what was played, by whom, and what came of it."""

from dataclasses import replace

import numpy as np
from learning_games import TicTacToe

from moemcts.agents import Decision, Policy
from moemcts.learn.data.dataset import Dataset
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
    assert joined.visits.take(np.array([6, 5])).actions.tolist() == [0, 4]


def test_the_first_samples_survive_the_way_to_disk_and_back() -> None:
    records = play(FIRST_WINS).first(3)
    copy = Records.of_arrays(records.arrays())
    assert len(copy) == len(copy.positions) == 3
    assert copy.action.tolist() == [0, 3, 1]
    assert copy.visits is not None
    assert copy.visits.offsets.tolist() == [0, 1, 2, 3]


def test_rows_of_visits_are_taken_in_any_order_and_those_without_are_what_was_played() -> None:
    nothing = (np.zeros(0, dtype=np.int64), np.zeros(0))
    visits = Visits.of([(np.array([1, 3]), np.array([0.25, 0.75])), nothing, (np.array([0]), np.array([1.0])), nothing])
    taken = visits.take(np.array([3, 2, 1, 1, 0]))
    assert taken.offsets.tolist() == [0, 0, 1, 1, 1, 3]
    known = taken.where_known(np.array([9, 8, 7, 6, 5]))
    assert known.offsets.tolist() == [0, 1, 2, 3, 4, 6]
    assert known.actions.tolist() == [9, 0, 7, 6, 1, 3]
    assert known.shares.tolist() == [1, 1, 1, 1, 0.25, 0.75]


def test_rows_with_and_without_visits_and_values_stay_apart() -> None:
    game = TicTacToe()
    known = play(FIRST_WINS, 0)
    log = GameLog(1)
    state = game.initial_state()
    for i, move in enumerate([4, 0, 3, 1, 5]):
        log.add(state, [(state.active_players[0], Decision(action=move, value=0.5 if i == 2 else None))])
        state = state.play([move])
    silent = log.finish(game, state)
    assert known.values is None
    assert silent.visits is None
    for parts in ([known, silent], [silent, known]):
        joined = Records.join(parts)
        copy = Records.of_arrays(joined.arrays())
        data = Dataset(game, [Records.of_arrays(part.arrays()) for part in parts])
        rows = np.arange(10)
        assert copy.visits is not None
        assert copy.values is not None
        assert (copy.visits.are_known(rows) == (copy.game == 0)).all()
        # Without visits, all that is known of a policy is what was played.
        batch = data.batch(rows, np.ones(10, dtype=np.float32))
        assert batch.policy is not None
        assert (batch.policy.actions == batch.actions).all()
        assert (batch.policy.shares == 1).all()
        for values in (copy.values, data.values(rows)):
            assert np.flatnonzero(~np.isnan(values)).tolist() == [2 + 5 * (parts[0] is known)]
        assert np.isnan(copy.first(2).values).all() if copy.first(2).values is not None else False


def test_files_hold_nothing_of_what_nobody_knew() -> None:
    log = GameLog(0)
    state = TicTacToe().initial_state()
    log.add(state, [(0, Decision(action=4))])
    names = log.finish(TicTacToe(), state.play([4])).arrays().keys()
    assert not {name for name in names if name.startswith(("visit", "value"))}


def test_visits_take_two_bytes_per_action_where_these_hold_it_and_four_elsewhere() -> None:
    for largest, kind in ((2**16 - 1, np.uint16), (2**16, np.int32)):
        actions = np.array([0, largest], dtype=np.int64)
        visits = Visits.of([(actions, np.array([0.5, 0.5], dtype=np.float32))] * 5)
        stored = replace(play(FIRST_WINS), visits=visits).arrays()["visit_actions"]
        joined = Visits.join([visits, visits])
        assert stored.dtype == joined.actions.dtype == kind
        assert stored.tolist() == actions.tolist() * 5
        assert joined.take(np.array([9])).actions.tolist() == [0, largest]


def test_visits_in_files_from_before_have_eight_bytes_per_action_and_are_read_alike() -> None:
    records = play(FIRST_WINS)
    arrays = records.arrays()
    older = Records.of_arrays({**arrays, "visit_actions": arrays["visit_actions"].astype(np.int64)})
    data = [Dataset(TicTacToe(), [one, Records.of_arrays(arrays)]) for one in (older, Records.of_arrays(arrays))]
    batches = [one.batch(np.arange(10), np.ones(10, dtype=np.float32)) for one in data]
    assert batches[0].policy is not None
    assert batches[1].policy is not None
    for name in ("offsets", "actions", "shares"):
        assert (getattr(batches[0].policy, name) == getattr(batches[1].policy, name)).all()
