"""What a measured difference may be called, in one sentence."""

from __future__ import annotations

from moemcts.arena.intervals import Interval

FEW_GAMES = 50
"""Below so many games too little is known: half a 95 % interval of a score is 14 points with 50 independent games, 100
Elo."""
UNSHOWN = "no difference shown"
"""What a difference is called whose interval includes zero: never equality."""


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

    Only an interval that leaves out zero is called better or worse; an interval that does not is never called
    equality. A difference of Elo has the unit "Elo".

    >>> verdict(1.2, (-3.1, 5.4), 400)
    'no difference shown: +1.2 points, 95 % interval [-3.1, +5.4], 400 paired games'
    """
    low, high = interval
    if n <= 0:
        return f"nothing measured: no {observations}"
    if not low <= difference <= high:
        raise ValueError(f"expected an interval around {difference}, got [{low}, {high}]")
    claim = "better" if low > 0 else "worse" if high < 0 else UNSHOWN
    mean, low_end, high_end = (f"{number:+z.{digits}f}" for number in (difference, low, high))
    numbers = f"{mean} {unit}, 95 % interval [{low_end}, {high_end}], {n} {observations}"
    return f"{claim}: {numbers}"


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun.

    >>> counted(1, "game"), counted(1200, "game")
    ('1 game', '1,200 games')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"
