"""How far a training is, and the measurements it leaves behind."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moemcts.errors import DamagedFile, MoemctsError
from moemcts.store import read_bytes


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a training is after a step."""

    stage: str
    """What the stage trains on."""
    step: int
    """Steps done in all stages."""
    num_steps: int
    """Steps of all stages together."""
    loss: float
    """Mean of the last steps whose loss is known."""
    samples_per_second: float
    """From disk to optimiser step; measurements and writing do not count."""
    waiting: float
    """Share of that time in which the network waited for data."""


OnProgress = Callable[[Progress], None]


class Meter:
    """Turns steps of stages into progress of the whole training."""

    def __init__(self, on_progress: OnProgress, num_steps: int) -> None:
        self._on_progress = on_progress
        self._num_steps = num_steps
        self._before = 0
        self._seconds = 0.0
        self._samples = 0
        self._waited = 0.0

    def step(self, stage: str, done: int, samples: int, seconds: float, waited: float, loss: float) -> None:
        """Notes a step, number `done` of its stage, that learned from `samples` in `seconds`, of which it `waited`."""
        self._samples += samples
        self._waited += waited
        self._seconds += seconds
        seconds = max(self._seconds, 1e-9)
        self._on_progress(
            Progress(
                stage=stage,
                step=self._before + done,
                num_steps=self._num_steps,
                loss=loss,
                samples_per_second=self._samples / seconds,
                waiting=self._waited / seconds,
            )
        )

    def end_stage(self, num_steps: int) -> None:
        """Notes that a stage of so many steps is done, now or by an earlier run."""
        self._before += num_steps


class MetricsLog:
    """Measurements as lines of JSON, appended to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.num_bytes = path.stat().st_size if path.exists() else 0

    def append(self, entry: Mapping[str, Any]) -> None:
        """Writes one line; raises MoemctsError where it cannot be written."""
        line = (json.dumps(entry) + "\n").encode()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(self._path, "ab") as file:
                file.write(line)
        except OSError as error:
            raise MoemctsError(f"cannot write {self._path}: {error.strerror or error}") from error
        self.num_bytes += len(line)

    def rewind(self, num_bytes: int) -> None:
        """Forgets what was written after the first `num_bytes`, which will be measured again, and half a line."""
        if not self.num_bytes:
            return
        kept = read_bytes(self._path)[:num_bytes]
        whole = kept.rfind(b"\n") + 1
        if whole < self.num_bytes:
            os.truncate(self._path, whole)
            self.num_bytes = whole


def read_log(path: Path) -> list[dict[str, Any]]:
    """Returns the lines of a log; none where there is no file, and without the half line of a writer that was killed.

    Raises DamagedFile naming a line that is none.
    """
    if not path.exists():
        return []
    *lines, _ = read_bytes(path).split(b"\n")
    entries = []
    for number, line in enumerate(lines, 1):
        try:
            entries.append(dict(json.loads(line)))
        except (ValueError, TypeError) as error:
            raise DamagedFile(f"{path} is damaged in line {number}: {error}") from error
    return entries
