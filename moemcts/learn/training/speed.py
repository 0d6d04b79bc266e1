"""Finds the precision and memory layout that train a network fastest here, by timing a few steps beforehand."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import torch
from torch import nn

from moemcts.learn.planes import random_planes
from moemcts.learn.threads import torch_threads
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.ranks import Ranks

WORTH_ROUNDING = 1.2
"""How many times as fast bf16 has to be to be chosen."""
WORTH_REORDERING = 1.05
"""How many times as fast channels-last has to be to be chosen."""
MAX_ROWS = 128
"""Samples per timed step on a CPU: what is faster with these is faster with more. On a GPU, where few samples cost no
more than launching their kernels, it is as many as a step of the training has."""
BUDGET = 2.0
"""Seconds of timing, after a first step of each way and with at least another one of each."""


class Way(NamedTuple):
    """How the steps of a training are computed."""

    precision: Literal["float32", "bf16"]
    channels_last: bool

    def __str__(self) -> str:
        return self.precision + (", channels last" if self.channels_last else "")


WAYS = (Way("float32", False), Way("float32", True), Way("bf16", False), Way("bf16", True))


def settled(
    config: TrainerConfig,
    network: nn.Module,
    observation_shape: tuple[int, ...],
    *,
    device: str = "cpu",
    shares: int = 1,
) -> TrainerConfig:
    """Returns the settings with precision `auto` resolved to what is fastest for a network; others unchanged.

    `shares` is the number of processes that a batch is divided among.
    """
    if config.precision != "auto":
        return config
    num_rows = max(config.batch_size // shares, 2)
    if torch.device(device).type == "cpu":
        num_rows = min(num_rows, MAX_ROWS)
    rates = measure_ways(network, observation_shape, num_rows, config.threads or 1, device)
    return with_way(config, best_way(rates))


def settled_once(
    config: TrainerConfig,
    network: nn.Module,
    observation_shape: tuple[int, ...],
    begun: Mapping[str, Any] | None,
    device: torch.device,
    ranks: Ranks,
) -> TrainerConfig:
    """Returns the settings with precision `auto` resolved: as a training was `begun` with, else what is fastest.

    With several ranks, the first decides for all, as their timings would differ.
    """
    if config.precision != "auto":
        return config
    if begun is not None:
        found = begun.get("config", {})
        return with_way(config, Way(found.get("precision", "float32"), bool(found.get("channels_last"))))
    mine = config
    if ranks.is_first:
        mine = settled(config, network, observation_shape, device=str(device), shares=ranks.size)
    return ranks.gather(mine)[0]


def with_way(config: TrainerConfig, way: Way) -> TrainerConfig:
    """Returns the settings with the precision and layout of a way."""
    # None if it is not used, as in settings from before it existed.
    return config.model_copy(update={"precision": way.precision, "channels_last": way.channels_last or None})


def best_way(rates: Mapping[Way, float]) -> Way:
    """Returns the fastest way that is worth what it changes: precision, or only the order of sums.

    Ways without a rate are not chosen; if none has one, float32 is.
    """
    by_precision: dict[str, Way] = {}
    for precision in ("float32", "bf16"):
        plain, reordered = (way for way in WAYS if way.precision == precision)
        is_worth_it = rates.get(reordered, 0.0) >= WORTH_REORDERING * rates.get(plain, 0.0)
        by_precision[precision] = reordered if is_worth_it and reordered in rates else plain
    exact, rounded = by_precision["float32"], by_precision["bf16"]
    return rounded if rates.get(rounded, 0.0) > WORTH_ROUNDING * rates.get(exact, 0.0) else exact


def measure_ways(
    network: nn.Module, observation_shape: tuple[int, ...], num_rows: int, num_threads: int, device: str = "cpu"
) -> dict[Way, float]:
    """Returns how many samples per second a network trains on in each way, forward and backward, taking turns.

    A rate is that of the fastest step, as other load only makes steps slower. The network is not changed; a way that it
    cannot be computed in has no rate.
    """
    place = torch.device(device)
    planes = torch.from_numpy(random_planes(observation_shape, num_rows)).to(place)
    tried = copy.deepcopy(network).to(place).train()
    seconds: dict[Way, float] = {}
    devices = [place] if place.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), torch_threads(num_threads):
        for way in WAYS:
            try:
                step_seconds(tried, tried, planes, way)
            except RuntimeError:
                # An operation that does not support bfloat16, or not enough memory.
                continue
            seconds[way] = float("inf")
        started = time.perf_counter()
        while seconds:
            for way in seconds:
                seconds[way] = min(seconds[way], step_seconds(tried, tried, planes, way))
            if time.perf_counter() - started > BUDGET:
                break
    return {way: num_rows / least for way, least in seconds.items()}


def in_layout(planes: torch.Tensor, channels_last: bool | None) -> torch.Tensor:
    """Returns planes `[N, C, H, W]` in the memory layout for a network, whose computations follow that of its input."""
    return planes.contiguous(memory_format=torch.channels_last) if channels_last else planes


def step_seconds(network: nn.Module, forward: Callable[[torch.Tensor], Any], planes: torch.Tensor, way: Way) -> float:
    """Returns the seconds that a step takes without loss and optimiser, which are the same in every way.

    `forward` calls the network: itself, or its compiled version.
    """
    started = time.perf_counter()
    with torch.autocast(planes.device.type, dtype=torch.bfloat16, enabled=way.precision == "bf16"):
        outputs: Any = forward(in_layout(planes, way.channels_last))
    network.zero_grad(set_to_none=True)
    sum(part.float().square().mean() for part in outputs if part is not None).backward()
    if planes.device.type == "cuda":
        torch.cuda.synchronize(planes.device)
    return time.perf_counter() - started
