"""Time is spent as CrazyAra spends it, and never more than there is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moemcts_chess.uci.clock import Clock, fixed_time, is_decided, thinking_time

OVERHEAD = 0.02


@pytest.mark.parametrize(
    ("clock", "move", "seconds"),
    [
        # 60 s without 30 overheads, an even share of 38 - 1 moves.
        (Clock(remaining=60), 1, (60 - 0.6) / 37),
        (Clock(remaining=60, increment=1), 10, (60 - 0.6) / 28 + 0.7),
        (Clock(remaining=60), 34, (60 - 0.6) / 4),
        (Clock(remaining=60, increment=1), 35, (60 - 0.6) / 14 + 0.7),
        (Clock(remaining=60, increment=1, moves_to_go=10), 50, (60 - 0.6) / 10 + 0.7),
    ],
)
def test_time_is_shared_as_crazyara_shares_it(clock: Clock, move: int, seconds: float) -> None:
    assert thinking_time(clock, move, OVERHEAD) == pytest.approx(seconds)


@given(
    remaining=st.floats(0, 20_000),
    increment=st.floats(0, 600),
    moves_to_go=st.none() | st.integers(0, 100),
    move=st.integers(0, 600),
    overhead=st.floats(0, 5),
)
def test_no_more_is_spent_than_the_clock_has(
    remaining: float, increment: float, moves_to_go: int | None, move: int, overhead: float
) -> None:
    clock = Clock(remaining=remaining, increment=increment, moves_to_go=moves_to_go)
    seconds = thinking_time(clock, move, overhead)
    assert seconds >= 0.001
    assert seconds == 0.001 or seconds + overhead <= remaining
    # Also where nothing is said to be lost on the way.
    assert seconds == 0.001 or seconds <= 0.9 * remaining


@pytest.mark.parametrize(("increment", "num_moves"), [(0.0, 75), (0.1, 500), (2.0, 500)])
def test_a_game_played_by_this_rule_is_never_lost_on_time(increment: float, num_moves: int) -> None:
    remaining = 10.0
    for move in range(1, num_moves):
        remaining -= thinking_time(Clock(remaining=remaining, increment=increment), move, OVERHEAD) + OVERHEAD
        assert remaining > 0
        remaining += increment


def test_moves_that_cost_more_than_the_increment_are_made_up_for() -> None:
    """Every move takes 8 ms longer than it was given, with 10 ms added: the thinking gives way."""
    remaining = 1.0
    for move in range(1, 500):
        remaining -= thinking_time(Clock(remaining=remaining, increment=0.01), move, OVERHEAD) + 0.008
        assert remaining > 0.1
        remaining += 0.01


def test_a_fixed_time_leaves_the_overhead() -> None:
    assert fixed_time(0.1, OVERHEAD) == pytest.approx(0.08)
    assert fixed_time(0.01, OVERHEAD) == 0.001


@pytest.mark.parametrize(
    ("visits", "num_more", "decided"),
    [([10, 3, 2], 6, True), ([10, 3, 2], 7, False), ([2, 10, 9], 0.5, True), ([5], 100, True), ([0, 0], 1, False)],
)
def test_a_search_is_decided_when_the_second_cannot_catch_up(visits: list[int], num_more: float, decided: bool) -> None:
    assert is_decided(visits, num_more) is decided
