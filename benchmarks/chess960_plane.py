"""Experts trained on chess, converted to play Chess960: unchanged, and with the weights of the Chess960 plane zeroed.

    python benchmarks/chess960_plane.py EXPERTS OUT

Writes OUT/heard and OUT/deaf, for `expert_duels.py --game chess960`. In chess the plane is always zero, so its weights
keep their initial values, which take effect in Chess960. `deaf` sets them to zero, so that every position is treated as
one of chess.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from moemcts.learn.checkpoint import load_networks, save_experts
from moemcts.plugins import plugins

PLANE = "is960"


def write_variants(experts: Path, out: Path) -> tuple[Path, Path]:
    """Writes both, and returns the folders of the unchanged experts and of those with zeroed weights."""
    game = plugins().game("chess960")
    loaded = load_networks(experts, plugins().game("chess"), plugins())
    manifest = loaded.manifest
    gate = plugins().gate(manifest["gate"]["reference"], game)

    def save(name: str, networks: Sequence[nn.Module]) -> Path:
        return save_experts(
            out / name,
            networks,
            game=game,
            game_reference="chess960",
            gate=gate,
            gate_reference=manifest["gate"]["reference"],
            network_reference=manifest["network"],
            scheme=manifest["scheme"],
            seed=manifest["seed"],
            data=manifest["data"],
        )

    saved = save("heard", loaded.networks)
    plane = game.spec.plane_names.index(PLANE)
    for network in loaded.networks:
        zero_plane_weights(network, plane)
    return saved, save("deaf", loaded.networks)


@torch.no_grad()
def zero_plane_weights(network: nn.Module, plane: int) -> None:
    """Zeroes the weights of a plane in a network's first convolution; raises ValueError if there is none."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            module.weight[:, plane] = 0
            return
    raise ValueError("expected a network that begins with a convolution")


def main() -> None:
    """Writes the experts and prints where they are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experts", type=Path, help="a folder of experts of chess")
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    print(*write_variants(options.experts, options.out), sep="\n")


if __name__ == "__main__":
    main()
