"""How long self-play takes: a file of times, and what people are told of it meanwhile."""

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
"""The part that makes what self-play begins with."""


class Times:
    """What the parts of self-play have taken, in `timings.jsonl`, which is another file each time."""

    def __init__(self, on_disk: Generations, num_generations: int) -> None:
        self.say: Callable[[str], None] = lambda text: None
        """Told every minute how things stand."""
        self._on_disk = on_disk
        self._num_generations = num_generations
        self._path = on_disk.folder / "timings.jsonl"
        self._said = time.monotonic()

    def read(self) -> list[dict[str, Any]]:
        """Returns the lines of the file."""
        return read_times(self._path)

    def note(self, values: Mapping[str, Any]) -> None:
        """Adds a line to the file."""
        log = MetricsLog(self._path)
        # Half a line of a process that was killed is no beginning of this one.
        log.rewind(log.num_bytes)
        log.append(values)

    def tell(self, generation: int, speed: SpeedOfShares, share: float) -> None:
        """Says how fast a generation's games are and what is left of all, once a minute; a share of them is played."""
        if time.monotonic() - self._said < SECONDS_BETWEEN_LINES:
            return
        self._said = time.monotonic()
        rates = speed.total.rates(speed.seconds)
        losses = self._on_disk.said(generation - 1, LEARNED).get("losses", {}) if generation > 1 else {}
        told = ", ".join(f"{name} {one['loss']:.3f}" for name, one in losses.items() if one)
        left = self._left(generation, share)
        # While the first games of a generation are played, none is finished.
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
