"""The random numbers of the native search, for its definition in NumPy."""

from __future__ import annotations

import math


class SplitMix64:
    """SplitMix64 (Steele, Lea, Flood 2014)."""

    def __init__(self, seed: int) -> None:
        self.state = seed % 2**64

    def next_u64(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return z ^ z >> 31

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
