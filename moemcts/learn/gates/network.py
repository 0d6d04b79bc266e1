"""Gates that are learned: clusters of positions, and a network trained with the experts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from moemcts.errors import DamagedFile
from moemcts.game import FloatArray, Game, IntArray, Views
from moemcts.gates import HardGate
from moemcts.learn.gates.features import Features, NetworkFeatures, NetworkMakers, PlaneFeatures
from moemcts.learn.gates.files import Arrays, GateFile
from moemcts.learn.gates.kmeans import Points, nearest
from moemcts.store import write_bytes

if TYPE_CHECKING:
    from moemcts.learn.networks.gate import GateNetwork

CHUNK = 1024
"""Views that the gate network sees at once."""
DECIMALS = 6
"""Of a learned weight: what differs in double precision between machines and batches differs far behind them."""


class ClusterGate(HardGate):
    """Puts each view into the cluster whose centre is nearest; phase 0 is the one that comes first in games.

    Clusters are those of k-means on standardised features, fitted to a dataset (`moemcts gate fit`). A function of
    the position alone; a game may go back.
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


class NetworkGate:
    """Weighs phases by a small network that is trained together with the experts (scheme `mixture`).

    Before it is trained, all phases weigh the same; after it, phase 0 is the one that comes first in games. It
    evaluates in double precision and rounds, so that weights depend neither on the batch nor on the machine. A
    function of the position alone; a game may go back.
    """

    name = "learned"

    def __init__(
        self,
        game: Game,
        network: GateNetwork,
        *,
        channels: int,
        is_trained: bool = True,
        file: GateFile | None = None,
    ) -> None:
        """Takes a copy of the network; `file` is the one that the gate was read from."""
        self.game = game
        self.channels = channels
        self.is_trained = is_trained
        self.phase_names = numbered(network.last.out_features)
        arrays: Arrays = {name: tensor.cpu().numpy() for name, tensor in network.state_dict().items()}
        header = {"phases": self.num_phases, "channels": channels, "is_trained": is_trained}
        self.file = file or GateFile.of(self.name, arrays, game, header)
        self._network = _exact(network)

    @classmethod
    def untrained(cls, game: Game, num_phases: int, channels: int) -> NetworkGate:
        """Returns a gate that knows nothing yet; raises ValueError for sizes below 1."""
        if num_phases < 1 or channels < 1:
            raise ValueError(f"expected phases and channels of at least 1, got {num_phases} and {channels}")
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            network = make_gate_network(game, num_phases, channels)
        return cls(game, network, channels=channels, is_trained=False)

    @property
    def num_phases(self) -> int:
        return len(self.phase_names)

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"phases": self.num_phases, "channels": self.channels, "file": self.file.digest}

    def weights(self, views: Views) -> FloatArray:
        import torch

        planes = views.observations()
        parts = [np.zeros((0, self.num_phases))]
        with torch.inference_mode():
            for start in range(0, len(planes), CHUNK):
                parts.append(self._network(torch.from_numpy(planes[start : start + CHUNK]).double()).numpy())
        return np.concatenate(parts).round(DECIMALS).astype(np.float32)


LearnedGate = ClusterGate | NetworkGate


def save_gate(path: Path, gate: LearnedGate) -> None:
    """Writes a learned gate; its path names it wherever a gate is named."""
    write_bytes(path, gate.file.content)


def load_gate(path: Path, game: Game, makers: NetworkMakers) -> LearnedGate:
    """Returns a saved gate.

    Raises ForeignData if it was learned for another game, encoding or network, DamagedFile if it is not as written.
    """
    file = GateFile.read(path, game)
    try:
        return _of_file(file, game, makers, str(path))
    except (KeyError, TypeError, IndexError) as error:
        raise DamagedFile(f"{path} is no file of a gate: {type(error).__name__} {error}") from error


def make_gate_network(game: Game, num_phases: int, channels: int) -> GateNetwork:
    """Returns a gate network with new weights, drawn from torch's generator."""
    from moemcts.learn.networks.gate import GateNetwork

    return GateNetwork(game.spec.observation_shape[0], num_phases, channels=channels)


def numbered(num_phases: int) -> tuple[str, ...]:
    """Returns the names of phases that nobody has named."""
    return tuple(f"phase {i}" for i in range(num_phases))


def _of_file(file: GateFile, game: Game, makers: NetworkMakers, where: str) -> LearnedGate:
    header, arrays = file.header, file.arrays
    if header["kind"] == ClusterGate.name:
        features: Features = PlaneFeatures(game)
        if header["features"] == "network":
            features = NetworkFeatures.load(header["network"], arrays, game, makers, where)
        return ClusterGate(game, features, arrays["mean"], arrays["scale"], arrays["centres"], file)
    if header["kind"] == NetworkGate.name:
        import torch

        from moemcts.learn.weights import load_state

        network = make_gate_network(game, header["phases"], header["channels"])
        load_state(network, {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}, where)
        return NetworkGate(game, network, channels=header["channels"], is_trained=header["is_trained"], file=file)
    raise DamagedFile(f"{where} is a gate of the unknown kind {header['kind']!r}")


def _exact(network: GateNetwork) -> GateNetwork:
    import copy

    return copy.deepcopy(network).cpu().eval().double().requires_grad_(False)
