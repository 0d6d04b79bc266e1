"""Gates say in which phase of the game a view is."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, final

import numpy as np

from moemcts.errors import MoemctsError
from moemcts.game import FloatArray, IntArray, Views

TOLERANCE = 1e-3
"""How far the weights of a view may be from summing to one."""


class PhaseGate(Protocol):
    """Weighs the phases of the game for each view.

    A soft gate inherits from it and has a name, phase names and `weights`; `HardGate` is for those with one phase per
    view. The docstring of a gate says its source, whether it is a function of the position alone, and whether a game
    can go back to an earlier phase.
    """

    name: str
    phase_names: tuple[str, ...]

    @property
    def num_phases(self) -> int:
        """How many phases it tells apart, `K`."""
        return len(self.phase_names)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the gate was made with, as JSON values: a checkpoint stores it."""
        return {}

    @abstractmethod
    def weights(self, views: Views) -> FloatArray:
        """Returns how much each phase applies to each view, `[N, K]`, rows summing to one."""


class HardGate(ABC):
    """A gate that puts each view into exactly one phase."""

    name: str
    phase_names: tuple[str, ...]

    @property
    def num_phases(self) -> int:
        return len(self.phase_names)

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {}

    @abstractmethod
    def phases(self, views: Views) -> IntArray:
        """Returns the phase of each view, `[N]`, in `0..num_phases`."""

    @final
    def weights(self, views: Views) -> FloatArray:
        phases = np.asarray(self.phases(views))
        is_right = phases.shape == (len(views),) and phases.dtype.kind in "iu"
        # One look at all: a phase below 0 is a very large one without its sign.
        if not is_right or phases.astype(np.uint64).max(initial=0) >= self.num_phases:
            told = f"{phases.min()} to {phases.max()}" if is_right else f"{phases.dtype} {list(phases.shape)}"
            raise MoemctsError(
                f"gate {self.name!r} is wrong: expected phases [{len(views)}] below {self.num_phases}, got {told}"
            )
        return np.eye(self.num_phases, dtype=np.float32)[phases]


def named(gate: PhaseGate, reference: str) -> PhaseGate:
    """Returns the gate of a reference; raises MoemctsError where it has no name and names of its phases, and where its
    parameters cannot be written down.
    """
    name, phases = getattr(gate, "name", None), getattr(gate, "phase_names", None)
    is_named = isinstance(phases, tuple) and len(phases) > 0 and all(isinstance(phase, str) for phase in phases)
    if not isinstance(name, str) or not is_named:
        got = f"{name!r} and {phases!r}"
        raise MoemctsError(f"gate {reference!r} is wrong: expected a name and phase_names, a tuple of text, got {got}")
    try:
        json.dumps(dict(gate.parameters))
    except (TypeError, ValueError) as error:
        told = f"got {gate.parameters!r:.80}: {error}"
        raise MoemctsError(f"gate {reference!r} is wrong: expected parameters of JSON values, {told}") from None
    return gate


def row_that_is_wrong(weights: FloatArray, tolerance: float = TOLERANCE) -> str:
    """Returns the first row of `[N, K]` that has something negative or does not sum to one; nothing of none."""
    wrong = ~((weights >= 0).all(axis=1) & (np.abs(weights.sum(axis=1) - 1) <= tolerance))
    return ", ".join(f"{weight:g}" for weight in weights[wrong.argmax()]) if wrong.any() else ""


def checked_weights(gate: PhaseGate, views: Views) -> FloatArray:
    """Returns a gate's weights, `[N, K]`; raises MoemctsError where they are not what `PhaseGate.weights` says."""
    weights, shape = gate.weights(views), (len(views), gate.num_phases)
    problem = ""
    if not isinstance(weights, np.ndarray) or weights.shape != shape:
        problem = f"got {getattr(weights, 'shape', type(weights).__name__)}"
    elif not np.issubdtype(weights.dtype, np.floating):
        problem = f"got {weights.dtype} and no floating numbers"
    elif row := row_that_is_wrong(weights):
        problem = f"got {row} for one"
    if problem:
        raise MoemctsError(
            f"gate {gate.name!r} is wrong: expected weights {shape} of at least 0 that sum to one for every view, "
            f"{problem}"
        )
    return weights


def features_of(gate: PhaseGate, views: Views) -> Mapping[str, IntArray | FloatArray]:
    """Returns the numbers that a gate decides by, `[N]` each, by name; none where its class has no `features`."""
    told = getattr(gate, "features", None)
    return told(views) if callable(told) else {}


class SinglePhase(HardGate):
    """One phase for the whole game, hence one network: the baseline of every comparison."""

    name = "none"
    phase_names: tuple[str, ...] = ("all",)

    def phases(self, views: Views) -> IntArray:
        return np.zeros(len(views), dtype=np.int64)


class CutGate(HardGate):
    """Cuts a number that describes the view into intervals: phase `i` lies below `cuts[i]`, the last above all."""

    def __init__(self, cuts: Sequence[int], phase_names: Sequence[str] = ()) -> None:
        """Raises ValueError unless the cuts are whole numbers that ascend and there is one name per phase."""
        if any(int(cut) != cut for cut in cuts):
            raise ValueError(f"expected whole numbers as cuts, got {list(cuts)}; scale what is cut")
        self.cuts = tuple(int(cut) for cut in cuts)
        if not self.cuts or any(a >= b for a, b in zip(self.cuts, self.cuts[1:], strict=False)):
            raise ValueError(f"expected ascending cuts, got {list(cuts)}")
        self.phase_names = tuple(phase_names) or tuple(f"phase {i}" for i in range(len(self.cuts) + 1))
        if len(self.phase_names) != len(self.cuts) + 1:
            raise ValueError(f"expected {len(self.cuts) + 1} phase names, got {len(self.phase_names)}")

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"cuts": list(self.cuts)}

    @abstractmethod
    def numbers(self, views: Views) -> IntArray:
        """Returns the number that is cut, `[N]`."""

    def features(self, views: Views) -> Mapping[str, IntArray]:
        return {self.name: self.numbers(views)}

    def phases(self, views: Views) -> IntArray:
        numbers = np.asarray(self.numbers(views))
        # Whole numbers, as most gates cut, are looked at for nothing.
        if numbers.dtype.kind == "f" and (num_unknown := np.isnan(numbers).sum()):
            told = f"got NaN for {num_unknown} of {len(views)} views"
            raise MoemctsError(f"gate {self.name!r} is wrong: expected numbers to cut, {told}")
        return np.searchsorted(self.cuts, numbers, side="right").astype(np.int64)


class PlyGate(CutGate):
    """Cuts the game by the number of plies played; a function of the position, never goes back.

    Without cuts, a game's longest possible length is divided into three equal parts, or, where no game at random
    comes to the last of them, the mean length of such games.
    """

    name = "plies"

    def numbers(self, views: Views) -> IntArray:
        return views.plies()


class RoundRobinGate(HardGate):
    """Phases that mean nothing, a control: position by position of a game each is the next one's in turn.

    What experts by it gain over one network they owe to being several, not to the phases of the game. With two players
    in turn and an even number of phases, every expert sees the turns of one player alone, which means something.
    """

    name = "round-robin"

    def __init__(self, num_phases: int = 3) -> None:
        """Raises ValueError of fewer than two phases."""
        if num_phases < 2:
            raise ValueError(f"expected at least 2 phases, got {num_phases}")
        self.phase_names = tuple(f"turn {i}" for i in range(num_phases))

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"phases": self.num_phases}

    def phases(self, views: Views) -> IntArray:
        return views.plies() % self.num_phases
