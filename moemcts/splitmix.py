"""SplitMix64 (Steele, Lea, Flood 2014): the native search's random numbers, and hashes of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_GAMMA = 0x9E3779B97F4A7C15
_FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def uniform_of(numbers: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """Returns a number in [0, 1) for each of `numbers`, which depends only on it and the seed."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) + np.uint64(seed + 1) * np.uint64(_GAMMA)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(_FACTORS[0])
        z = (z ^ (z >> np.uint64(27))) * np.uint64(_FACTORS[1])
        z ^= z >> np.uint64(31)
    return np.asarray(z >> np.uint64(11)) / 2.0**53


def mixed(numbers: Iterable[int], start: int = 0) -> int:
    """Returns a 64-bit hash of a sequence of integers, continued from `start`: a position's key from its history.

    `mixed(b, mixed(a))` is the hash of `a` followed by `b`.
    """
    for number in numbers:
        start = _spread((start + int(number) + _GAMMA) % 2**64)
    return start


class SplitMix64:
    """A stream of random numbers."""

    def __init__(self, seed: int) -> None:
        self.state = seed % 2**64

    def next_u64(self) -> int:
        self.state = (self.state + _GAMMA) % 2**64
        return _spread(self.state)

    def uniform(self) -> float:
        """Returns a number in [0, 1)."""
        return (self.next_u64() >> 11) * (1.0 / 2**53)

    def normal(self) -> float:
        """Returns a standard normal number (Box and Muller 1958)."""
        radius = math.sqrt(-2.0 * math.log(1.0 - self.uniform()))
        return radius * math.cos(math.tau * self.uniform())

    def gumbel(self) -> float:
        """Returns a standard Gumbel number."""
        return -math.log(max(-math.log(1.0 - self.uniform()), 2.0**-54))

    def gamma(self, alpha: float) -> float:
        """Returns a gamma number of shape `alpha` and scale 1 (Marsaglia and Tsang 2000)."""
        if alpha < 1.0:
            boost = math.pow(1.0 - self.uniform(), 1.0 / alpha)
            return self.gamma(alpha + 1.0) * boost
        d = alpha - 1.0 / 3.0
        c = 1.0 / math.sqrt(9.0 * d)
        while True:
            x = self.normal()
            t = 1.0 + c * x
            if t <= 0.0:
                continue
            v = t * t * t
            if math.log(1.0 - self.uniform()) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v


def _spread(z: int) -> int:
    """Returns the output function of SplitMix64: every bit depends on all bits of `z`."""
    z = (z ^ z >> 30) * _FACTORS[0] % 2**64
    z = (z ^ z >> 27) * _FACTORS[1] % 2**64
    return z ^ z >> 31
