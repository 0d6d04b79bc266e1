"""Optimisers: state as named tensors, stored without pickle, and what is kept of it between trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.schedule import ScheduleValues
from moemcts.learn.training.stages import PlanStep
from moemcts.learn.weights import Weights, read_state
from moemcts.store import read_bytes, write_bytes


def make_optimiser(config: TrainerConfig, network: nn.Module) -> torch.optim.Optimizer:
    """Returns the optimiser that is configured; `apply_schedule` sets its learning rate."""
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


def apply_schedule(optimiser: torch.optim.Optimizer, values: ScheduleValues) -> None:
    """Sets learning rate and momentum, or the first beta if there is no momentum."""
    for group in optimiser.param_groups:
        group["lr"] = values.learning_rate
        if "betas" in group:
            group["betas"] = (values.momentum, group["betas"][1])
        else:
            group["momentum"] = values.momentum


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Returns the state of the optimiser, by parameter number and name."""
    state: Mapping[int, Mapping[str, Tensor | None]] = optimiser.state_dict()["state"]
    return {
        f"{number}.{name}": tensor
        for number, entries in state.items()
        for name, tensor in entries.items()
        if tensor is not None
    }


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Restores the state that `optimiser_tensors` returned."""
    state: dict[int, dict[str, Any]] = {}
    for name, tensor in tensors.items():
        number, _, entry = name.partition(".")
        state.setdefault(int(number), {})[entry] = tensor
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


@dataclass(frozen=True)
class Optimisers:
    """Optimiser states by expert and stage: read from `before`, if they exist, and written to `after`."""

    before: Path
    after: Path
    places: Sequence[Sequence[int]] = ()
    """By expert, the index of each of its stages among all stages of its scheme; if empty, their own indices."""

    def of(self, step: PlanStep) -> Weights | None:
        """Returns the state that a stage continues from; None for a new one."""
        path = self.before / self._file_name(step.experts[0], step)
        return read_state(path)[0] if path.exists() else None

    def keep(self, step: PlanStep, path: Path) -> None:
        """Copies the state that a stage has left in a file to `after`, for each of its experts."""
        content = read_bytes(path)
        for expert in step.experts:
            write_bytes(self.after / self._file_name(expert, step), content)

    def pass_on(self, expert: int, place: int) -> None:
        """Copies the earlier state of a stage that is left out."""
        name = _state_file(expert, place)
        if (self.before / name).exists():
            write_bytes(self.after / name, read_bytes(self.before / name))

    def _file_name(self, expert: int, step: PlanStep) -> str:
        place = len(step.chain) - 1
        return _state_file(expert, self.places[expert][place] if self.places else place)


def _state_file(expert: int, place: int) -> str:
    return f"{expert}-{place}.safetensors"
