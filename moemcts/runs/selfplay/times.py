"""Times of self-play: a log file, and progress messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from moemcts.learn.training.metrics_log import MetricsLog, read_times
from moemcts.runs.selfplay.games import SpeedOfShares
from moemcts.runs.selfplay.generations import LEARNED, Generations
from moemcts.runs.times import duration

SECONDS_BETWEEN_LINES = 60.0
START = "start"
"""The part that makes the initial experts."""


class Times:
    """The times of self-play's parts, in `timings.jsonl`; they differ from run to run."""

    def __init__(self, on_disk: Generations, num_generations: int) -> None:
        self.say: Callable[[str], None] = lambda text: None
        """Called with a progress message once a minute."""
        self._on_disk = on_disk
        self._num_generations = num_generations
        self._path = on_disk.folder / "timings.jsonl"
        self._said = time.monotonic()

    def read(self) -> list[dict[str, Any]]:
        """Returns the lines of the file."""
        return read_times(self._path)

    def note(self, values: Mapping[str, Any]) -> None:
        """Appends a line to the file."""
        log = MetricsLog(self._path)
        # Drop a partial line left by a process that was killed.
        log.rewind(log.num_bytes)
        log.append(values)

    def tell(self, generation: int, speed: SpeedOfShares, share: float) -> None:
        """Reports a generation's speed and the time left, once a minute; `share` is the share of its games played."""
        if time.monotonic() - self._said < SECONDS_BETWEEN_LINES:
            return
        self._said = time.monotonic()
        rates = speed.total.rates(speed.seconds)
        losses = self._on_disk.read_result(generation - 1, LEARNED).get("losses", {}) if generation > 1 else {}
        told = ", ".join(f"{name} {one['loss']:.3f}" for name, one in losses.items() if one)
        left = self._left(generation, share)
        # At the beginning of a generation, no game is finished yet.
        games = f"{rates['games_per_second']:.2f} games/s, " if rates["games_per_second"] else ""
        self.say(
            f"generation {generation} of {self._num_generations}: {games}"
            f"{rates['positions_per_second']:,.0f} positions/s in batches of {rates['mean_batch']:.0f}, "
            f"{100 * rates['network_share']:.0f} % of the time in the network"
            + (f"; loss {told}" if told else "")
            + (f"; {left}" if left else "")
        )

    def _left(self, generation: int, share: float) -> str:
        times = [one["seconds"] for one in self.read() if "part" in one and one["part"] != START]
        if generation < 2 or not times:
            return ""
        each = sum(times) / (generation - 1)
        return f"{duration(each * (self._num_generations - generation + 1 - min(share, 1)))} left"
