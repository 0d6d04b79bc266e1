"""What a trainer is given: stages, each with one weight per phase, and the order in which to train those of a team."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One training run: a network comes in, sees all samples weighted by phase, and goes on to the next stage."""

    weights: tuple[float, ...]
    """How much a sample of each phase counts, `[K]`; samples of a phase with weight zero are left out."""
    epochs: float = 1.0
    """Its length as a multiple of the epochs that the trainer is configured with."""
    learning_rate: float = 1.0
    """Its learning rate as a multiple of the configured one."""
    half_life: float | None = None
    """Where given, samples of other phases count too, half as much for every so many plies that they are away from
    the nearest sample of their game in a phase that counts."""
    trains: Literal["all", "heads"] = "all"
    """What it changes: all weights, or those of the heads alone, on a body that stays as it is."""

    def __post_init__(self) -> None:
        """Raises ValueError for weights of which nothing counts, and for what is no length, rate or part."""
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
        """Returns how often it sees the data, in passes of the configured epochs, were all phases equally large.

        With a half-life that is the most there can be: every sample, where all games come to a phase that counts and
        are short beside the half-life.
        """
        if self.half_life is not None:
            return self.epochs
        return self.epochs * sum(weight != 0 for weight in self.weights) / len(self.weights)

    def describe(self, phase_names: Sequence[str]) -> str:
        """Returns a short name: `all`, the only phase that counts, or all phases with their weights; heads if alone."""
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
    """A stage to be trained once, for all experts whose stages begin with the same chain."""

    chain: tuple[Stage, ...]
    """The stages from the first up to and with this one."""
    parent: int | None
    """The step before it, by number."""
    experts: tuple[int, ...]
    origin: int = 0
    """The weights that it begins with where no step is before it, by number."""

    @property
    def stage(self) -> Stage:
        return self.chain[-1]


def plan(stages: Sequence[Sequence[Stage]], origins: Sequence[int] = ()) -> list[PlanStep]:
    """Returns the stages of all experts in the order of training, equal beginnings once.

    `origins` number the weights that experts begin with; without them all begin with the same.
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
    """Returns the number of the step with which each expert ends; -1 of one without stages."""
    return [
        max((number for number, step in enumerate(steps) if expert in step.experts), default=-1)
        for expert in range(len(stages))
    ]
