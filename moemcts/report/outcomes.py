"""Outcomes of runs as plain values, from which reports are made without reading files or computing anything."""

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
class TrainedTeam:
    """The results of training one set of experts."""

    name: str
    """The arm's name in tables."""
    label: str
    """The name as part of a file name."""
    is_single: bool
    """Whether a single network serves all phases."""
    phase_names: tuple[str, ...]
    losses: Sequence[PhaseLosses]
    """On held-out samples, averaged over the training seeds: the single network, each expert, the mixture."""
    single: PhaseLosses
    """The single network's losses with the first training seed, on the same samples."""
    metrics: Sequence[Entry]
    """Measurements with the first training seed."""


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """One game as a team saw it from one seat, at the `T` positions in which it was to move."""

    player: int
    plies: tuple[int, ...]
    weights: FloatArray
    """Weights of the phases, `[T, K]`."""
    values: tuple[float, ...]
    """The team's value estimates in [-1, 1], from the player's point of view."""
    outcome: str
    first_ply: int
    """The ply of the position that the game began from."""
    last_ply: int


@dataclass(frozen=True, kw_only=True)
class Phases:
    """The phases of a gate."""

    gate: str
    label: str
    """The gate's name as part of a file name."""
    text: str
    """The gate's description of itself."""
    names: tuple[str, ...]
    counts: Mapping[str, float]
    """Number of training samples by phase."""
    num_samples: int
    timeline: Timeline | None
    """None if the game ended before the team was to move."""


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """The outcomes of an experiment."""

    title: str
    making: str
    """How it was made, with one list item per line."""
    settings: Mapping[str, Any]
    searched: Contest
    raw: Contest | None
    """Matches of the networks without search; None if there were none."""
    measured_on: str
    """The kind of samples behind the losses: test, validation or held-out."""
    warning: str
    """A warning about the comparison of losses; empty if there is none."""
    singles: Mapping[str, Sequence[PhaseLosses]]
    """Losses of the single networks by arm, with a row per training seed; the one that all are compared with is
    first."""
    teams: tuple[TrainedTeam, ...]
    phases: tuple[Phases, ...]


@dataclass(frozen=True, kw_only=True)
class TrainingOutcomes:
    """The outcomes of a training."""

    title: str
    making: str
    settings: Mapping[str, Any]
    measured_on: str
    """The kind of samples behind the losses: test, validation or held-out."""
    num_measured: int
    losses: Sequence[PhaseLosses]
    """The baseline's row first, if there is one, and that of all experts together last."""
    has_baseline: bool
    warning: str
    """A warning about the comparison of losses; empty if there is none."""
    phase_names: tuple[str, ...]
    counts: Mapping[str, float]
    """Number of training samples by phase."""
    num_samples: int
    metrics: Sequence[Entry]
    baseline_metrics: Sequence[Entry]
    speed: Mapping[str, Any]
    """Training speed since the last start; empty if there was nothing left to train."""
