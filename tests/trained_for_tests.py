"""A team of experts that is small enough to be created in a test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import nn

from moemcts.evaluation import Evaluator
from moemcts.hookspecs import Registration
from moemcts.learn import checkpoint
from moemcts.learn.checkpoint import save_experts
from moemcts.learn.inference.backends import Precision
from moemcts.learn.inference.shared_body import torch_experts
from moemcts.plugins import plugins

NETWORK = "resnet?channels=4&blocks=1"
CARD = """
recipe = "moemcts train --game tictactoe"

[[measured]]
against = "random"
result = "+120 Elo [+80, +160]"
games = 400
command = "moemcts match --game tictactoe --agent weights:noughts --agent random"
"""


def save_team(folder: Path, *, game: str = "tictactoe", gate: str = "plies?cuts=3,6", seed: int = 3) -> Path:
    """Writes experts with random weights, one per phase of the gate, and returns their folder."""
    made = plugins().game(game)
    weighs = plugins().gate(gate, made)
    torch.manual_seed(seed)
    networks = [
        plugins().network(NETWORK, made.spec.observation_shape, made.spec.num_actions).eval()
        for _ in range(weighs.num_phases)
    ]
    return save_experts(
        folder,
        networks,
        game=made,
        game_reference=game,
        gate=weighs,
        gate_reference=gate,
        network_reference=NETWORK,
        scheme="separated",
        seed=seed,
        measurements=[{"validation": {"loss": 1.5}}] * weighs.num_phases,
    )


def with_gpus(patch: pytest.MonkeyPatch, num_gpus: int = 2) -> list[str]:
    """Makes torch report GPUs; returns a list of the devices requested for teams, which run on the CPU."""
    seen: list[str] = []

    def opened(networks: Sequence[nn.Module], device: str, precision: Precision) -> Sequence[Evaluator]:
        seen.append(device)
        return torch_experts(networks, "cpu", precision)

    patch.setattr(torch.cuda, "is_available", lambda: num_gpus > 0)
    patch.setattr(torch.cuda, "device_count", lambda: num_gpus)
    patch.setattr(checkpoint, "torch_experts", opened)
    return seen


@contextmanager
def shipped(folder: Path, *, name: str = "noughts", default: bool = False) -> Iterator[None]:
    """Temporarily registers experts for tic-tac-toe as shipped by a plugin."""
    with pytest.MonkeyPatch.context() as patch:
        entry = Registration(name, lambda: folder, "three small networks", ("tictactoe",), default=default)
        patch.setitem(plugins().weights, name, entry)
        yield
