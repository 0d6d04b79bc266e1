"""What clusters of positions are made of: means of planes, or of what a network makes of them."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from moemcts.errors import MoemctsError
from moemcts.game import FloatArray, Game, Views
from moemcts.learn.gates.gate_file import Arrays
from moemcts.learn.gates.kmeans import Points

CHUNK = 64
"""Views that a network sees at once: numbers of double precision soon no longer fit into a core's cache."""
DECIMALS = 9
"""Of a feature: what differs in double precision between machines and batches differs far behind them."""


class NetworkMakers(Protocol):
    """What turns the name of a network into one: `moemcts.plugins.Plugins`."""

    def network(self, reference: str, observation_shape: tuple[int, ...], num_actions: int) -> Any: ...


class Features(Protocol):
    """Turns views into points."""

    @property
    def names(self) -> Sequence[str]:
        """One name per feature, for people; empty where they have none."""

    def count(self, observation_shape: tuple[int, ...]) -> int:
        """Returns F, the number of features of such observations."""

    def points(self, views: Views) -> Points:
        """Returns the features of each view, `[N, F]`; those of one depend on no other."""

    def header(self) -> Mapping[str, Any]:
        """Returns what, with the arrays, makes these features again."""

    def arrays(self) -> Arrays:
        """Returns what a file has to hold of them."""


class PlaneFeatures:
    """The mean of each input plane over the board: how many pieces, how far a counter.

    Of an observation that is a vector, its numbers as they are.
    """

    def __init__(self, game: Game) -> None:
        num_planes = game.spec.observation_shape[0]
        self.names = game.spec.plane_names or tuple(f"plane {i}" for i in range(num_planes))

    def count(self, observation_shape: tuple[int, ...]) -> int:
        return observation_shape[0]

    def points(self, views: Views) -> Points:
        planes = views.observations()
        cells = math.prod(planes.shape[2:])
        means: Points = planes.reshape(len(planes), planes.shape[1], cells).mean(axis=2, dtype=np.float64)
        return means

    def header(self) -> Mapping[str, Any]:
        return {"features": "planes"}

    def arrays(self) -> Arrays:
        return {}


class NetworkFeatures:
    """The mean of each channel over the board, in what the body of a network gives to its heads.

    Computed in double precision and rounded, so that they depend neither on the batch nor on the machine.
    """

    def __init__(self, reference: str, body: Any) -> None:
        """Takes a copy of the body of the network that `reference` makes, a `torch.nn.Module`."""
        self._reference = reference
        self._state = {name: tensor.detach().cpu().clone() for name, tensor in body.state_dict().items()}
        self._body = copy.deepcopy(body).cpu().eval().double().requires_grad_(False)
        self.names: Sequence[str] = ()

    @classmethod
    def of(cls, reference: str, network: Any) -> NetworkFeatures:
        """Returns the features of a network; raises MoemctsError where it has no body of its own."""
        return cls(reference, _body_of(reference, network))

    @classmethod
    def load(cls, reference: str, arrays: Arrays, game: Game, makers: NetworkMakers, where: str) -> NetworkFeatures:
        """Returns the features whose `header` and `arrays` were written."""
        import torch

        from moemcts.learn.weights import check_state, load_state, outline

        def blank() -> Any:
            return makers.network(reference, game.spec.observation_shape, game.spec.num_actions)

        state = {
            name.removeprefix("body."): torch.from_numpy(np.array(array))
            for name, array in arrays.items()
            if name.startswith("body.")
        }
        # Compared with a network that takes no memory: sizes that the file only claims are not made.
        if (expected := outline(blank)) is not None:
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
