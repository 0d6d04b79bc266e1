"""Gates whose phases are clusters of positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moemcts.game import Game, IntArray, Views
from moemcts.gates import HardGate
from moemcts.learn.gates.features import Features
from moemcts.learn.gates.gate_file import Arrays, GateFile, numbered
from moemcts.learn.gates.kmeans import Points, nearest


class ClusterGate(HardGate):
    """Assigns each view to the cluster with the nearest centre; phase 0 is the one that comes first in games.

    Clusters are those of k-means on standardised features, fitted to a dataset (`moemcts gate fit`). The phase depends
    on the position alone, so a game may return to an earlier one.
    """

    name = "kmeans"

    def __init__(
        self,
        game: Game,
        features: Features,
        mean: Points,
        scale: Points,
        centres: Points,
        file: GateFile | None = None,
    ) -> None:
        """Takes centres `[K, F]` of the points `(features - mean) * scale`, in the order of their phases.

        `file` is the one that the gate was read from.
        """
        self._features, self._mean, self._scale, self._centres = features, mean, scale, centres
        self.phase_names = numbered(len(centres))
        arrays: Arrays = {"mean": mean, "scale": scale, "centres": centres, **features.arrays()}
        self.file = file or GateFile.of(self.name, arrays, game, features.header())

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"phases": self.num_phases, **self._features.header(), "file": self.file.digest}

    def phases(self, views: Views) -> IntArray:
        return nearest((self._features.points(views) - self._mean) * self._scale, self._centres)
