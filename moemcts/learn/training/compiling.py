"""Whether torch compiles a network for training: tried before the first step, where that can pay."""

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
from moemcts.learn.training.speed import Way, step_seconds

LONG_ENOUGH = 600.0
"""Seconds of plain steps from which on it is tried: compiling takes about a minute, and gains a seventh of a step."""
WORTH_COMPILING = 1.05
"""How many times as fast a training has to be, with the time to compile, to be compiled."""
TURNS = 5
"""Steps that are tried, plain and compiled in turns; the quickest counts."""


class Costs(NamedTuple):
    """What the steps of a training take, in seconds."""

    plain: float
    """A step as it is."""
    compiled: float
    """A step once compiled."""
    compiling: float
    """The first step, which compiles."""

    def pays(self, num_steps: int) -> bool:
        """Returns whether so many steps are clearly quicker compiled."""
        return num_steps * self.plain > WORTH_COMPILING * (self.compiling + num_steps * self.compiled)


def compiled(forward: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
    """Returns what torch compiles of a network, once for batches of all sizes, when it is first called."""
    quick = torch.compile(forward)

    def call(planes: Tensor) -> Any:
        # Batches of an epoch differ by a sample: without it, the second size would be compiled anew.
        torch._dynamo.maybe_mark_dynamic(planes, 0)
        return quick(planes)

    return call


def compiled_where_it_pays(
    config: TrainerConfig,
    network: nn.Module,
    observation_shape: tuple[int, ...],
    num_steps: int,
    begun: Mapping[str, Any] | None,
    device: torch.device,
    ranks: Ranks,
) -> TrainerConfig:
    """Returns the settings with what a training was `begun` with in place of compile `auto`, else what is quicker.

    Of several ranks the first decides for all. A network that torch cannot compile is left as it is, with a warning.
    """
    if config.compile != "auto":
        return config
    if begun is not None:
        wanted = bool(begun.get("config", {}).get("compile"))
    else:
        mine = ranks.is_first and _pays(config, network, observation_shape, num_steps, device, ranks.size)
        wanted = ranks.gather(mine)[0]
    return config.model_copy(update={"compile": wanted})


def _pays(
    config: TrainerConfig, network: nn.Module, shape: tuple[int, ...], num_steps: int, device: torch.device, shares: int
) -> bool:
    way = Way("bf16" if config.precision == "bf16" else "float32", bool(config.channels_last))
    num_rows = max(config.batch_size // shares, 2)
    least = LONG_ENOUGH / num_steps
    try:
        costs = measure_compiling(network, shape, num_rows, config.threads or 1, way, device=device, least=least)
    except (RuntimeError, OSError) as error:
        logging.getLogger(__name__).warning(
            "torch cannot compile the network, which is trained as it is: %s", first_line(error)
        )
        return False
    return costs is not None and costs.pays(num_steps)


def measure_compiling(
    network: nn.Module,
    observation_shape: tuple[int, ...],
    num_rows: int,
    num_threads: int,
    way: Way,
    *,
    device: torch.device,
    least: float = 0.0,
    turns: int = TURNS,
) -> Costs | None:
    """Returns what steps of so many samples cost, forward and backward; None where a plain one takes less than `least`
    seconds. The network is not changed.

    Raises RuntimeError or OSError where torch cannot compile it.
    """
    planes = torch.from_numpy(random_planes(observation_shape, num_rows)).to(device)
    tried = copy.deepcopy(network).to(device).train()
    quick = compiled(tried)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), torch_threads(num_threads):
        plain = min(step_seconds(tried, tried, planes, way) for _ in range(TURNS))
        if plain < least:
            return None
        started = time.perf_counter()
        step_seconds(tried, quick, planes, way)
        compiling = time.perf_counter() - started
        seconds = [[step_seconds(tried, forward, planes, way) for forward in (tried, quick)] for _ in range(turns)]
    plain, after = (min(column) for column in zip(*seconds, strict=True))
    return Costs(plain=plain, compiled=after, compiling=compiling)
