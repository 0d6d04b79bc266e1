"""The trained experts that trainings start from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from moemcts.errors import UsageError
from moemcts.game import Game
from moemcts.gates import PhaseGate
from moemcts.naming import experts_in
from moemcts.plugins import plugins
from moemcts.runs.settings import LearningConfig
from moemcts.store import MANIFEST, read_toml

if TYPE_CHECKING:
    from torch import nn

Config = TypeVar("Config", bound=LearningConfig)


def with_start(config: Config, gate: str, schemes: Sequence[str]) -> Config:
    """Returns the configuration with the absolute path of the experts to start from, and with their network.

    Raises UsageError if they do not fit the gate or a scheme cannot start from them, MoemctsError if there are none,
    and as `load_networks`.
    """
    if not config.start:
        return config
    from moemcts.learn.loop.training import require_staged

    folder, game = experts_in(config.start).absolute(), plugins().game(config.game)
    networks = load_start_networks(folder, game, gate, plugins().gate(gate, game))
    for scheme in schemes:
        require_staged(plugins().scheme(scheme), scheme).check_initial_networks(networks)
    return config.model_copy(update={"start": str(folder), "network": str(read_toml(folder / MANIFEST)["network"])})


def load_start_networks(folder: Path, game: Game, reference: str, gate: PhaseGate) -> list[nn.Module]:
    """Returns the initial network of each phase: experts of the same gate, or a single network for all phases.

    `reference` is that of the gate. Raises UsageError for experts of another gate, and as `load_networks`.
    """
    from moemcts.learn.checkpoint import load_networks
    from moemcts.learn.fingerprint import gate_fingerprint
    from moemcts.learn.weights import network_state, state_digest

    loaded = load_networks(folder, game, plugins())
    if len({state_digest(network_state(network)) for network in loaded.networks}) == 1:
        return [loaded.networks[0]] * gate.num_phases
    if gate_fingerprint(loaded.gate, game) != gate_fingerprint(gate, game):
        raise UsageError(
            f"{folder} has experts of gate {loaded.gate.name!r}, not of {reference!r}; expected experts of the same "
            f"gate, or a single network"
        )
    return list(loaded.networks)
