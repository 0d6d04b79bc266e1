"""Learning rate and momentum over the steps of a stage."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np


class ScheduleValues(NamedTuple):
    """Learning rate and momentum of one step."""

    learning_rate: float
    momentum: float


ScheduleName = Literal["constant", "one_cycle", "cosine", "plateau"]


def schedule_values(
    schedule: ScheduleName, step: int, num_steps: int, *, learning_rate: float, momentum: float, min_momentum: float
) -> ScheduleValues:
    """Returns the learning rate and momentum at `step` of `num_steps`.

    `learning_rate` and `momentum` are the maxima of the schedule; with `one_cycle` and `cosine`, momentum is lowest
    where the learning rate is highest: `min_momentum`, or `momentum` if that is less. `plateau` is constant between the
    reductions, which depend on measurements: `LossMonitor.learning_rate`.
    """
    if schedule in ("constant", "plateau"):
        return ScheduleValues(learning_rate, momentum)
    shape = one_cycle if schedule == "one_cycle" else cosine
    rate = learning_rate * shape((step + 0.5) / num_steps)
    low = learning_rate * FINAL
    fall = momentum - min(min_momentum, momentum)
    return ScheduleValues(rate, momentum - fall * (rate - low) / (learning_rate - low))


FINAL = 1 / 14000
"""The lowest fraction of the learning rate: 0.00001 for a maximum of 0.14 (M2CTS paper, Table X)."""

# CrazyAra, one_cycle_schedule: fractions of the run and of the learning rate, linear in between.
_PARTS = (0.0, 1 / 30, 1 / 30 + 0.15, 1 / 30 + 0.30, 1 / 30 + 0.90, 1.0)
_SHARES = (FINAL, 1 / 8, 1.0, 1 / 8, FINAL, FINAL)


def one_cycle(progress: float) -> float:
    """Returns the fraction of the maximum learning rate at `progress` in [0, 1], as in the M2CTS papers' trainings.

    A short warm-up, a triangle with its peak at 18 % of the run, a long linear cool-down.
    """
    return float(np.interp(progress, _PARTS, _SHARES))


def cosine(progress: float) -> float:
    """Returns the fraction of the maximum learning rate at `progress` in [0, 1], as in CrazyAra's self-play.

    A linear warm-up over a quarter of the run, half a cosine over 70 %, and the lowest rate for the rest.
    """
    if progress < 0.25:
        return FINAL + (1 - FINAL) * progress / 0.25
    fall = min((progress - 0.25) / 0.7, 1.0)
    return FINAL + (1 - FINAL) * 0.5 * (1 + math.cos(math.pi * fall))
