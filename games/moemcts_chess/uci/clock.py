"""How long to think: pure functions of the clocks, and of what the search has found out so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# CrazyAra's time manager (engine/src/agents/util/timemanager): moves that a game is expected to have left.
EXPECTED_MOVES = 38
FIRST_LATE_MOVE = 35
LATE_MOVES_LEFT = 14
SHARE_OF_INCREMENT = 0.7
OVERHEADS_HELD_BACK = 30
OVERHEADS_FOR_EMERGENCIES = 10
DEFAULT_SECONDS = 1.0
"""Time for a `go` that names no limit at all."""
LEAST_SECONDS = 0.001
MOST_OF_CLOCK = 0.9
"""Share of the time that a move may take, whatever is held back: an overhead may be said to be none."""


@dataclass(frozen=True, kw_only=True)
class Clock:
    """What the player who thinks has left, in seconds."""

    remaining: float
    increment: float = 0.0
    moves_to_go: int | None = None
    """Moves until more time is added; None where the time is for the rest of the game."""


def thinking_time(clock: Clock, move_number: int, overhead: float) -> float:
    """Returns the seconds to spend on a move, always below what the clock has left by at least `overhead`.

    CrazyAra's rule: with 30 overheads held back, an even share of the time to the next control, or else of 38 less the
    number of the move before move 35 and of 14 from there on, and 0.7 of the increment. It alone can spend more than
    there is; so never more than the time without what is held back, or than half of it where little is left, nor more
    than nine tenths of it, and next to nothing where overheads have eaten most of what was held back.
    """
    if clock.remaining < OVERHEADS_FOR_EMERGENCIES * overhead:
        return LEAST_SECONDS
    safe = max(clock.remaining - OVERHEADS_HELD_BACK * overhead, LEAST_SECONDS)
    if clock.moves_to_go is not None:
        moves = max(clock.moves_to_go, 1)
    elif move_number < FIRST_LATE_MOVE:
        moves = EXPECTED_MOVES - max(move_number, 1)
    else:
        moves = LATE_MOVES_LEFT
    wanted = safe / moves + SHARE_OF_INCREMENT * clock.increment
    most = min(max(safe, clock.remaining / 2) - overhead, MOST_OF_CLOCK * clock.remaining)
    return max(min(wanted, most), LEAST_SECONDS)


def fixed_time(seconds: float, overhead: float) -> float:
    """Returns the seconds to spend where the time per move is given."""
    return max(seconds - overhead, LEAST_SECONDS)


def is_decided(visits: Sequence[float], num_more: float) -> bool:
    """Tests whether no action can catch up with the most visited one in `num_more` further simulations."""
    if len(visits) < 2:
        return True
    first, second = sorted(visits, reverse=True)[:2]
    return second + num_more < first
