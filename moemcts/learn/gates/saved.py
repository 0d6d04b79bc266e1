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
from moemcts.learn.gates.gate_file import GateFile, not_a_gate
from moemcts.learn.gates.network_gate import NetworkGate, make_gate_network
from moemcts.learn.identity import FileContent, validate_content
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
        return _make_cluster_gate(file, game, makers, path)
    if kind == NetworkGate.name:
        return _make_network_gate(file, game, path)
    raise DamagedFile(f"{path} holds a gate of an unknown kind, {kind!r}")


class _ClusterFields(FileContent):
    features: Literal["planes", "network"]
    network: str = ""


class _NetworkFields(FileContent):
    phases: int = Field(ge=1, le=2**20)
    channels: int = Field(ge=1, le=2**20)
    is_trained: bool


def _make_cluster_gate(file: GateFile, game: Game, makers: NetworkMakers, path: Path) -> ClusterGate:
    fields = validate_content(_ClusterFields, file.header, not_a_gate(path))
    features: Features = PlaneFeatures(game)
    if fields.features == "network":
        features = NetworkFeatures.load(fields.network, file.arrays, game, makers, str(path))
    num_phases = len(file.arrays["centres"]) if "centres" in file.arrays and file.arrays["centres"].ndim else 0
    row = (features.count(game.spec.observation_shape),)
    for name, shape in {"mean": row, "scale": row, "centres": (max(num_phases, 1), *row)}.items():
        array = file.arrays.get(name)
        if array is None or array.shape != shape or array.dtype.kind != "f":
            got = "none" if array is None else f"{array.shape} of {array.dtype}"
            raise DamagedFile(f"{not_a_gate(path)}: expected {name} of shape {shape}, floating point, got {got}")
    return ClusterGate(game, features, file.arrays["mean"], file.arrays["scale"], file.arrays["centres"], file)


def _make_network_gate(file: GateFile, game: Game, path: Path) -> NetworkGate:
    import torch

    from moemcts.learn.weights import check_state, load_state

    fields = validate_content(_NetworkFields, file.header, not_a_gate(path))
    state = {name: torch.from_numpy(np.array(array)) for name, array in file.arrays.items()}
    # Checked first against a network without memory, so that sizes that the file only claims are not allocated.
    with torch.device("meta"):
        check_state(make_gate_network(game, fields.phases, fields.channels), state, str(path))
    network = make_gate_network(game, fields.phases, fields.channels)
    load_state(network, state, str(path))
    return NetworkGate(game, network, channels=fields.channels, is_trained=fields.is_trained, file=file)
