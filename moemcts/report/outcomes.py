"""What runs made, as reports read it: values, no folder, nothing to be computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from moemcts.game import FloatArray
from moemcts.report.contest import Contest

if TYPE_CHECKING:
    from moemcts.learn.assessment import PhaseLosses

Entry = Mapping[str, Any]
"""One measurement of a training."""


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What one set of experts learned."""

    name: str
    """Of its arm, as tables call it."""
    label: str
    """The name as part of a file's name."""
    is_single: bool
    """Whether one network plays in all phases."""
    phase_names: tuple[str, ...]
    losses: Sequence[PhaseLosses]
    """On held-out samples, mean over the training seeds: the single network, each expert, all experts together."""
    single: PhaseLosses
    """Of the single network, first training seed, on the same samples."""
    metrics: Sequence[Entry]
    """Of the first training seed."""


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """One game as a team saw it from one seat, at the `T` positions in which it had to move."""

    player: int
    plies: tuple[int, ...]
    weights: FloatArray
    """Of the phases, `[T, K]`."""
    values: tuple[float, ...]
    """What the team expected, in [-1, 1], from the player's point of view."""
    outcome: str
    first_ply: int
    """Of the position that the game began from."""
    last_ply: int


@dataclass(frozen=True, kw_only=True)
class Phases:
    """The phases of one gate."""

    gate: str
    label: str
    """The gate as part of a file's name."""
    text: str
    """What the gate says of itself."""
    names: tuple[str, ...]
    counts: Mapping[str, float]
    """Training samples by phase."""
    num_samples: int
    timeline: Timeline | None
    """None where the game was over before the team had to move."""


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """What an experiment made."""

    title: str
    making: str
    """How it was made, as an item per line."""
    settings: Mapping[str, Any]
    searched: Contest
    raw: Contest | None
    """The networks without search; None if they did not play."""
    measured_on: str
    """Which samples the losses are of: test, validation or held-out."""
    warning: str
    """What must be known before losses are compared; empty for nothing."""
    singles: Mapping[str, Sequence[PhaseLosses]]
    """By arm, the single networks, that which all are compared with first: a row per training seed."""
    teams: tuple[Learned, ...]
    phases: tuple[Phases, ...]


@dataclass(frozen=True, kw_only=True)
class TrainingOutcomes:
    """What a training made."""

    title: str
    making: str
    settings: Mapping[str, Any]
    measured_on: str
    """Which samples the losses are of: test, validation or held-out."""
    num_measured: int
    losses: Sequence[PhaseLosses]
    """Of the baseline first, if there is one, and of all experts together last."""
    has_baseline: bool
    warning: str
    """What must be known before losses are compared; empty for nothing."""
    phase_names: tuple[str, ...]
    counts: Mapping[str, float]
    """Training samples by phase."""
    num_samples: int
    metrics: Sequence[Entry]
    baseline_metrics: Sequence[Entry]
    speed: Mapping[str, Any]
    """Of the last start; empty where nothing was left to train."""
