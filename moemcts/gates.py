"""Gates determine the phase of the game that a view is in."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, final

import numpy as np

from moemcts.errors import MoemctsError
from moemcts.game import FloatArray, IntArray, Views

TOLERANCE = 1e-3
"""Allowed deviation of the sum of a view's weights from one."""


class PhaseGate(Protocol):
    """Assigns each view a weight for each phase of the game.

    A soft gate inherits from this class and defines a name, phase names and `weights`; `HardGate` is for gates with one
    phase per view. A gate's docstring says its source, whether it is a function of the position alone, and whether a
    game can return to an earlier phase.
    """

    name: str
    phase_names: tuple[str, ...]

    @property
    def num_phases(self) -> int:
        """The number of phases, `K`."""
        return len(self.phase_names)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The gate's parameters as JSON values, which checkpoints store."""
        return {}

    @abstractmethod
    def weights(self, views: Views) -> FloatArray:
        """Returns the weight of each phase for each view, `[N, K]`; rows sum to one."""


class HardGate(ABC):
    """A gate that assigns each view to exactly one phase."""

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
        """Returns the phase of each view, `[N]`, at least 0 and below `num_phases`."""

    @final
    def weights(self, views: Views) -> FloatArray:
        phases = np.asarray(self.phases(views))
        is_index = phases.shape == (len(views),) and phases.dtype.kind in "iu"
        # A single comparison suffices: cast to unsigned, negative phases are very large.
        if not is_index or phases.astype(np.uint64).max(initial=0) >= self.num_phases:
            got = f"{phases.min()} to {phases.max()}" if is_index else f"{phases.dtype} {list(phases.shape)}"
            raise MoemctsError(
                f"gate {self.name!r} is invalid: expected phases of shape [{len(views)}] below {self.num_phases}, "
                f"got {got}"
            )
        return np.eye(self.num_phases, dtype=np.float32)[phases]


def checked_gate(gate: PhaseGate, reference: str) -> PhaseGate:
    """Returns the gate; raises MoemctsError if it has no name or no phase names, or if its parameters are not JSON
    values.
    """
    name, phases = getattr(gate, "name", None), getattr(gate, "phase_names", None)
    is_named = isinstance(phases, tuple) and len(phases) > 0 and all(isinstance(phase, str) for phase in phases)
    if not isinstance(name, str) or not is_named:
        got = f"{name!r} and {phases!r}"
        raise MoemctsError(
            f"gate {reference!r} is invalid: expected a name and phase_names, a tuple of strings, got {got}"
        )
    try:
        json.dumps(dict(gate.parameters))
    except (TypeError, ValueError) as error:
        got = f"got {gate.parameters!r:.80}: {error}"
        raise MoemctsError(f"gate {reference!r} is invalid: expected parameters to be JSON values, {got}") from None
    return gate


def first_invalid_row(weights: FloatArray, tolerance: float = TOLERANCE) -> str:
    """Returns the first row of `[N, K]` with a negative weight or a sum other than one, as text; empty if there is
    none.
    """
    is_invalid = ~((weights >= 0).all(axis=1) & (np.abs(weights.sum(axis=1) - 1) <= tolerance))
    return ", ".join(f"{weight:g}" for weight in weights[is_invalid.argmax()]) if is_invalid.any() else ""


def checked_weights(gate: PhaseGate, views: Views) -> FloatArray:
    """Returns a gate's weights, `[N, K]`; raises MoemctsError if they violate the contract of `PhaseGate.weights`."""
    weights, shape = gate.weights(views), (len(views), gate.num_phases)
    problem = ""
    if not isinstance(weights, np.ndarray) or weights.shape != shape:
        problem = f"got {getattr(weights, 'shape', type(weights).__name__)}"
    elif not np.issubdtype(weights.dtype, np.floating):
        problem = f"got {weights.dtype}, not floating-point numbers"
    elif row := first_invalid_row(weights):
        problem = f"got {row} for one of them"
    if problem:
        raise MoemctsError(
            f"gate {gate.name!r} is invalid: expected weights of shape {shape}, non-negative and summing to one "
            f"for every view, {problem}"
        )
    return weights


def features_of(gate: PhaseGate, views: Views) -> Mapping[str, IntArray | FloatArray]:
    """Returns the features that a gate decides by, `[N]` each, by name; empty if its class has no `features`."""
    features = getattr(gate, "features", None)
    return features(views) if callable(features) else {}


class SinglePhase(HardGate):
    """A single phase for the whole game, hence one network: the baseline of every comparison."""

    name = "none"
    phase_names: tuple[str, ...] = ("all",)

    def phases(self, views: Views) -> IntArray:
        return np.zeros(len(views), dtype=np.int64)


class CutGate(HardGate):
    """Divides a number that describes the view into intervals: phase `i` is below `cuts[i]`, the last above all."""

    def __init__(self, cuts: Sequence[int], phase_names: Sequence[str] = ()) -> None:
        """Raises ValueError unless the cuts are ascending integers and there is one name per phase."""
        if any(int(cut) != cut for cut in cuts):
            raise ValueError(f"expected whole numbers as cuts, got {list(cuts)}; scale the numbers that are cut")
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
        """Returns the number that is compared with the cuts, `[N]`."""

    def features(self, views: Views) -> Mapping[str, IntArray]:
        return {self.name: self.numbers(views)}

    def phases(self, views: Views) -> IntArray:
        numbers = np.asarray(self.numbers(views))
        # Integers, the usual case, need no check.
        if numbers.dtype.kind == "f" and (num_unknown := np.isnan(numbers).sum()):
            got = f"got NaN for {num_unknown} of {len(views)} views"
            raise MoemctsError(f"gate {self.name!r} is invalid: expected a number to cut for every view, {got}")
        return np.searchsorted(self.cuts, numbers, side="right").astype(np.int64)


class PlyGate(CutGate):
    """Divides the game by the number of plies played; a function of the position, never goes back.

    Without cuts, the longest possible game is divided into three equal parts or, if random games never reach the last
    of these, the mean length of random games.
    """

    name = "plies"

    def numbers(self, views: Views) -> IntArray:
        return views.plies()


class RoundRobinGate(HardGate):
    """Meaningless phases, as a control: consecutive positions of a game go to consecutive phases in turn.

    If experts by this gate improve on a single network, it is because there are several of them, not because of phases
    of the game. With two alternating players and an even number of phases, every expert sees the turns of only one
    player, which is no longer meaningless.
    """

    name = "round-robin"

    def __init__(self, num_phases: int = 3) -> None:
        """Raises ValueError for fewer than two phases."""
        if num_phases < 2:
            raise ValueError(f"expected at least 2 phases, got {num_phases}")
        self.phase_names = tuple(f"turn {i}" for i in range(num_phases))

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"phases": self.num_phases}

    def phases(self, views: Views) -> IntArray:
        return views.plies() % self.num_phases
