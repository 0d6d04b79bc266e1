"""Stages of training, each with one weight per phase, and the order in which to train those of a team."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One training run: a network is trained on all samples, weighted by phase, and passed on to the next stage."""

    weights: tuple[float, ...]
    """Weight of the samples of each phase, `[K]`; samples of a phase with weight zero are left out."""
    epochs: float = 1.0
    """Length as a multiple of the trainer's epochs."""
    learning_rate: float = 1.0
    """Learning rate as a multiple of the configured one."""
    half_life: float | None = None
    """If given, samples of other phases count too; their weight halves every `half_life` plies from the nearest sample
    of their game in a phase that counts."""
    trains: Literal["all", "heads"] = "all"
    """What is trained: all weights, or only those of the heads, with the body frozen."""

    def __post_init__(self) -> None:
        """Raises ValueError for weights that are not valid or all zero, and for an invalid length, rate or part."""
        weights = self.weights
        if not isinstance(weights, tuple) or not any(weights) or not all(0 <= weight < math.inf for weight in weights):
            raise ValueError(f"expected weights as a tuple of numbers of 0 or more, not all 0, got {weights!r}")
        for name in ("epochs", "learning_rate", "half_life"):
            factor = getattr(self, name)
            if factor is not None and not 0 < factor < math.inf:
                raise ValueError(f"expected a positive {name}, got {factor!r}")
        if self.trains not in ("all", "heads"):
            raise ValueError(f"expected trains to be 'all' or 'heads', got {self.trains!r}")

    def passes(self) -> float:
        """Returns how often it sees the data, in passes of the configured epochs, if all phases were equally large.

        With a half-life this is an upper bound: every sample, if all games reach a phase that counts and are short
        compared with the half-life.
        """
        if self.half_life is not None:
            return self.epochs
        return self.epochs * sum(weight != 0 for weight in self.weights) / len(self.weights)

    def describe(self, phase_names: Sequence[str]) -> str:
        """Returns a short name: `all`, the only phase that counts, or phases with weights; plus `, heads` for heads."""
        return self._phases(phase_names) + (", heads" if self.trains == "heads" else "")

    def _phases(self, phase_names: Sequence[str]) -> str:
        if len(set(self.weights)) == 1:
            return "all"
        near = "" if self.half_life is None else f" and nearby, half-life {self.half_life:g}"
        counting = [(name, weight) for name, weight in zip(phase_names, self.weights, strict=True) if weight]
        if len(counting) == 1:
            return counting[0][0] + near
        return ", ".join(f"{name} x{weight:.3g}" for name, weight in counting)


@dataclass(frozen=True, kw_only=True)
class PlanStep:
    """A stage that is trained once for all experts whose stages begin with the same chain."""

    chain: tuple[Stage, ...]
    """The stages from the first to this one, inclusive."""
    parent: int | None
    """Index of the step before it."""
    experts: tuple[int, ...]
    origin: int = 0
    """Index of the initial weights, if no step precedes it."""

    @property
    def stage(self) -> Stage:
        return self.chain[-1]


def plan(stages: Sequence[Sequence[Stage]], origins: Sequence[int] = ()) -> list[PlanStep]:
    """Returns the stages of all experts in the order of training, with shared beginnings once.

    `origins` are the indices of the weights that experts start from; by default all start from the same.
    """
    experts: dict[tuple[int, tuple[Stage, ...]], list[int]] = {}
    for expert, own in enumerate(stages):
        for i in range(len(own)):
            experts.setdefault((origins[expert] if origins else 0, tuple(own[: i + 1])), []).append(expert)
    numbers = {key: number for number, key in enumerate(experts)}
    return [
        PlanStep(chain=chain, parent=numbers.get((origin, chain[:-1])), experts=tuple(served), origin=origin)
        for (origin, chain), served in experts.items()
    ]


def last_steps(steps: Sequence[PlanStep], stages: Sequence[Sequence[Stage]]) -> list[int]:
    """Returns the index of the last step of each expert; -1 for one without stages."""
    return [
        max((number for number, step in enumerate(steps) if expert in step.experts), default=-1)
        for expert in range(len(stages))
    ]
