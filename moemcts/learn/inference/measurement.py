"""Measures how fast a network is with every backend and precision that can run it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping

import torch
from torch import nn

from moemcts.errors import MoemctsError
from moemcts.learn.inference.backends import ALL_INFERENCES, Inference, PlanesEvaluator, installed_version, providers
from moemcts.learn.inference.export import onnx_bytes
from moemcts.learn.inference.factory import build_evaluator
from moemcts.learn.planes import random_planes
from moemcts.learn.threads import torch_threads

BUDGET = 1.0
"""Seconds that a measurement takes, with at least two batches of each size per candidate."""
SIZES = (1, 8, 64)
"""Batch sizes that are measured."""
Rates = Mapping[str, Mapping[int, float]]
"""Positions per second by `str(Inference)` and batch size."""


def candidates(device: str = "cpu", *, has_int8: bool = False) -> list[Inference]:
    """Returns the installed backends, with precisions, that may run a network on a device; int8 needs models."""
    is_on_cpu = torch.device(device).type == "cpu"
    supported = []
    for pair in ALL_INFERENCES:
        if installed_version(pair.backend) is None or (pair.precision == "int8" and not has_int8):
            continue
        if not is_on_cpu and not _runs_on_gpu(pair, device):
            continue
        supported.append(pair)
    return supported


def measure(
    network: nn.Module,
    observation_shape: tuple[int, ...],
    *,
    quantised: bytes | None = None,
    device: str = "cpu",
    sizes: tuple[int, ...] = SIZES,
    budget: float = BUDGET,
) -> dict[str, dict[int, float]]:
    """Returns how fast each candidate evaluates random planes on one thread, taking turns for `budget` seconds.

    A rate is that of the fastest batch, as other load only makes batches slower. Candidates that cannot run the
    network, or whose outputs differ from torch's, have no rate.
    """
    pairs = candidates(device, has_int8=quantised is not None)
    evaluators = _make_evaluators(network, observation_shape, pairs, quantised, device)
    seconds = {pair: dict.fromkeys(sizes, float("inf")) for pair in evaluators}
    batches = {size: random_planes(observation_shape, size) for size in sizes}
    with torch_threads(1):
        for evaluator in evaluators.values():
            for planes in batches.values():
                evaluator.evaluate_planes(planes)
        started = time.perf_counter()
        while True:
            for size, planes in batches.items():
                for pair, evaluator in evaluators.items():
                    before = time.perf_counter()
                    evaluator.evaluate_planes(planes)
                    seconds[pair][size] = min(seconds[pair][size], time.perf_counter() - before)
            if time.perf_counter() - started > budget:
                break
    return {str(pair): {size: round(size / least, 1) for size, least in row.items()} for pair, row in seconds.items()}


def _runs_on_gpu(pair: Inference, device: str) -> bool:
    """Returns whether a backend with a precision runs on a GPU."""
    if pair.backend == "torch":
        return True
    if pair.backend == "openvino" or pair.precision == "int8":
        return False
    try:
        return bool(providers(device))
    except MoemctsError:
        return False


def _make_evaluators(
    network: nn.Module,
    observation_shape: tuple[int, ...],
    pairs: list[Inference],
    quantised: bytes | None,
    device: str,
) -> dict[Inference, PlanesEvaluator]:
    try:
        model = onnx_bytes(network, observation_shape)
    except MoemctsError:
        pairs, model = [pair for pair in pairs if pair.backend == "torch"], None
    evaluators: dict[Inference, PlanesEvaluator] = {}
    for pair in pairs:
        # torch raises RuntimeError for operations that it lacks in bfloat16.
        with contextlib.suppress(MoemctsError, RuntimeError):
            content = quantised if pair.precision == "int8" else model
            evaluators[pair] = build_evaluator(network, observation_shape, pair, model=content, device=device)
    return evaluators
