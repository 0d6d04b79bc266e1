"""Optimisers whose state is named tensors, to be stored without pickle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.schedule import Pace


def make_optimiser(config: TrainerConfig, network: nn.Module) -> torch.optim.Optimizer:
    """Returns the optimiser that a trainer is configured with; `set_pace` gives it its learning rate."""
    parameters = network.parameters()
    if config.optimiser == "adamw":
        return torch.optim.AdamW(parameters, weight_decay=config.weight_decay, fused=True)
    return torch.optim.SGD(
        parameters,
        lr=config.learning_rate,
        momentum=config.momentum,
        weight_decay=config.weight_decay,
        nesterov=config.optimiser == "nag" and config.momentum > 0,
        fused=True,
    )


def set_pace(optimiser: torch.optim.Optimizer, pace: Pace) -> None:
    """Sets learning rate and momentum; the first beta where there is no momentum."""
    for group in optimiser.param_groups:
        group["lr"] = pace.learning_rate
        if "betas" in group:
            group["betas"] = (pace.momentum, group["betas"][1])
        else:
            group["momentum"] = pace.momentum


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Returns all that the optimiser remembers, by parameter number and name."""
    state: Mapping[int, Mapping[str, Tensor | None]] = optimiser.state_dict()["state"]
    return {
        f"{number}.{name}": tensor
        for number, entries in state.items()
        for name, tensor in entries.items()
        if tensor is not None
    }


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Makes the optimiser remember what `optimiser_tensors` returned."""
    state: dict[int, dict[str, Any]] = {}
    for name, tensor in tensors.items():
        number, _, entry = name.partition(".")
        state.setdefault(int(number), {})[entry] = tensor
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
