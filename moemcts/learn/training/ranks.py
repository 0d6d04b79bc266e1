"""The processes of a training: a single one, or those that `torchrun` started, one per GPU."""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, distributed, nn

from moemcts.errors import MoemctsError, UsageError, first_line

PATIENCE = datetime.timedelta(hours=2)
"""How long a process waits for the others, which may be encoding, measuring or writing."""

Part = TypeVar("Part")


@dataclass(frozen=True)
class Ranks:
    """This process among those of a training; if there are several, the methods synchronise all of them."""

    rank: int = 0
    """Index of this process; only number 0 writes."""
    size: int = 1

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def wait(self) -> None:
        """Waits until all processes have called this."""
        if self.size > 1:
            distributed.barrier()

    def sum(self, tensor: Tensor) -> Tensor:
        """Returns the sum of all ranks' tensors, in place."""
        if self.size > 1:
            distributed.all_reduce(tensor)
        return tensor

    def gather(self, part: Part) -> list[Part]:
        """Returns the parts of all ranks, in their order."""
        if self.size == 1:
            return [part]
        parts: list[Part | None] = [None] * self.size
        distributed.all_gather_object(parts, part)
        return parts  # type: ignore[return-value]

    def share_buffers(self, network: nn.Module) -> None:
        """Copies the running statistics of the first rank to all."""
        if self.size > 1:
            for buffer in network.buffers():
                distributed.broadcast(buffer, 0)

    def wrap(self, network: nn.Module, *, freezes_body: bool = False) -> nn.Module:
        """Returns the network, wrapped so that gradients are averaged over the ranks as they are computed.

        If stages freeze its body, every step detects which weights take part, which costs a little time.
        """
        if self.size == 1:
            return network
        device = next(network.parameters()).device
        return nn.parallel.DistributedDataParallel(
            network,
            device_ids=[device] if device.type == "cuda" else None,
            find_unused_parameters=freezes_body,
        )


ALONE = Ranks()


def torchrun_ranks() -> Ranks:
    """Returns the rank of this process as set by `torchrun`, without connecting it."""
    size, rank = (os.environ.get(name, "") for name in ("WORLD_SIZE", "RANK"))
    return Ranks(int(rank), int(size)) if size.isdigit() and rank.isdigit() and int(size) > 1 else ALONE


@contextlib.contextmanager
def connected(device: str) -> Iterator[Ranks]:
    """Connects the processes that `torchrun` started: over NCCL if the device is a GPU, else over Gloo.

    Each process takes the GPU of its local rank. Raises MoemctsError if the others cannot be reached.
    """
    ranks = torchrun_ranks()
    if ranks.size == 1:
        yield ranks
        return
    is_cuda = torch.cuda.is_available() and device.startswith(("auto", "cuda"))
    try:
        if is_cuda:
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", ranks.rank)))
        distributed.init_process_group("nccl" if is_cuda else "gloo", timeout=PATIENCE)
    except (RuntimeError, ValueError) as error:
        raise MoemctsError(
            f"cannot connect process {ranks.rank} of {ranks.size} to the others: {first_line(error)}"
        ) from error
    try:
        yield ranks
    finally:
        distributed.destroy_process_group()


def device_of(name: str, ranks: Ranks = ALONE) -> torch.device:
    """Returns the device of that name for this process; `auto` is a GPU if there is one.

    Raises UsageError if torch lacks the device here, and for one GPU that several processes would share.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UsageError(f"expected a device such as cpu, cuda or cuda:1, got {name!r}") from None
    if device.type == "cuda" and device.index is not None and ranks.size > 1:
        raise UsageError(
            f"expected device cuda of {ranks.size} processes, each of which takes its own GPU, got {name!r}"
        )
    if device.type == "cuda":
        num_found = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if num_found <= (device.index or 0):
            found = f"finds {num_found}, numbered from 0" if num_found else "finds none"
            use = "cuda or cpu" if num_found else "cpu"
            raise UsageError(f"no GPU for device {name!r}: torch {torch.__version__} {found}; use device={use}")
    elif device.type != "cpu" and device.type != _accelerator():
        raise UsageError(f"expected a device such as cpu, cuda or cuda:1, got {name!r}, which torch does not find")
    if name == "cuda" and ranks.size > 1:
        # Each process has its own GPU, chosen when they were connected.
        return torch.device("cuda", torch.cuda.current_device())
    return device


def device_or_cpu(name: str) -> str:
    """Returns the device of that name if torch has it here, else the CPU.

    For results that depend on the device in the last digits only, such as the losses of a training done elsewhere.
    """
    try:
        return str(device_of(name))
    except UsageError:
        return "cpu"


def _accelerator() -> str | None:
    """Returns the type of this machine's accelerator, None if it has none."""
    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return None if found is None else found.type
