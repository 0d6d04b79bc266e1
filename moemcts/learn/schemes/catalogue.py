"""The staged schemes by name: what each expert is trained on, and in which order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from moemcts.learn.schemes.scheme import StagedScheme
from moemcts.learn.training.stages import Stage


class _Factors(StagedScheme):
    """Base class of schemes whose options are all finite numbers above zero."""

    def __post_init__(self) -> None:
        check_positive(**vars(self))


@dataclass(frozen=True, kw_only=True)
class Single(_Factors):
    """One network is trained on everything, the papers' "regular": the experts of all phases are the same."""

    epochs: float = 1.0

    def stages(self, phase: int, num_phases: int) -> Sequence[Stage]:
        return [_everything(num_phases, self.epochs)]


@dataclass(frozen=True, kw_only=True)
class Separated(_Factors):
    """Each expert is trained on the samples of its own phase."""

    epochs: float = 1.0

    def stages(self, phase: int, num_phases: int) -> Sequence[Stage]:
        return [_only(phase, num_phases, self.epochs)]


@dataclass(frozen=True, kw_only=True)
class Staged(_Factors):
    """Each expert is trained on all phases, from the most distant to its own; ties go to the earlier phase.

    For three phases these are the orders of the M2CTS papers: opening 2-1-0, middlegame 0-2-1, endgame 0-1-2; optimiser
    and schedule restart at each stage. An expert costs `num_phases` trainings less the stages that experts share.
    """

    epochs: float = 1.0

    def stages(self, phase: int, num_phases: int) -> Sequence[Stage]:
        others = [other for other in range(num_phases) if other != phase]
        others.sort(key=lambda other: (-abs(other - phase), other))
        return [_only(other, num_phases, self.epochs) for other in [*others, phase]]


@dataclass(frozen=True, kw_only=True)
class Weighted(_Factors):
    """Each expert is trained on everything, with its own phase weighted `a` times as much as another.

    The weights have mean one over the phases: for three phases and `a` 4 they are 2, 0.5 and 0.5, for 10 they are 2.5,
    0.25 and 0.25 (the M2CTS papers' tables).
    """

    a: float = 4.0
    epochs: float = 1.0

    def stages(self, phase: int, num_phases: int) -> Sequence[Stage]:
        unit = num_phases / (self.a + num_phases - 1)
        weights = tuple(self.a * unit if other == phase else unit for other in range(num_phases))
        return [Stage(weights=weights, epochs=self.epochs)]


@dataclass(frozen=True, kw_only=True)
class GeneralFirst(_Factors):
    """One network is trained on everything, from which each expert continues on its own phase.

    The "staged" of CrazyAra's reinforcement learning, which is not the supervised `staged`. The second stage has
    `special_epochs` and `learning_rate` times the configured length and rate.
    """

    epochs: float = 1.0
    special_epochs: float = 1.0
    learning_rate: float = 1.0

    def stages(self, phase: int, num_phases: int) -> Sequence[Stage]:
        weights = _one_hot(phase, num_phases)
        special = Stage(weights=weights, epochs=self.special_epochs, learning_rate=self.learning_rate)
        return [_everything(num_phases, self.epochs), special]


@dataclass(frozen=True, kw_only=True)
class Distance(_Factors):
    """Each expert is trained on its own phase and, with decreasing weight, on what is near it in the same game.

    A sample `d` plies from the nearest sample of its game in the expert's phase has weight `2^(-d / half_life)`, so
    that those of the phase itself have weight 1 and boundaries are soft; below 1/64 it is left out, as are games that
    never reach the phase. The M2CTS thesis names such weights as future work and gives no formula.
    """

    half_life: float = 8.0
    epochs: float = 1.0

    def stages(self, phase: int, num_phases: int) -> Sequence[Stage]:
        if num_phases == 1:
            return [_everything(num_phases, self.epochs)]
        return [Stage(weights=_one_hot(phase, num_phases), epochs=self.epochs, half_life=self.half_life)]


@dataclass(frozen=True, kw_only=True)
class SharedStem(_Factors):
    """One network is trained on everything; all experts keep its body, and each trains its own heads on its own phase.

    The M2CTS thesis' future work. All experts together are little larger than one, and a batch passes through the body
    once whatever phases it holds. The second stage has `head_epochs` and `learning_rate` times the configured length
    and rate.
    """

    epochs: float = 1.0
    head_epochs: float = 1.0
    learning_rate: float = 1.0

    def stages(self, phase: int, num_phases: int) -> Sequence[Stage]:
        weights = _one_hot(phase, num_phases)
        heads = Stage(weights=weights, epochs=self.head_epochs, learning_rate=self.learning_rate, trains="heads")
        return [_everything(num_phases, self.epochs), heads]


def check_positive(**options: float) -> None:
    """Raises ValueError naming the first option that is not a finite number above zero."""
    for name, value in options.items():
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"expected a positive {name}, got {value!r}")


def _everything(num_phases: int, epochs: float) -> Stage:
    return Stage(weights=(1.0,) * num_phases, epochs=epochs)


def _only(phase: int, num_phases: int, epochs: float) -> Stage:
    return Stage(weights=_one_hot(phase, num_phases), epochs=epochs)


def _one_hot(phase: int, num_phases: int) -> tuple[float, ...]:
    return tuple(float(other == phase) for other in range(num_phases))
