"""Training steps: updates of a network from batches, and their losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm as BatchNorm

from moemcts.learn.networks.outputs import Outputs
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.loader import Loaded, Tensors
from moemcts.learn.training.losses import Losses, sample_losses, total_loss
from moemcts.learn.training.measurement import columns
from moemcts.learn.training.optimisers import make_optimiser, optimiser_tensors, restore_optimiser, set_pace
from moemcts.learn.training.ranks import Ranks
from moemcts.learn.training.schedule import Pace
from moemcts.learn.training.speed import in_layout
from moemcts.learn.weights import Weights


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The device, and the network as it is called there."""

    device: torch.device
    network: nn.Module
    """The network itself, on the device."""
    forward: Callable[[Tensor], Any]
    """The network for training: compiled, wrapped for several ranks, or just itself."""
    ranks: Ranks


class Learner:
    """Trains a network step by step."""

    def __init__(self, config: TrainerConfig, machine: Machine, gathered: Weights) -> None:
        """`gathered` is the optimiser state to continue from; empty for a new one."""
        self._config = config
        self._machine = machine
        self._optimiser = make_optimiser(config, machine.network)
        if gathered:
            restore_optimiser(self._optimiser, gathered)
        self._pending: list[dict[str, Tensor]] = []

    @property
    def num_pending(self) -> int:
        """Steps whose losses `tell` returns next."""
        return len(self._pending)

    def gathered(self) -> Weights:
        """Returns the state of the optimiser."""
        return optimiser_tensors(self._optimiser)

    def learn(self, loaded: Loaded, pace: Pace, seed: int) -> None:
        """Takes a step; random draws of the network in it are seeded by `seed`."""
        config, network, ranks = self._config, self._machine.network, self._machine.ranks
        set_pace(self._optimiser, pace)
        _seed(self._machine.device, seed)
        batch = loaded.batch.to(self._machine.device)
        _train_on(network, len(batch.weights))
        losses = self._losses(batch, self._machine.forward)
        # The ranks' gradients are averaged, but their shares of a batch may differ in size by one.
        share = len(batch.weights) / loaded.num_samples
        loss = total_loss(losses, batch.weights, config.shares()) * (share * ranks.size)
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if config.clip is not None:
            nn.utils.clip_grad_norm_(network.parameters(), config.clip)
        self._optimiser.step()
        weighed = {name: batch.weights * column.detach() for name, column in columns(losses).items()}
        means = {name: column.mean() * share for name, column in {**weighed, "weight": batch.weights}.items()}
        self._pending.append({"loss": loss.detach() / ranks.size, **means})

    def tell(self) -> list[dict[str, float]]:
        """Returns the losses of the steps since the last call, over the samples of all ranks, and their weights."""
        if not self._pending:
            return []
        names = list(self._pending[0])
        # One transfer for all steps, so that a GPU is not synchronised for each number.
        table = torch.stack([torch.stack([step[name] for name in names]) for step in self._pending])
        self._pending.clear()
        return [dict(zip(names, row, strict=True)) for row in self._machine.ranks.sum(table).tolist()]

    def losses(self, batch: Tensors) -> Losses:
        """Returns the losses of samples without training on them."""
        self._machine.network.eval()
        return self._losses(batch.to(self._machine.device), self._machine.network)

    def _losses(self, batch: Tensors, forward: Callable[[Tensor], Any]) -> Losses:
        with torch.autocast(self._machine.device.type, dtype=torch.bfloat16, enabled=self._config.precision == "bf16"):
            answer = forward(in_layout(batch.planes, self._config.channels_last))
        logits, value, *rest = answer
        # Logits, by far the most numbers, keep their dtype: sums over them are in 32 bits anyway.
        outputs = Outputs(logits, value.float(), *[part if part is None else part.float() for part in rest])
        return sample_losses(outputs, batch.targets)


def _seed(device: torch.device, seed: int) -> None:
    """Seeds the generator that a network on a device draws from."""
    if device.type == "cpu":
        # `torch.manual_seed` seeds those of all devices too. Where none is in use it notes the call for later, with the
        # stack, which takes a small network a tenth of its step.
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def _train_on(network: nn.Module, num_samples: int) -> None:
    """Puts a network into training mode, without its batch norms for a single sample, which has no variance."""
    network.train()
    if num_samples == 1:
        for module in network.modules():
            if isinstance(module, BatchNorm):
                module.eval()
