"""Networks with fitted batch norms, folders of experts with them, and positions for comparing them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from learning_games import TicTacToe
from torch import nn

from moemcts.game import Game
from moemcts.learn.checkpoint import save_experts
from moemcts.learn.inference import backends
from moemcts.learn.inference.backends import BACKENDS
from moemcts.learn.inference.evaluators import Inference
from moemcts.learn.networks import catalogue
from moemcts.learn.planes import random_planes
from moemcts.plugins import plugins

NETWORK = "resnet?channels=4&blocks=1"
GATE = "plies?cuts=3,6"
EXPORTED = [backend for backend in BACKENDS if backend != "torch"]


def skip_without_libraries() -> None:
    """Skips a test file if a library for writing or running exported networks is missing.

    Nothing is imported: OpenVINO sends telemetry on import.
    """
    if missing := [name for name in ("onnx", *EXPORTED) if importlib.util.find_spec(name) is None]:
        pytest.skip(f"expected {', '.join(missing)}, not installed", allow_module_level=True)


def trained_network(shape: tuple[int, int, int] = (2, 3, 3), num_actions: int = 9, **options: Any) -> nn.Module:
    """Returns a network whose batch norms have been fitted to random inputs."""
    network = catalogue.resnet(shape, num_actions, **{"channels": 4, "blocks": 1, **options})
    network.train()
    for _ in range(3):
        network(torch.randn(16, *shape) * 2 + 1)
    return network.eval()


def network_of(reference: str, shape: tuple[int, int, int], num_actions: int) -> nn.Module:
    """Returns a network whose batch norms have been fitted to random inputs."""
    torch.manual_seed(0)
    network: nn.Module = plugins().network(reference, shape, num_actions)
    with torch.no_grad():
        for _ in range(3):
            network.train()(torch.from_numpy(random_planes(shape, 16)))
    return network.eval()


def save(folder: Path, game: Game | None = None, networks: list[nn.Module] | None = None) -> list[nn.Module]:
    game = game or TicTacToe()
    networks = networks or [trained_network() for _ in range(3)]
    save_experts(
        folder,
        networks,
        game=game,
        game_reference="tictactoe",
        gate=plugins().gate(GATE, game),
        gate_reference=GATE,
        network_reference=NETWORK,
        scheme="separated",
        seed=3,
        data="abc",
        measurements=[{"validation": {"loss": 1.0}}, {"validation": None}, {}],
    )
    return networks


def positions(game: Game, num: int = 40) -> Any:
    rng = np.random.default_rng(0)
    pairs = []
    while len(pairs) < num:
        state = game.initial_state()
        while state.active_players:
            player = state.active_players[0]
            pairs.append((state, player))
            state = state.play([int(rng.choice(state.legal_actions(player)))])
    return game.views(pairs)


def is_able(pair: Inference) -> bool:
    """Returns whether this processor supports a pair's precision."""
    if pair != Inference("openvino", "bf16"):
        return True
    return "BF16" in backends._openvino_core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Makes packages appear not to be installed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        backends.importlib.util, "find_spec", lambda name, *rest: None if name in names else find(name, *rest)
    )


def damage(file: Path, harm: str) -> None:
    """Damages a file: flips a bit ("flip"), truncates it ("cut") or deletes it ("remove")."""
    content = file.read_bytes()
    middle = len(content) // 2
    match harm:
        case "flip":
            file.write_bytes(content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :])
        case "cut":
            file.write_bytes(content[:100])
        case "remove":
            file.unlink()
        case _:
            raise ValueError(f"expected flip, cut or remove, got {harm!r}")
