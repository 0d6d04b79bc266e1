"""Learned gates are written, and made again from what was written."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from moemcts.errors import DamagedFile
from moemcts.game import Game
from moemcts.learn.gates.clusters import ClusterGate
from moemcts.learn.gates.features import Features, NetworkFeatures, NetworkMakers, PlaneFeatures
from moemcts.learn.gates.gate_file import GateFile
from moemcts.learn.gates.network_gate import NetworkGate, make_gate_network
from moemcts.store import write_bytes

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
