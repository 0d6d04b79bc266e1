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
"""Seconds of timing, after a first step in each mode and with at least another one of each."""


class ComputeMode(NamedTuple):
    """How the steps of a training are computed."""

    precision: Literal["float32", "bf16"]
    channels_last: bool

    def __str__(self) -> str:
        return self.precision + (", channels last" if self.channels_last else "")


COMPUTE_MODES = (
    ComputeMode("float32", False),
    ComputeMode("float32", True),
    ComputeMode("bf16", False),
    ComputeMode("bf16", True),
)


def resolve_precision(
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
    rates = measure_modes(network, observation_shape, num_rows, config.threads or 1, device)
    return with_mode(config, fastest_mode(rates))


def resolve_precision_once(
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
        return with_mode(config, ComputeMode(found.get("precision", "float32"), bool(found.get("channels_last"))))
    own = config
    if ranks.is_first:
        own = resolve_precision(config, network, observation_shape, device=str(device), shares=ranks.size)
    return ranks.gather(own)[0]


def with_mode(config: TrainerConfig, mode: ComputeMode) -> TrainerConfig:
    """Returns the settings with the precision and layout of a mode."""
    # None if it is not used, as in settings from before it existed.
    return config.model_copy(update={"precision": mode.precision, "channels_last": mode.channels_last or None})


def fastest_mode(rates: Mapping[ComputeMode, float]) -> ComputeMode:
    """Returns the fastest mode that is worth what it changes: precision, or only the order of sums.

    Modes without a rate are not chosen; if none has one, float32 is.
    """
    by_precision: dict[str, ComputeMode] = {}
    for precision in ("float32", "bf16"):
        plain, reordered = (mode for mode in COMPUTE_MODES if mode.precision == precision)
        is_worth_it = rates.get(reordered, 0.0) >= WORTH_REORDERING * rates.get(plain, 0.0)
        by_precision[precision] = reordered if is_worth_it and reordered in rates else plain
    exact, rounded = by_precision["float32"], by_precision["bf16"]
    return rounded if rates.get(rounded, 0.0) > WORTH_ROUNDING * rates.get(exact, 0.0) else exact


def measure_modes(
    network: nn.Module, observation_shape: tuple[int, ...], num_rows: int, num_threads: int, device: str = "cpu"
) -> dict[ComputeMode, float]:
    """Returns how many samples per second a network trains on in each mode, forward and backward, taking turns.

    A rate is that of the fastest step, as other load only makes steps slower. The network is not changed; a mode in
    which it cannot be computed has no rate.
    """
    place = torch.device(device)
    planes = torch.from_numpy(random_planes(observation_shape, num_rows)).to(place)
    network_copy = copy.deepcopy(network).to(place).train()
    seconds: dict[ComputeMode, float] = {}
    devices = [place] if place.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), torch_threads(num_threads):
        for mode in COMPUTE_MODES:
            try:
                step_seconds(network_copy, network_copy, planes, mode)
            except RuntimeError:
                # An operation that does not support bfloat16, or not enough memory.
                continue
            seconds[mode] = float("inf")
        started = time.perf_counter()
        while seconds:
            for mode in seconds:
                seconds[mode] = min(seconds[mode], step_seconds(network_copy, network_copy, planes, mode))
            if time.perf_counter() - started > BUDGET:
                break
    return {mode: num_rows / least for mode, least in seconds.items()}


def in_layout(planes: torch.Tensor, channels_last: bool | None) -> torch.Tensor:
    """Returns planes `[N, C, H, W]` in the memory layout for a network, whose computations follow that of its input."""
    return planes.contiguous(memory_format=torch.channels_last) if channels_last else planes


def step_seconds(
    network: nn.Module, forward: Callable[[torch.Tensor], Any], planes: torch.Tensor, mode: ComputeMode
) -> float:
    """Returns the seconds that a step takes without loss and optimiser, which are the same in every mode.

    `forward` calls the network: itself, or its compiled version.
    """
    started = time.perf_counter()
    with torch.autocast(planes.device.type, dtype=torch.bfloat16, enabled=mode.precision == "bf16"):
        outputs: Any = forward(in_layout(planes, mode.channels_last))
    network.zero_grad(set_to_none=True)
    sum(part.float().square().mean() for part in outputs if part is not None).backward()
    if planes.device.type == "cuda":
        torch.cuda.synchronize(planes.device)
    return time.perf_counter() - started
