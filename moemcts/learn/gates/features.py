"""Features of positions for clustering: means of planes, or of a network's channels."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from moemcts.errors import MoemctsError
from moemcts.game import FloatArray, Game, Views
from moemcts.learn.gates.gate_file import Arrays
from moemcts.learn.gates.kmeans import Points

CHUNK = 64
"""Views per forward pass: larger batches in double precision soon no longer fit into a core's cache."""
DECIMALS = 9
"""Decimals of a feature: differences in double precision between machines and batches are far smaller."""


class NetworkMakers(Protocol):
    """Creates a network from its name; implemented by `moemcts.plugins.Plugins`."""

    def network(self, reference: str, observation_shape: tuple[int, ...], num_actions: int) -> Any: ...


class Features(Protocol):
    """Converts views to points."""

    @property
    def names(self) -> Sequence[str]:
        """One readable name per feature; empty if they have none."""

    def count(self, observation_shape: tuple[int, ...]) -> int:
        """Returns F, the number of features of such observations."""

    def points(self, views: Views) -> Points:
        """Returns the features of each view, `[N, F]`, which do not depend on other views."""

    def header(self) -> Mapping[str, Any]:
        """Returns what, with the arrays, restores these features."""

    def arrays(self) -> Arrays:
        """Returns the arrays that a file has to hold."""


class PlaneFeatures:
    """The mean of each input plane over the board, such as a number of pieces or the state of a counter.

    For observations that are not planes of a board, their numbers as they are.
    """

    def __init__(self, game: Game) -> None:
        self.names = game.spec.plane_labels
        planes, rows, columns = game.spec.plane_shape
        self._shape = planes, rows * columns

    def count(self, observation_shape: tuple[int, ...]) -> int:
        return len(self.names)

    def points(self, views: Views) -> Points:
        planes = views.observations()
        means: Points = planes.reshape(len(planes), *self._shape).mean(axis=2, dtype=np.float64)
        return means

    def header(self) -> Mapping[str, Any]:
        return {"features": "planes"}

    def arrays(self) -> Arrays:
        return {}


class NetworkFeatures:
    """The mean over the board of each channel that a network's body passes to its heads.

    Computed in double precision and rounded, so that they depend neither on the batch nor on the machine.
    """

    def __init__(self, reference: str, body: Any) -> None:
        """Takes a copy of `body`, a `torch.nn.Module`: the body of the network that `reference` names."""
        self._reference = reference
        self._state = {name: tensor.detach().cpu().clone() for name, tensor in body.state_dict().items()}
        self._body = copy.deepcopy(body).cpu().eval().double().requires_grad_(False)
        self.names: Sequence[str] = ()

    @classmethod
    def of(cls, reference: str, network: Any) -> NetworkFeatures:
        """Returns the features of a network; raises MoemctsError if it has no separate body."""
        return cls(reference, _body_of(reference, network))

    @classmethod
    def load(cls, reference: str, arrays: Arrays, game: Game, makers: NetworkMakers, where: str) -> NetworkFeatures:
        """Returns the features whose `header` and `arrays` were saved."""
        import torch

        from moemcts.learn.weights import check_state, load_state, meta_network

        def blank() -> Any:
            return makers.network(reference, game.spec.observation_shape, game.spec.num_actions)

        state = {
            name.removeprefix("body."): torch.from_numpy(np.array(array))
            for name, array in arrays.items()
            if name.startswith("body.")
        }
        # Checked first against a network without memory, so that sizes that the file only claims are not allocated.
        if (expected := meta_network(blank)) is not None:
            check_state(_body_of(reference, expected), state, where)
        network = blank()
        load_state(_body_of(reference, network), state, where)
        return cls.of(reference, network)

    def count(self, observation_shape: tuple[int, ...]) -> int:
        _, num_features = self._means(np.zeros((1, *observation_shape), dtype=np.float32)).shape
        return int(num_features)

    def points(self, views: Views) -> Points:
        planes = views.observations()
        parts = [self._means(planes[start : start + CHUNK]) for start in range(0, len(planes), CHUNK)]
        return np.concatenate(parts) if parts else np.zeros((0, self.count(planes.shape[1:])))

    def _means(self, planes: FloatArray) -> Points:
        import torch

        with torch.inference_mode():
            channels = self._body(torch.from_numpy(planes).double())
            means: Points = channels.reshape(*channels.shape[:2], -1).mean(dim=2).numpy()
        return means.round(DECIMALS)

    def header(self) -> Mapping[str, Any]:
        return {"features": "network", "network": self._reference}

    def arrays(self) -> Arrays:
        return {f"body.{name}": tensor.numpy() for name, tensor in self._state.items()}


def _body_of(reference: str, network: Any) -> Any:
    body = getattr(network, "body", None)
    if body is None:
        raise MoemctsError(f"network {reference!r} has no body before its heads to take features from")
    return body
