"""Values of the search as centipawns, the unit in which engines, their matches and game files speak."""

from __future__ import annotations

import math

BASES = {"chess": 1.4, "chess960": 1.4}
"""How fast centipawns grow with the value, by game, in CrazyAra's engine (`value_to_centipawn`, since 2021-05)."""
BASE = 1.2
"""The same for all other variants."""
MOST_CENTIPAWNS = 9999
"""What stands for a value of 1, which no centipawns reach."""


def centipawns(value: float, game: str) -> int:
    """Returns a value in [-1, 1] as centipawns for the same side, at most 9999.

    CrazyAra's formula, -sgn(v) 100 ln(1 - |v|) / ln(base). In chess 0.5 are 206; matches that resign at 600 resign
    at a value of 0.867, those that agree to a draw below 20 do so below 0.065.
    """
    distance = 1 - abs(value)
    if distance <= 0:
        return round(math.copysign(MOST_CENTIPAWNS, value))
    pawns = -math.log(distance) / math.log(BASES.get(game, BASE))
    return round(math.copysign(min(100 * pawns, MOST_CENTIPAWNS), value))


def value_of_centipawns(score: float, game: str) -> float:
    """Returns the value in (-1, 1) that `centipawns` rounds to this score."""
    return math.copysign(1 - BASES.get(game, BASE) ** (-abs(score) / 100), score)
