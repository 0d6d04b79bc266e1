"""Times of self-play: a log file, and progress messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from moemcts.learn.training.metrics_log import MetricsLog, read_times
from moemcts.runs.selfplay.games import SpeedMeter
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
        self._last_report = time.monotonic()

    def read(self) -> list[dict[str, Any]]:
        """Returns the lines of the file."""
        return read_times(self._path)

    def append(self, values: Mapping[str, Any]) -> None:
        """Appends a line to the file."""
        log = MetricsLog(self._path)
        # Drop a partial line left by a process that was killed.
        log.rewind(log.num_bytes)
        log.append(values)

    def report_progress(self, generation: int, speed: SpeedMeter, share: float) -> None:
        """Reports a generation's speed and the time left, once a minute; `share` is the share of its games played."""
        if time.monotonic() - self._last_report < SECONDS_BETWEEN_LINES:
            return
        self._last_report = time.monotonic()
        rates = speed.total.rates(speed.seconds)
        losses = self._on_disk.read_result(generation - 1, LEARNED).get("losses", {}) if generation > 1 else {}
        formatted_losses = ", ".join(f"{phase} {loss['loss']:.3f}" for phase, loss in losses.items() if loss)
        time_left = self._time_left(generation, share)
        # At the beginning of a generation, no game is finished yet.
        games = f"{rates['games_per_second']:.2f} games/s, " if rates["games_per_second"] else ""
        self.say(
            f"generation {generation} of {self._num_generations}: {games}"
            f"{rates['positions_per_second']:,.0f} positions/s in batches of {rates['mean_batch']:.0f}, "
            f"{100 * rates['network_share']:.0f} % of the time in the network"
            + (f"; loss {formatted_losses}" if formatted_losses else "")
            + (f"; {time_left}" if time_left else "")
        )

    def _time_left(self, generation: int, share: float) -> str:
        """Returns the time left as text; empty in the first generation, from which it cannot be estimated."""
        seconds = [entry["seconds"] for entry in self.read() if "part" in entry and entry["part"] != START]
        if generation < 2 or not seconds:
            return ""
        seconds_per_generation = sum(seconds) / (generation - 1)
        generations_left = self._num_generations - generation + 1 - min(share, 1)
        return f"{duration(seconds_per_generation * generations_left)} left"
