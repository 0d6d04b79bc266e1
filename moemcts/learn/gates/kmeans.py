"""k-means clustering."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]

MAX_ITERATIONS = 300
CHUNK = 65_536
"""Points per chunk of distances in memory."""


@dataclass(frozen=True)
class Clusters:
    """K clusters of N points."""

    centres: Points
    """`[K, F]`."""
    members: NDArray[np.int64]
    """The cluster of each point, `[N]`."""
    inertia: float
    """Sum of the squared distances of points to their centres, which k-means minimises."""


def kmeans(points: Points, num_clusters: int, seed: int, *, num_starts: int = 5) -> Clusters:
    """Returns the best clusters of `num_starts` runs of Lloyd's algorithm (1982) on points `[N, F]`.

    Each starts from centres drawn by k-means++ (Arthur and Vassilvitskii 2007) and ends when no point changes its
    cluster, or after `MAX_ITERATIONS`. Raises ValueError if there are fewer different points than clusters.
    """
    if num_clusters < 1:
        raise ValueError(f"expected at least one cluster, got {num_clusters}")
    runs = [
        _lloyd(points, _initial_centres(points, num_clusters, np.random.default_rng((seed, i))))
        for i in range(num_starts)
    ]
    return min(runs, key=lambda run: run.inertia)


def nearest(points: Points, centres: Points) -> NDArray[np.int64]:
    """Returns the nearest centre of each point, `[N]`, the earlier one on ties; independent of other points."""
    members = np.empty(len(points), dtype=np.int64)
    for start in range(0, len(points), CHUNK):
        part = points[start : start + CHUNK]
        distances = np.stack([np.square(part - centre).sum(axis=1) for centre in centres], axis=1)
        members[start : start + CHUNK] = distances.argmin(axis=1)
    return members


def _initial_centres(points: Points, num_clusters: int, rng: np.random.Generator) -> Points:
    """Returns points drawn one by one, with probabilities proportional to the squared distance to those before."""
    centres = [points[int(rng.integers(len(points)))]]
    distances = np.square(points - centres[0]).sum(axis=1)
    while len(centres) < num_clusters:
        if not distances.any():
            raise ValueError(f"expected at least {num_clusters} different points, got {len(centres)}")
        centres.append(points[int(rng.choice(len(points), p=distances / distances.sum()))])
        distances = np.minimum(distances, np.square(points - centres[-1]).sum(axis=1))
    return np.stack(centres)


def _lloyd(points: Points, centres: Points) -> Clusters:
    squares = np.square(points).sum(axis=1)
    members = np.full(len(points), -1, dtype=np.int64)
    for _ in range(MAX_ITERATIONS):
        # |p - c|^2 without an [N, K, F] array in memory; rounding may make it slightly negative.
        distances = np.maximum(squares[:, None] - 2 * points @ centres.T + np.square(centres).sum(axis=1), 0)
        before, members = members, distances.argmin(axis=1)
        to_centre = distances[np.arange(len(points)), members]
        while (empty := np.flatnonzero(np.bincount(members, minlength=len(centres)) == 0)).size:
            # A cluster that lost all its points restarts from the point farthest from its centre, whose own cluster may
            # become empty in turn. No point restarts two clusters.
            farthest = int(to_centre.argmax())
            members[farthest], to_centre[farthest] = empty[0], -1.0
        if np.array_equal(before, members):
            break
        centres = np.stack([points[members == cluster].mean(axis=0) for cluster in range(len(centres))])
    return Clusters(centres, members, float(np.square(points - centres[members]).sum()))
