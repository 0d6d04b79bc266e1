"""Conversion between values of the search and centipawns, the unit of engines, their matches and PGN files."""

from __future__ import annotations

import math

BASES = {"chess": 1.4, "chess960": 1.4}
"""Bases of the logarithm, by game, in CrazyAra's engine (`value_to_centipawn`, since 2021-05)."""
BASE = 1.2
"""The base for all other variants."""
MAX_CENTIPAWNS = 9999
"""Represents a value of 1, which no finite number of centipawns reaches."""


def centipawns(value: float, game: str) -> int:
    """Returns a value in [-1, 1] as centipawns for the same side, at most 9999.

    CrazyAra's formula, -sgn(v) 100 ln(1 - |v|) / ln(base). In chess 0.5 is 206; resigning at 600 means a value of
    0.867, and agreeing to a draw below 20 a value below 0.065.
    """
    distance = 1 - abs(value)
    if distance <= 0:
        return round(math.copysign(MAX_CENTIPAWNS, value))
    pawns = -math.log(distance) / math.log(BASES.get(game, BASE))
    return round(math.copysign(min(100 * pawns, MAX_CENTIPAWNS), value))


def value_of_centipawns(score: float, game: str) -> float:
    """Returns the value in (-1, 1) with this score, the inverse of `centipawns`."""
    return math.copysign(1 - BASES.get(game, BASE) ** (-abs(score) / 100), score)
