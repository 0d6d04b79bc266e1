"""How far a training is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


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
    """Of the last step whose loss is known: the mean over its samples, each as often as it counts."""
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
