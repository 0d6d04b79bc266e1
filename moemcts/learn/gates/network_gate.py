"""A gate that is a network, trained together with its experts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from moemcts.game import FloatArray, Game, Views
from moemcts.gates import PhaseGate
from moemcts.learn.gates.gate_file import Arrays, GateFile, numbered

if TYPE_CHECKING:
    from moemcts.learn.networks.gate import GateNetwork

CHUNK = 16
"""Views per forward pass: for more, the unfolded input of a convolution no longer fits into a core's cache."""
DECIMALS = 6
"""Decimals of a learned weight: differences in double precision between machines and batches are far smaller."""


class NetworkGate:
    """Weights phases by a small network that is trained together with the experts (scheme `mixture`).

    Before training, all phases have equal weights; after it, phase 0 is the one that comes first in games. It is
    evaluated in double precision and rounded, so that weights depend neither on the batch nor on the machine. They
    depend on the position alone, so a game may return to an earlier phase.
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
        self._network = _double_precision_copy(network)

    @classmethod
    def untrained(cls, game: Game, num_phases: int, channels: int) -> NetworkGate:
        """Returns an untrained gate; raises ValueError for sizes below 1."""
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


def is_untrained(gate: PhaseGate) -> bool:
    """Returns whether the gate is untrained: it is to be trained together with its experts."""
    return isinstance(gate, NetworkGate) and not gate.is_trained


def make_gate_network(game: Game, num_phases: int, channels: int) -> GateNetwork:
    """Returns a gate network with new weights, drawn from torch's generator."""
    from moemcts.learn.networks.gate import GateNetwork

    return GateNetwork(game.spec.plane_shape[0], num_phases, channels=channels)


def _double_precision_copy(network: GateNetwork) -> GateNetwork:
    import copy

    return copy.deepcopy(network).cpu().eval().double().requires_grad_(False)
