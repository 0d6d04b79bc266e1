"""What a measured difference may be called, in one sentence."""

from __future__ import annotations

from moemcts.arena.intervals import Interval
from moemcts.arena.rating import EloRange

FEW_GAMES = 50
"""Below so many games too little is known: half a 95 % interval of a score is 14 points with 50 independent games, 100
Elo."""
UNSHOWN = "no difference shown"
"""What a difference is called whose interval includes zero and is narrow: never equality."""
UNDECIDED = "undecided"
"""What it is called whose interval includes zero and is wide: nothing follows from it."""
NARROW = {"Elo": 20.0, "points": 5.0}
"""How far an interval of a unit reaches, to either side, at most to be narrow: half its width. What is measured in
other units, such as a game's own returns, has no such scale.
"""


def verdict(
    difference: float,
    interval: Interval,
    n: int,
    *,
    unit: str = "points",
    observations: str = "paired games",
    digits: int = 1,
) -> str:
    """Returns an honest sentence on a difference with its 95 % interval, from `n` observations.

    Only an interval that leaves out zero is called better or worse. One that does not is never called equality: it
    shows no difference where it is narrow, and nothing where it is wide. A difference of Elo has the unit "Elo", one of
    percent "points".

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
    mean, low_end, high_end = (f"{number:+z.{digits}f}" for number in (difference, low, high))
    numbers = f"{mean} {unit}, 95 % interval [{low_end}, {high_end}], {n} {observations}"
    return f"{claim}: {numbers}"


def elo_verdict(found: EloRange, n: int, observations: str) -> str:
    """Returns what a difference of Elo may be called, also where its interval has one end alone, or none."""
    low, high = found.low, found.high
    if low is not None and high is not None:
        return verdict(found.difference, (low, high), n, unit="Elo", observations=observations)
    claim = "better" if low is not None and low > 0 else "worse" if high is not None and high < 0 else UNDECIDED
    if found.difference in (low, high):
        # All was won, or lost: there is no difference but its least.
        told = f"{'<' if low is None else '>'} {found.difference:+z.1f} Elo, the only 95 % bound there is"
    else:
        told = f"{found.difference:+z.1f} Elo, 95 % interval {found.interval_text}"
    return f"{claim}: {told}, {n} {observations}"


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun.

    >>> counted(1, "game"), counted(1200, "game")
    ('1 game', '1,200 games')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"
