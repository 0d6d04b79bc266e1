"""Which backend is the quickest for a network on this machine: measured once, then remembered."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from moemcts.errors import MoemctsError
from moemcts.game import FloatArray
from moemcts.learn.inference.backends import BACKENDS, Backend, PlanesEvaluator, installed_version, run_model
from moemcts.learn.inference.export import check_error, largest_error, onnx_bytes, torch_evaluation
from moemcts.learn.inference.torch_evaluator import TorchEvaluator
from moemcts.store import read_toml, write_toml

BUDGET = 1.0
"""Seconds that a measurement takes, at least one batch by every candidate."""
BATCH_SIZE = 16
"""Views in the batches that candidates are measured with, where the caller does not know better."""
FORMAT = 1


@dataclass(frozen=True)
class Choice:
    """The quickest backend and what it was compared with."""

    backend: Backend
    rates: Mapping[str, float]
    """Positions per second by backend, float32, one thread; torch alone where nothing was measured."""


def choose_backend(
    network: nn.Module, observation_shape: tuple[int, ...], *, batch_size: int = BATCH_SIZE, device: str = "cpu"
) -> Choice:
    """Returns the quickest installed float32 backend for networks of this architecture.

    The first time it is measured, with what it cannot run left out; after that the same answer comes from a file in
    `cache_folder`, so that everything on this machine that asks for `auto` gets the same numbers. On a GPU it is
    torch.
    """
    candidates = [backend for backend in BACKENDS if backend == "torch" or installed_version(backend)]
    if torch.device(device).type != "cpu" or len(candidates) == 1:
        return Choice("torch", {})
    asked = _question(network, observation_shape, batch_size, candidates)
    path = cache_folder() / "backends" / f"{_digest(asked)}.toml"
    if (known := _remembered(path, asked)) is not None:
        return known
    choice = measure(network, observation_shape, candidates, batch_size=batch_size)
    # Of processes that measure at the same time the first to finish decides for all.
    if (known := _remembered(path, asked)) is not None:
        return known
    # Where nothing can be written the next process measures again.
    with contextlib.suppress(MoemctsError):
        write_toml(path, {"format": FORMAT, "backend": choice.backend, "rates": dict(choice.rates), "for": asked})
    return choice


def measure(
    network: nn.Module,
    observation_shape: tuple[int, ...],
    candidates: list[Backend],
    *,
    batch_size: int = BATCH_SIZE,
    budget: float = BUDGET,
) -> Choice:
    """Returns how fast each candidate evaluates random planes, taking turns for `budget` seconds.

    A rate is that of the quickest batch, as whatever else the machine does only makes batches slower. A backend that
    cannot run the network, or computes something else than torch, has no rate.
    """
    planes = random_planes(observation_shape, batch_size)
    evaluators = _evaluators(network, observation_shape, candidates, planes)
    seconds = dict.fromkeys(evaluators, float("inf"))
    started = time.perf_counter()
    while True:
        for backend, evaluator in evaluators.items():
            before = time.perf_counter()
            evaluator.evaluate_planes(planes)
            seconds[backend] = min(seconds[backend], time.perf_counter() - before)
        if time.perf_counter() - started > budget:
            break
    rates = {str(backend): round(batch_size / each, 1) for backend, each in seconds.items()}
    return Choice(min(seconds, key=lambda backend: seconds[backend]), rates)


def random_planes(observation_shape: tuple[int, ...], num: int, seed: int = 0) -> FloatArray:
    """Returns planes `[num, *observation_shape]` of which about one cell in seven is 1, as sparse as boards are."""
    drawn = np.random.default_rng(seed).random((num, *observation_shape))
    return (drawn < 1 / 7).astype(np.float32)


def cache_folder() -> Path:
    """Returns where things are remembered that can be found out again: `$XDG_CACHE_HOME/moemcts` or the like."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "moemcts"


def _evaluators(
    network: nn.Module, observation_shape: tuple[int, ...], candidates: list[Backend], planes: FloatArray
) -> dict[Backend, PlanesEvaluator]:
    found: dict[Backend, PlanesEvaluator] = {"torch": TorchEvaluator(network)}
    expected = torch_evaluation(network, planes)
    try:
        model = onnx_bytes(network, observation_shape)
    except MoemctsError:
        return found
    for backend in candidates:
        if backend == "torch":
            continue
        try:
            evaluator = run_model(model, backend)
            check_error(largest_error(expected, evaluator.evaluate_planes(planes)), backend)
        except MoemctsError:
            continue
        found[backend] = evaluator
    return found


def _question(
    network: nn.Module, observation_shape: tuple[int, ...], batch_size: int, candidates: list[Backend]
) -> dict[str, Any]:
    """Returns all that the answer depends on; the weights are not among it."""
    shapes = {name: list(tensor.shape) for name, tensor in network.state_dict().items()}
    return {
        "network": _digest([repr(network), shapes, list(observation_shape)]),
        "batch_size": batch_size,
        "processor": _processor(),
        "versions": {backend: installed_version(backend) for backend in candidates},
    }


def _remembered(path: Path, asked: Mapping[str, Any]) -> Choice | None:
    try:
        found = read_toml(path)
    except MoemctsError:
        return None
    if found.get("format") != FORMAT or found.get("for") != asked or found.get("backend") not in asked["versions"]:
        return None
    return Choice(found["backend"], found.get("rates", {}))


def _processor() -> str:
    """Returns the processor's name, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()} {platform.machine()}"


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
