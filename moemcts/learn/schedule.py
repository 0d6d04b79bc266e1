"""Learning rate and momentum over the steps of a stage."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np


class Pace(NamedTuple):
    """What holds at one step."""

    learning_rate: float
    momentum: float


ScheduleName = Literal["constant", "one_cycle"]


def pace(
    schedule: ScheduleName, step: int, num_steps: int, *, learning_rate: float, momentum: float, min_momentum: float
) -> Pace:
    """Returns the pace at `step` of `num_steps`.

    `learning_rate` and `momentum` are the highest that the schedule reaches; with `one_cycle`, momentum is
    lowest, `min_momentum`, where the learning rate is highest.
    """
    if schedule == "constant":
        return Pace(learning_rate, momentum)
    rate = learning_rate * one_cycle((step + 0.5) / num_steps)
    low = learning_rate * FINAL
    return Pace(rate, momentum - (momentum - min_momentum) * (rate - low) / (learning_rate - low))


FINAL = 1 / 14000
"""The lowest share of the learning rate: 0.00001 for a maximum of 0.14 (M2CTS paper, Table X)."""

# CrazyAra, one_cycle_schedule: parts of the run and shares of the learning rate, linear in between.
_PARTS = (0.0, 1 / 30, 1 / 30 + 0.15, 1 / 30 + 0.30, 1 / 30 + 0.90, 1.0)
_SHARES = (FINAL, 1 / 8, 1.0, 1 / 8, FINAL, FINAL)


def one_cycle(progress: float) -> float:
    """Returns the share of the highest learning rate at `progress` in [0, 1], as the M2CTS papers trained.

    A short warm-up, a triangle with its peak at 18 % of the run, a long linear cool-down.
    """
    return float(np.interp(progress, _PARTS, _SHARES))
