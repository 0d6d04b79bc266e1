"""Estimates of batch times, and thereby of how many positions can be evaluated in the remaining time."""

from __future__ import annotations

import statistics
from collections import deque

AS_MEASURED = 1.0
NUM_TRUSTED = 3
NUM_RECENT = 9


class Pace:
    """Times of batches by size, estimated from the fastest of each size and a slowdown measured on the last batches.

    The slowdown is the median over the last batches, initially with a few values of 1: a batch that was held up, by a
    stopped process or a compilation, says nothing about the next one.
    """

    def __init__(self) -> None:
        self._measured: dict[int, float] = {}
        self._fastest: dict[int, float] = {}
        self._slowdowns: deque[float] = deque(maxlen=NUM_RECENT)
        self.forget()

    def measure(self, size: int, seconds: float) -> None:
        """Records the time of a warm-up batch, which `forget` keeps."""
        self._measured[size] = min(seconds, self._measured.get(size, seconds))
        self._fastest[size] = min(seconds, self._fastest.get(size, seconds))

    def record(self, num_positions: int, seconds: float) -> None:
        """Records the time of a batch of a search."""
        if num_positions < 1:
            return
        size = 1 << (num_positions - 1).bit_length()
        # A partial batch takes at least its share of a full one.
        full = seconds * size / num_positions
        self._fastest[size] = min(full, self._fastest.get(size, full))
        self._slowdowns.append(full / max(self._fastest[size], 1e-9))

    def forget(self) -> None:
        """Resets to the warm-up measurements, for another game or position."""
        self._fastest = dict(self._measured)
        self._slowdowns.clear()
        self._slowdowns.extend([AS_MEASURED] * NUM_TRUSTED)

    def seconds(self, num_positions: int) -> float:
        """Returns the estimated time of a batch; infinite if no batch has been recorded."""
        smaller = [self._fastest[size] * num_positions / size for size in self._fastest if size < num_positions]
        larger = [self._fastest[size] for size in self._fastest if size >= num_positions]
        # Doubling the size at most doubles the time, and halving it does not increase it.
        bounds = [*smaller, *larger]
        return statistics.median_low(self._slowdowns) * min(bounds, default=float("inf"))

    def affordable_size(self, seconds: float | None, max_size: int) -> int:
        """Returns how many positions, at most `max_size`, can be evaluated in the given time; 0 if not even one can.

        None means no time limit. Without any recorded batch the result is 1.
        """
        if seconds is None:
            return max_size
        if not self._fastest:
            return 1
        return next((size for size in reversed(batch_sizes(max_size)) if self.seconds(size) <= seconds), 0)


def batch_sizes(max_size: int) -> list[int]:
    """Returns the batch sizes up to `max_size`: powers of two, and `max_size` itself."""
    return [*(1 << power for power in range((max_size - 1).bit_length())), max_size]
