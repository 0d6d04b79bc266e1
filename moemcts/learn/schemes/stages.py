"""Learning schemes: what each expert is trained on, as stages with one weight per phase."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


Curriculum = Callable[[int, int], Sequence[Stage]]
"""Returns the stages of the expert for `phase` of `num_phases`."""


@dataclass(frozen=True, kw_only=True)
class JointScheme:
    """A scheme that trains all experts and the gate between them at once: no stages, no phases beforehand."""

    epochs: float = 1.0
    """Its length as a multiple of the epochs that the trainer is configured with."""
    balance: float = 0.01
    """Weight of the loss that keeps the gate from sending everything to one expert."""


def mixture(*, epochs: float = 1.0, balance: float = 0.01) -> JointScheme:
    """Experts and gate together, each expert learning most from what the gate gives it; see `learn.mixture`.

    Raises ValueError unless `epochs` is positive and `balance` not negative.
    """
    if not epochs > 0 or not balance >= 0:
        raise ValueError(f"expected positive epochs and a balance of at least 0, got {epochs!r} and {balance!r}")
    return JointScheme(epochs=epochs, balance=balance)


def single(*, epochs: float = 1.0) -> Curriculum:
    """One network on everything, the papers' "regular": the experts of all phases are the same."""
    return lambda phase, num_phases: [_everything(num_phases, epochs)]


def separated(*, epochs: float = 1.0) -> Curriculum:
    """Each expert on the samples of its own phase."""
    return lambda phase, num_phases: [_only(phase, num_phases, epochs)]


def staged(*, epochs: float = 1.0) -> Curriculum:
    """Each expert on one phase after the other and its own last, the most distant first, ties to the earlier.

    For three phases the orders of the M2CTS papers: opening 2-1-0, middlegame 0-2-1, endgame 0-1-2; optimiser
    and schedule start anew at each stage. An expert costs `num_phases` trainings less the stages that experts share.
    """

    def stages(phase: int, num_phases: int) -> Sequence[Stage]:
        others = [other for other in range(num_phases) if other != phase]
        others.sort(key=lambda other: (-abs(other - phase), other))
        return [_only(other, num_phases, epochs) for other in [*others, phase]]

    return stages


def weighted(*, a: float = 4.0, epochs: float = 1.0) -> Curriculum:
    """Each expert on everything, with its own phase counting `a` times as much as another.

    The weights have mean one over the phases: for three phases and `a` 4 they are 2, 0.5 and 0.5, for 10 they are
    2.5, 0.25 and 0.25 (the M2CTS papers' tables). Raises ValueError unless `a` is positive.
    """
    if not a > 0:
        raise ValueError(f"expected a positive weight a, got {a!r}")

    def stages(phase: int, num_phases: int) -> Sequence[Stage]:
        unit = num_phases / (a + num_phases - 1)
        weights = tuple(a * unit if other == phase else unit for other in range(num_phases))
        return [Stage(weights=weights, epochs=epochs)]

    return stages


def general_first(*, epochs: float = 1.0, special_epochs: float = 1.0, learning_rate: float = 1.0) -> Curriculum:
    """One network on everything, from which each expert goes on with its own phase.

    The "staged" of CrazyAra's reinforcement learning, which is not the supervised `staged`. The second stage has
    `special_epochs` and `learning_rate` times the configured length and rate.
    """

    def stages(phase: int, num_phases: int) -> Sequence[Stage]:
        special = Stage(weights=_one_hot(phase, num_phases), epochs=special_epochs, learning_rate=learning_rate)
        return [_everything(num_phases, epochs), special]

    return stages


def distance(*, half_life: float = 8.0, epochs: float = 1.0) -> Curriculum:
    """Each expert on its own phase and on what is near to it in the same game, the less the further away.

    A sample `d` plies from the nearest sample of its game in the expert's phase counts `2^(-d / half_life)`, so that
    those of the phase itself count 1 and boundaries are soft; below 1/64 it is left out, as are games that never come
    to the phase. The M2CTS thesis names such weights as future work and gives no formula. Raises ValueError unless
    `half_life` is positive.
    """
    if not half_life > 0:
        raise ValueError(f"expected a positive half-life in plies, got {half_life!r}")

    def stages(phase: int, num_phases: int) -> Sequence[Stage]:
        if num_phases == 1:
            return [_everything(num_phases, epochs)]
        return [Stage(weights=_one_hot(phase, num_phases), epochs=epochs, half_life=half_life)]

    return stages


def shared_stem(*, epochs: float = 1.0, head_epochs: float = 1.0, learning_rate: float = 1.0) -> Curriculum:
    """One network on everything, whose body all experts keep; then each trains its own heads on its own phase.

    The M2CTS thesis' future work. All experts together are little larger than one, and a batch goes through the body
    once whatever phases it holds. The second stage has `head_epochs` and `learning_rate` times the configured length
    and rate.
    """

    def stages(phase: int, num_phases: int) -> Sequence[Stage]:
        heads = Stage(
            weights=_one_hot(phase, num_phases), epochs=head_epochs, learning_rate=learning_rate, trains="heads"
        )
        return [_everything(num_phases, epochs), heads]

    return stages


def _everything(num_phases: int, epochs: float) -> Stage:
    return Stage(weights=(1.0,) * num_phases, epochs=epochs)


def _only(phase: int, num_phases: int, epochs: float) -> Stage:
    return Stage(weights=_one_hot(phase, num_phases), epochs=epochs)


def _one_hot(phase: int, num_phases: int) -> tuple[float, ...]:
    return tuple(float(other == phase) for other in range(num_phases))
