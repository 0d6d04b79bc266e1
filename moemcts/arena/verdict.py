"""Verdicts: one-sentence conclusions from measured differences."""

from __future__ import annotations

from moemcts.arena.intervals import Interval
from moemcts.arena.rating import EloRange

FEW_GAMES = 50
"""With fewer games, results are too uncertain: half the 95 % interval of a score is 14 points with 50 independent
games, 100 Elo."""
UNSHOWN = "no difference shown"
"""The verdict if the interval includes zero and is narrow; never "equal"."""
UNDECIDED = "undecided"
"""The verdict if the interval includes zero and is wide: no conclusion is possible."""
NARROW = {"Elo": 20.0, "points": 5.0}
"""Maximum half-width of a narrow interval, by unit. Other units, such as a game's own returns, have no such scale."""


def verdict(
    difference: float,
    interval: Interval,
    n: int,
    *,
    unit: str = "points",
    observations: str = "paired games",
    digits: int = 1,
) -> str:
    """Returns a sentence on a difference with its 95 % interval, from `n` observations.

    Only a difference whose interval excludes zero is called better or worse. Otherwise it is never called equality, but
    "no difference shown" if the interval is narrow, and "undecided" if it is wide. The unit of an Elo difference is
    "Elo", that of percentages "points".

    >>> verdict(1.2, (-3.1, 5.4), 400)
    'no difference shown: +1.2 points, 95 % interval [-3.1, +5.4], 400 paired games'
    >>> verdict(1.2, (-13.1, 15.4), 40)
    'undecided: +1.2 points, 95 % interval [-13.1, +15.4], 40 paired games'
    """
    low, high = interval
    if n <= 0:
        return f"nothing measured: no {observations}"
    if not low <= difference <= high:
        raise ValueError(f"expected an interval around {difference}, got [{low}, {high}]")
    is_narrow = (high - low) / 2 <= NARROW.get(unit, 0.0)
    claim = "better" if low > 0 else "worse" if high < 0 else UNSHOWN if is_narrow else UNDECIDED
    if (low > 0 or high < 0) and min(abs(low), abs(high)) < 0.5 * 10**-digits:
        # An end that reads as zero would contradict the claim.
        digits += 1
    mean, low_end, high_end = (f"{number:+z.{digits}f}" for number in (difference, low, high))
    numbers = f"{mean} {unit}, 95 % interval [{low_end}, {high_end}], {n} {observations}"
    return f"{claim}: {numbers}"


def elo_verdict(elo: EloRange, n: int, observations: str) -> str:
    """Returns the verdict on an Elo difference, whose interval may lack one end or both."""
    low, high = elo.low, elo.high
    if low is not None and high is not None:
        return verdict(elo.difference, (low, high), n, unit="Elo", observations=observations)
    claim = "better" if low is not None and low > 0 else "worse" if high is not None and high < 0 else UNDECIDED
    if elo.difference in (low, high):
        # Only wins, or only losses: the difference is given by its bound.
        numbers = f"{'<' if low is None else '>'} {elo.difference:+z.1f} Elo, the only 95 % bound there is"
    elif low is None and high is None:
        numbers = f"{elo.difference:+z.1f} Elo, without any 95 % bound"
    else:
        numbers = f"{elo.difference:+z.1f} Elo, 95 % interval {elo.interval_text}"
    return f"{claim}: {numbers}, {n} {observations}"


def format_count(number: int, noun: str) -> str:
    """Returns a number with its noun.

    >>> format_count(1, "game"), format_count(1200, "game")
    ('1 game', '1,200 games')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"
