"""k-means finds what is there."""

import numpy as np
import pytest

from moemcts.learn.gates import kmeans as kmeans_module
from moemcts.learn.gates.kmeans import kmeans, nearest


def blobs(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns points about four far centres, and which centre each is from."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0, 0], [20, 0], [0, 20], [20, 20]], dtype=np.float64)
    labels = rng.integers(4, size=400)
    return centres[labels] + rng.standard_normal((400, 2)), labels


@pytest.mark.parametrize("seed", range(5))
def test_separate_groups_are_found_whole(seed: int) -> None:
    points, labels = blobs(seed)
    found = kmeans(points, 4, seed)
    pairs = set(zip(labels.tolist(), found.members.tolist(), strict=True))
    assert len(pairs) == 4
    for cluster in range(4):
        assert np.allclose(found.centres[cluster], points[found.members == cluster].mean(axis=0))


def test_every_point_is_in_its_nearest_cluster_and_no_start_does_better() -> None:
    points = np.random.default_rng(0).standard_normal((300, 3))
    found = kmeans(points, 5, 0)
    assert (nearest(points, found.centres) == found.members).all()
    assert found.inertia == pytest.approx(np.square(points - found.centres[found.members]).sum())
    assert found.inertia <= min(kmeans(points, 5, 0, num_starts=n).inertia for n in (1, 2, 3))


def test_equal_seeds_give_equal_clusters() -> None:
    points, _ = blobs(1)
    first, second = kmeans(points, 3, 7), kmeans(points, 3, 7)
    assert (first.members == second.members).all()
    assert (first.centres == second.centres).all()


def test_one_cluster_is_the_mean() -> None:
    points, _ = blobs(2)
    found = kmeans(points, 1, 0)
    assert np.allclose(found.centres[0], points.mean(axis=0))


@pytest.mark.parametrize("num_clusters", [3, 4])
def test_fewer_different_points_than_clusters_are_an_error(num_clusters: int) -> None:
    points = np.repeat(np.array([[0.0], [1.0]]), 10, axis=0)
    assert kmeans(points, 2, 0).inertia == 0
    with pytest.raises(ValueError, match=f"expected at least {num_clusters} different points, got 2"):
        kmeans(points, num_clusters, 0)


@pytest.mark.filterwarnings("error")
def test_no_cluster_is_left_without_points(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nothing is near the last centre, and what is farthest from its own is all that the second one has.
    monkeypatch.setattr(kmeans_module, "_initial_centres", lambda *_: np.array([[0.5], [50.0], [1000.0]]))
    assert sorted(kmeans(np.array([[0.0], [1.0], [100.0]]), 3, 0).members.tolist()) == [0, 1, 2]
