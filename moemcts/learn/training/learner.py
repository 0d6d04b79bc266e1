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
from moemcts.learn.training.loader import BatchTensors, LoadedBatch
from moemcts.learn.training.losses import Losses, sample_losses, total_loss
from moemcts.learn.training.measurement import loss_columns
from moemcts.learn.training.optimisers import apply_schedule, make_optimiser, optimiser_tensors, restore_optimiser
from moemcts.learn.training.ranks import Ranks
from moemcts.learn.training.schedule import ScheduleValues
from moemcts.learn.training.speed import in_layout
from moemcts.learn.weights import Weights


@dataclass(frozen=True, kw_only=True)
class TrainingContext:
    """Where a network is trained, and how it is called there."""

    device: torch.device
    network: nn.Module
    """The network itself, on the device."""
    forward: Callable[[Tensor], Any]
    """The network for training: compiled, wrapped for several ranks, or just itself."""
    ranks: Ranks


class Learner:
    """Trains a network step by step."""

    def __init__(self, config: TrainerConfig, context: TrainingContext, optimiser_state: Weights) -> None:
        """`optimiser_state` is that of an optimiser to continue from; empty for a new one."""
        self._config = config
        self._context = context
        self._optimiser = make_optimiser(config, context.network)
        if optimiser_state:
            restore_optimiser(self._optimiser, optimiser_state)
        self._pending: list[dict[str, Tensor]] = []

    @property
    def num_pending(self) -> int:
        """Steps whose losses `pop_losses` returns next."""
        return len(self._pending)

    def optimiser_state(self) -> Weights:
        """Returns the state of the optimiser."""
        return optimiser_tensors(self._optimiser)

    def learn(self, loaded: LoadedBatch, values: ScheduleValues, seed: int) -> None:
        """Takes a step; random draws of the network in it are seeded by `seed`."""
        config, network, ranks = self._config, self._context.network, self._context.ranks
        apply_schedule(self._optimiser, values)
        _seed(self._context.device, seed)
        batch = loaded.batch.to(self._context.device)
        _set_training_mode(network, len(batch.weights))
        losses = self._losses(batch, self._context.forward)
        # The ranks' gradients are averaged, but their shares of a batch may differ in size by one.
        share = len(batch.weights) / loaded.num_samples
        loss = total_loss(losses, batch.weights, config.shares()) * (share * ranks.size)
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if config.clip is not None:
            nn.utils.clip_grad_norm_(network.parameters(), config.clip)
        self._optimiser.step()
        weighted = {name: batch.weights * column.detach() for name, column in loss_columns(losses).items()}
        means = {name: column.mean() * share for name, column in {**weighted, "weight": batch.weights}.items()}
        self._pending.append({"loss": loss.detach() / ranks.size, **means})

    def pop_losses(self) -> list[dict[str, float]]:
        """Returns the losses of the steps since the last call, over the samples of all ranks, and their weights."""
        if not self._pending:
            return []
        names = list(self._pending[0])
        # One transfer for all steps, so that a GPU is not synchronised for each number.
        table = torch.stack([torch.stack([step[name] for name in names]) for step in self._pending])
        self._pending.clear()
        return [dict(zip(names, row, strict=True)) for row in self._context.ranks.sum(table).tolist()]

    def losses(self, batch: BatchTensors) -> Losses:
        """Returns the losses of samples without training on them."""
        self._context.network.eval()
        return self._losses(batch.to(self._context.device), self._context.network)

    def _losses(self, batch: BatchTensors, forward: Callable[[Tensor], Any]) -> Losses:
        with torch.autocast(self._context.device.type, dtype=torch.bfloat16, enabled=self._config.precision == "bf16"):
            logits, value, *others = forward(in_layout(batch.planes, self._config.channels_last))
        # Logits, by far the most numbers, keep their dtype: sums over them are in 32 bits anyway.
        outputs = Outputs(logits, value.float(), *[output if output is None else output.float() for output in others])
        return sample_losses(outputs, batch.targets)


def _seed(device: torch.device, seed: int) -> None:
    """Seeds the generator that a network on a device draws from."""
    if device.type == "cpu":
        # `torch.manual_seed` seeds those of all devices too. Where none is in use it notes the call for later, with the
        # stack, which takes a small network a tenth of its step.
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def _set_training_mode(network: nn.Module, num_samples: int) -> None:
    """Puts a network into training mode, without its batch norms for a single sample, which has no variance."""
    network.train()
    if num_samples == 1:
        for module in network.modules():
            if isinstance(module, BatchNorm):
                module.eval()
