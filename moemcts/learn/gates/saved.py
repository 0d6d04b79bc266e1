"""Saves and loads learned gates."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from moemcts.errors import DamagedFile
from moemcts.game import Game
from moemcts.learn.gates.clusters import ClusterGate
from moemcts.learn.gates.features import Features, NetworkFeatures, NetworkMakers, PlaneFeatures
from moemcts.learn.gates.gate_file import GateFile, no_gate
from moemcts.learn.gates.network_gate import NetworkGate, make_gate_network
from moemcts.learn.identity import FileContent, checked
from moemcts.store import write_bytes

LearnedGate = ClusterGate | NetworkGate


def save_gate(path: Path, gate: LearnedGate) -> None:
    """Writes a learned gate; its path can be used wherever a gate is named."""
    write_bytes(path, gate.file.content)


def load_gate(path: Path, game: Game, makers: NetworkMakers) -> LearnedGate:
    """Returns a saved gate.

    Raises ForeignData if it was learned for another game, encoding or network, DamagedFile if it is not as written.
    """
    file = GateFile.read(path, game)
    kind = file.header["kind"]
    if kind == ClusterGate.name:
        return _clusters(file, game, makers, path)
    if kind == NetworkGate.name:
        return _network(file, game, path)
    raise DamagedFile(f"{path} holds a gate of an unknown kind, {kind!r}")


class _Clusters(FileContent):
    features: Literal["planes", "network"]
    network: str = ""


class _Network(FileContent):
    phases: int = Field(ge=1, le=2**20)
    channels: int = Field(ge=1, le=2**20)
    is_trained: bool


def _clusters(file: GateFile, game: Game, makers: NetworkMakers, path: Path) -> ClusterGate:
    told, arrays = checked(_Clusters, file.header, no_gate(path)), file.arrays
    features: Features = PlaneFeatures(game)
    if told.features == "network":
        features = NetworkFeatures.load(told.network, arrays, game, makers, str(path))
    num_phases = len(arrays["centres"]) if "centres" in arrays and arrays["centres"].ndim else 0
    row = (features.count(game.spec.observation_shape),)
    for name, shape in {"mean": row, "scale": row, "centres": (max(num_phases, 1), *row)}.items():
        found = arrays.get(name)
        if found is None or found.shape != shape or found.dtype.kind != "f":
            got = "none" if found is None else f"{found.shape} of {found.dtype}"
            raise DamagedFile(f"{no_gate(path)}: expected {name} of shape {shape}, floating point, got {got}")
    return ClusterGate(game, features, arrays["mean"], arrays["scale"], arrays["centres"], file)


def _network(file: GateFile, game: Game, path: Path) -> NetworkGate:
    import torch

    from moemcts.learn.weights import check_state, load_state

    told = checked(_Network, file.header, no_gate(path))
    state = {name: torch.from_numpy(np.array(array)) for name, array in file.arrays.items()}
    # Checked first against a network without memory, so that sizes that the file only claims are not allocated.
    with torch.device("meta"):
        check_state(make_gate_network(game, told.phases, told.channels), state, str(path))
    network = make_gate_network(game, told.phases, told.channels)
    load_state(network, state, str(path))
    return NetworkGate(game, network, channels=told.channels, is_trained=told.is_trained, file=file)
