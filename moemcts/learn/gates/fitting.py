"""Fits gates to datasets: phases are clusters of positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from moemcts.errors import MoemctsError, unknown_name
from moemcts.game import IntArray
from moemcts.learn.data.dataset import Dataset, chunks_of
from moemcts.learn.gates.clusters import ClusterGate
from moemcts.learn.gates.features import Features, PlaneFeatures
from moemcts.learn.gates.kmeans import Points, kmeans

MAX_POSITIONS = 200_000
"""Maximum number of positions that are clustered; more hardly move the centres."""
CONSTANT = 1e-9
"""Standard deviation up to which a feature counts as constant and is ignored."""


@dataclass(frozen=True, kw_only=True)
class FittedPhase:
    """Statistics of one cluster."""

    name: str
    share: float
    """Share of the clustered positions."""
    mean_ply: float
    traits: list[tuple[str, float]]
    """The features that differ most from the mean of all positions, in standard deviations."""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A fitted gate, and the statistics of its clusters."""

    gate: ClusterGate
    num_positions: int
    explained: float
    """Share of the features' variance that is between the clusters."""
    phases: list[FittedPhase]


def fit_clusters(
    dataset: Dataset,
    num_phases: int,
    *,
    seed: int,
    features: Features | None = None,
    without: Sequence[str] = (),
    max_positions: int = MAX_POSITIONS,
    num_traits: int = 3,
) -> Fit:
    """Returns a gate whose phases are the k-means clusters of a dataset's views.

    Features (of the planes by default) are standardised to mean 0 and standard deviation 1; those that are constant,
    and those with a text of `without` in their name, are ignored. Phases are numbered by the mean ply of their
    positions. Raises MoemctsError if the positions do not form that many clusters, UsageError if a text of `without`
    matches no name.
    """
    used_features: Features = features or PlaneFeatures(dataset.game)
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(dataset))[:max_positions])
    points, plies = _observe(dataset, rows, used_features)
    mean, deviation = points.mean(axis=0), points.std(axis=0)
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > CONSTANT)
    scale[_indices_of_names(used_features.names, without)] = 0.0
    points = (points - mean) * scale
    try:
        clusters = kmeans(points, num_phases, seed)
    except ValueError as error:
        raise MoemctsError(f"cannot find {num_phases} phases in {len(points)} positions: {error}") from error
    mean_plies = np.array([plies[clusters.members == cluster].mean() for cluster in range(num_phases)])
    order = np.argsort(mean_plies, kind="stable")
    gate = ClusterGate(dataset.game, used_features, mean, scale, clusters.centres[order])
    total = float(np.square(points).sum())
    return Fit(
        gate=gate,
        num_positions=len(points),
        explained=1 - clusters.inertia / total if total else 0.0,
        phases=[
            FittedPhase(
                name=name,
                share=float((clusters.members == cluster).mean()),
                mean_ply=float(mean_plies[cluster]),
                traits=_traits(used_features, clusters.centres[cluster], num_traits),
            )
            for name, cluster in zip(gate.phase_names, order, strict=True)
        ],
    )


def _indices_of_names(names: Sequence[str], texts: Sequence[str]) -> list[int]:
    """Returns the indices of names that contain one of the texts; raises UsageError for a text that none contains."""
    for text in texts:
        if not any(text in name for name in names):
            raise unknown_name("feature", text, names)
    return [i for i, name in enumerate(names) if any(text in name for text in texts)]


def _observe(dataset: Dataset, rows: IntArray, features: Features) -> tuple[Points, IntArray]:
    """Returns features `[N, F]` and plies `[N]` of the given rows."""
    points, plies = [], []
    for part in chunks_of(rows):
        views = dataset.views(part)
        points.append(features.points(views))
        plies.append(views.plies())
    return np.concatenate(points), np.concatenate(plies)


def _traits(features: Features, centre: Points, num_traits: int) -> list[tuple[str, float]]:
    """Returns the features that differ most from the mean of all positions, in standard deviations."""
    strongest = np.argsort(-np.abs(centre), kind="stable")[:num_traits]
    names = features.names or [f"feature {i}" for i in range(len(centre))]
    return [(names[i], round(float(centre[i]), 2)) for i in strongest]
