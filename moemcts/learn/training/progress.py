"""Progress of a training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Progress:
    """State of a training after a step."""

    stage: str
    """Name of what the stage trains on."""
    step: int
    """Steps done in all stages."""
    num_steps: int
    """Steps of all stages together."""
    loss: float
    """Loss of the last step that it is known of: the weighted mean over its samples."""
    samples_per_second: float
    """From disk to optimiser step, without measurements and writing."""
    waiting: float
    """Share of that time that was spent waiting for data."""


OnProgress = Callable[[Progress], None]


class Meter:
    """Converts steps of stages to progress of the whole training."""

    def __init__(self, on_progress: OnProgress, num_steps: int) -> None:
        self._on_progress = on_progress
        self._num_steps = num_steps
        self._before = 0
        self._seconds = 0.0
        self._samples = 0
        self._waited = 0.0

    def step(self, stage: str, done: int, samples: int, seconds: float, waited: float, loss: float) -> None:
        """Adds step `done` of a stage, on `samples` in `seconds`, of which it `waited` for data."""
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
        """Records that a stage of `num_steps` is done, by this run or an earlier one."""
        self._before += num_steps
