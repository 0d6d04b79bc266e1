"""Decides whether torch compiles a network for training: timed before the first step, if it can pay off."""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from moemcts.errors import first_line
from moemcts.learn.planes import random_planes
from moemcts.learn.threads import torch_threads
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.ranks import Ranks
from moemcts.learn.training.speed import ComputeMode, step_seconds

LONG_ENOUGH = 600.0
"""Seconds of plain steps from which on compiling is tried: it takes about a minute, and saves a seventh of a step."""
WORTH_COMPILING = 1.05
"""How many times as fast a training has to be, including the time to compile, to be compiled."""
TURNS = 5
"""Steps that are timed, plain and compiled in turns; the fastest counts."""


class Costs(NamedTuple):
    """Seconds that the steps of a training take."""

    plain: float
    """A plain step."""
    compiled: float
    """A compiled step."""
    compiling: float
    """The first step, which compiles."""

    def pays_off(self, num_steps: int) -> bool:
        """Returns whether `num_steps` steps are clearly faster compiled."""
        return num_steps * self.plain > WORTH_COMPILING * (self.compiling + num_steps * self.compiled)


def compiled(forward: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
    """Returns the compiled forward pass of a network, for batches of all sizes; the first call compiles it."""
    compiled_forward = torch.compile(forward)

    def call(planes: Tensor) -> Any:
        # Batches of an epoch differ by a sample: without this, the second size would be compiled again.
        torch._dynamo.maybe_mark_dynamic(planes, 0)
        return compiled_forward(planes)

    return call


def resolve_compile(
    config: TrainerConfig,
    network: nn.Module,
    observation_shape: tuple[int, ...],
    num_steps: int,
    begun: Mapping[str, Any] | None,
    device: torch.device,
    ranks: Ranks,
) -> TrainerConfig:
    """Returns the settings with compile `auto` resolved: as a training was `begun` with, else what is faster.

    With several ranks, the first decides for all. A network that torch cannot compile is trained as it is, with a
    warning.
    """
    if config.compile != "auto":
        return config
    if begun is not None:
        wanted = bool(begun.get("config", {}).get("compile"))
    else:
        own = ranks.is_first and _pays_off(config, network, observation_shape, num_steps, device, ranks.size)
        wanted = ranks.gather(own)[0]
    return config.model_copy(update={"compile": wanted})


def _pays_off(
    config: TrainerConfig, network: nn.Module, shape: tuple[int, ...], num_steps: int, device: torch.device, shares: int
) -> bool:
    mode = ComputeMode("bf16" if config.precision == "bf16" else "float32", bool(config.channels_last))
    num_rows = max(config.batch_size // shares, 2)
    least = LONG_ENOUGH / num_steps
    try:
        costs = measure_compiling(network, shape, num_rows, config.threads or 1, mode, device=device, least=least)
    except (RuntimeError, OSError) as error:
        logging.getLogger(__name__).warning(
            "torch cannot compile the network, which is trained as it is: %s", first_line(error)
        )
        return False
    return costs is not None and costs.pays_off(num_steps)


def measure_compiling(
    network: nn.Module,
    observation_shape: tuple[int, ...],
    num_rows: int,
    num_threads: int,
    mode: ComputeMode,
    *,
    device: torch.device,
    least: float = 0.0,
    turns: int = TURNS,
) -> Costs | None:
    """Returns the costs of steps of `num_rows` samples, forward and backward; the network is not changed.

    None if a plain step takes less than `least` seconds. Raises RuntimeError or OSError if torch cannot compile it.
    """
    planes = torch.from_numpy(random_planes(observation_shape, num_rows)).to(device)
    network_copy = copy.deepcopy(network).to(device).train()
    compiled_forward = compiled(network_copy)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), torch_threads(num_threads):
        plain = min(step_seconds(network_copy, network_copy, planes, mode) for _ in range(TURNS))
        if plain < least:
            return None
        started = time.perf_counter()
        step_seconds(network_copy, compiled_forward, planes, mode)
        compiling = time.perf_counter() - started
        seconds = [
            [step_seconds(network_copy, forward, planes, mode) for forward in (network_copy, compiled_forward)]
            for _ in range(turns)
        ]
    plain, after = (min(column) for column in zip(*seconds, strict=True))
    return Costs(plain=plain, compiled=after, compiling=compiling)
