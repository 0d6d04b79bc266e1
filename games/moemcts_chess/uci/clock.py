"""Time management: pure functions of the clocks, and of the search results so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# CrazyAra's time manager (engine/src/agents/util/timemanager): the expected number of remaining moves.
EXPECTED_MOVES = 38
FIRST_LATE_MOVE = 35
LATE_MOVES_LEFT = 14
SHARE_OF_INCREMENT = 0.7
OVERHEADS_HELD_BACK = 30
OVERHEADS_FOR_EMERGENCIES = 10
DEFAULT_SECONDS = 1.0
"""Time for a `go` without any limit."""
MIN_SECONDS = 0.001
MAX_OF_CLOCK = 0.9
"""Maximum share of the remaining time for a move, whatever is held back, as the overhead may be set to 0."""


@dataclass(frozen=True, kw_only=True)
class Clock:
    """The clock of the player to move, in seconds."""

    remaining: float
    increment: float = 0.0
    moves_to_go: int | None = None
    """Moves until the next time control; None if the time is for the rest of the game."""


def thinking_time(clock: Clock, move_number: int, overhead: float) -> float:
    """Returns the seconds to spend on a move, always less than the remaining time by at least `overhead`.

    CrazyAra's rule: with 30 overheads held back, an even share of the time to the next control, or else of 38 less the
    number of the move before move 35 and of 14 from there on, and 0.7 of the increment. That alone could exceed the
    remaining time, so the result is capped: by the time without what is held back, or by half of the time if little is
    left, and by nine tenths of it; almost nothing is spent once overheads have used up most of what was held back.
    """
    if clock.remaining < OVERHEADS_FOR_EMERGENCIES * overhead:
        return MIN_SECONDS
    safe = max(clock.remaining - OVERHEADS_HELD_BACK * overhead, MIN_SECONDS)
    if clock.moves_to_go is not None:
        moves = max(clock.moves_to_go, 1)
    elif move_number < FIRST_LATE_MOVE:
        moves = EXPECTED_MOVES - max(move_number, 1)
    else:
        moves = LATE_MOVES_LEFT
    wanted = safe / moves + SHARE_OF_INCREMENT * clock.increment
    most = min(max(safe, clock.remaining / 2) - overhead, MAX_OF_CLOCK * clock.remaining)
    return max(min(wanted, most), MIN_SECONDS)


def fixed_time(seconds: float, overhead: float) -> float:
    """Returns the seconds to spend given a fixed time per move."""
    return max(seconds - overhead, MIN_SECONDS)


def is_decided(visits: Sequence[float], num_more: float) -> bool:
    """Returns whether no action can catch up with the most visited one in `num_more` further simulations."""
    if len(visits) < 2:
        return True
    first, second = sorted(visits, reverse=True)[:2]
    return second + num_more < first
