"""How long batches take, and so how many positions fit into the time that is left."""

from __future__ import annotations

import statistics
from collections import deque

AS_MEASURED = 1.0
NUM_TRUSTED = 3
NUM_RECENT = 9


class Pace:
    """What batches of each size take here, going by the quickest of a size and by how much slower the last ones were.

    Slowness is the median of the last batches, of which the first few count as if nothing were slow: a batch that was
    held up, by a stopped process or a compile, says nothing about the next.
    """

    def __init__(self) -> None:
        self._measured: dict[int, float] = {}
        self._quickest: dict[int, float] = {}
        self._slowness: deque[float] = deque(maxlen=NUM_RECENT)
        self.forget()

    def measure(self, size: int, seconds: float) -> None:
        """Takes what a batch took while there was no hurry; it stays known when the rest is forgotten."""
        self._measured[size] = min(seconds, self._measured.get(size, seconds))
        self._quickest[size] = min(seconds, self._quickest.get(size, seconds))

    def record(self, num_positions: int, seconds: float) -> None:
        """Takes what a batch of a search took."""
        if num_positions < 1:
            return
        size = 1 << (num_positions - 1).bit_length()
        # A batch that is not full takes at least its share.
        full = seconds * size / num_positions
        self._quickest[size] = min(full, self._quickest.get(size, full))
        self._slowness.append(full / max(self._quickest[size], 1e-9))

    def forget(self) -> None:
        """Begins anew with what was measured without hurry: another game, or another position."""
        self._quickest = dict(self._measured)
        self._slowness.clear()
        self._slowness.extend([AS_MEASURED] * NUM_TRUSTED)

    def seconds(self, num_positions: int) -> float:
        """Returns how long a batch is going to take; infinite where no batch was seen yet."""
        smaller = [self._quickest[size] * num_positions / size for size in self._quickest if size < num_positions]
        larger = [self._quickest[size] for size in self._quickest if size >= num_positions]
        # Twice the positions take at most twice as long, half of them not longer.
        bounds = [*smaller, *larger]
        return statistics.median_low(self._slowness) * min(bounds, default=float("inf"))

    def fitting(self, seconds: float | None, most: int) -> int:
        """Returns how many positions, at most so many, can be evaluated in the time; 0 where not even one can.

        None is any time. Where no batch was seen yet it is one.
        """
        if seconds is None:
            return most
        if not self._quickest:
            return 1
        return next((size for size in reversed(sizes(most)) if self.seconds(size) <= seconds), 0)


def sizes(most: int) -> list[int]:
    """Returns the sizes of batches up to `most`: powers of two, and itself."""
    return [*(1 << power for power in range((most - 1).bit_length())), most]
