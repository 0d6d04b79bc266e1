"""Cost of a network: parameters, multiply-adds, and time per position."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

SECONDS = 0.2
"""How long each batch size is timed."""


@dataclass(frozen=True)
class NetworkCost:
    """Cost of one network on this machine, with one thread, in float32, run by torch."""

    parameters: int
    multiply_adds: int
    """Per position."""
    milliseconds: float
    """Per position, evaluated alone."""
    milliseconds_in_batch: float
    """Per position, in a batch of `BATCH`."""


BATCH = 64


def network_cost(network: Any, observation_shape: tuple[int, ...]) -> NetworkCost:
    """Returns the cost of a network, a `torch.nn.Module`, which is put into evaluation mode."""
    import torch

    from moemcts.learn.networks.layers import count_macs, count_parameters
    from moemcts.learn.threads import torch_threads

    network.eval()
    with torch.inference_mode(), torch_threads(1):
        return NetworkCost(
            parameters=count_parameters(network),
            multiply_adds=count_macs(network, observation_shape),
            milliseconds=_milliseconds(network, torch.zeros(1, *observation_shape)),
            milliseconds_in_batch=_milliseconds(network, torch.zeros(BATCH, *observation_shape)) / BATCH,
        )


def _milliseconds(network: Any, planes: Any) -> float:
    network(planes)
    times: list[float] = []
    started = time.perf_counter()
    while time.perf_counter() - started < SECONDS or not times:
        began = time.perf_counter()
        network(planes)
        times.append(time.perf_counter() - began)
    return 1000 * sorted(times)[len(times) // 2]
