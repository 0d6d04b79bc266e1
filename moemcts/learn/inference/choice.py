"""Chooses the backend and precision that run a network on this machine: measured once, then cached."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from moemcts.errors import MoemctsError
from moemcts.learn.inference.backends import BACKENDS, Backend, Inference, Precision, installed_version
from moemcts.learn.inference.export import torch_evaluation
from moemcts.learn.inference.factory import build_evaluator
from moemcts.learn.inference.fidelity import Fidelity, team_fidelity
from moemcts.learn.inference.measurement import SIZES, Rates, candidates, measure
from moemcts.learn.inference.positions import Positions, Sample
from moemcts.learn.planes import random_planes
from moemcts.learn.weights import network_state, state_digest
from moemcts.store import cache_folder, read_json, write_json
from moemcts.work.processor import processor

BATCH_SIZE = 16
"""Batch size that a choice is for, if the caller does not know better."""
DISTURBED = 2.0
"""How many times as fast as a larger batch a smaller one has to be to show that the machine was busy meanwhile."""
WORTH = 1.2
"""How many times as fast as the fastest float32 a lower precision has to be to be chosen automatically."""
NUM_RANDOM = 64
"""Random boards that fidelity is measured on if no positions are given."""
FORMAT = 2


@dataclass(frozen=True)
class Choice:
    """The best way to run networks, and what it was compared with."""

    inference: Inference
    rates: Rates
    """Positions per second by `str(Inference)` and batch size, one thread; empty if nothing was measured."""
    fidelities: Mapping[str, Fidelity]
    """By `str(Inference)`, of the lower precisions that are fast enough, as far as they were tested."""


@dataclass(frozen=True, kw_only=True)
class NetworkGroup:
    """Networks of one architecture that are run in the same way, and what is known of them."""

    networks: Sequence[nn.Module]
    observation_shape: tuple[int, ...]
    positions: Callable[[], Sample] | None = None
    """Positions of their game, whose phases are indices of the networks; random boards if None."""
    quantised: Sequence[bytes] | None = None
    """Their int8 models, if there are any."""
    device: str = "cpu"


def choose(
    group: NetworkGroup,
    *,
    backend: Backend | None = None,
    precision: Precision | None = None,
    batch_size: int = BATCH_SIZE,
) -> Choice:
    """Returns the fastest way to run networks; None stands for any backend, any precision that keeps the policy.

    Any precision means float32, unless a lower one is `WORTH` times as fast and keeps the policy, see `Fidelity`; int8
    is considered if there are models for it. Rates are measured when a network of this architecture is first requested,
    fidelity when these weights and positions are; both are then cached in `cache_folder`, so that all processes on this
    machine get the same answer. Rates that show that the machine was busy meanwhile, see `DISTURBED`, are measured once
    more; if the new ones show it too, they are used but not cached. Raises MoemctsError if nothing runs the network.
    """
    possible = [
        pair
        for pair in candidates(group.device, has_int8=group.quantised is not None)
        if backend in (None, pair.backend) and precision in (None, pair.precision)
    ]
    if len(possible) == 1:
        return Choice(possible[0], {}, {})
    rates = _rates(group)
    ranked = sorted(possible, key=lambda pair: -rate_at(rates.get(str(pair), {}), batch_size))
    ranked = [pair for pair in ranked if str(pair) in rates]
    if not ranked:
        raise MoemctsError(
            f"this network cannot be run here with {backend or 'any backend'} in {precision or 'any precision'}; "
            "use backend=torch and precision=float32"
        )
    if precision is not None:
        return Choice(ranked[0], rates, {})
    exact = next((pair for pair in ranked if pair.precision == "float32"), None)
    slowest = 0.0 if exact is None else WORTH * rate_at(rates[str(exact)], batch_size)
    fidelities: dict[str, Fidelity] = {}
    for pair in ranked:
        if pair.precision == "float32" or rate_at(rates[str(pair)], batch_size) < slowest:
            break
        fidelity = fidelities[str(pair)] = _fidelity(group, pair)
        if fidelity.keeps_policy:
            return Choice(pair, rates, fidelities)
    return Choice(exact or Inference(), rates, fidelities)


def rate_at(rates: Mapping[int, float], batch_size: int) -> float:
    """Returns the rate at the measured size that is nearest to a batch size by ratio; 0 if there is none."""
    if not rates:
        return 0.0
    return rates[min(rates, key=lambda size: (abs(np.log(size / max(batch_size, 1))), size))]


def cached_measurements() -> list[dict[str, Any]]:
    """Returns the cached measurements of this machine as it is now: `network` as a description, and its `rates`."""
    measurements = []
    for path in sorted((cache_folder() / "inference").glob("*.json")):
        with contextlib.suppress(MoemctsError):
            content = read_json(path)
            key = content.get("for", {}) if isinstance(content, dict) else {}
            if content.get("format") == FORMAT and key.get("machine") == _machine():
                measurements.append({"network": key["name"], "rates": _with_integer_sizes(content["rates"])})
    return measurements


def _rates(group: NetworkGroup) -> Rates:
    network = group.networks[0]
    shapes = {name: list(tensor.shape) for name, tensor in network.state_dict().items()}
    pairs = [str(pair) for pair in candidates(group.device, has_int8=group.quantised is not None)]
    key = {
        "name": _describe_network(network, group.observation_shape),
        "network": _digest([repr(network), shapes, list(group.observation_shape)]),
        "pairs": pairs,
        "sizes": list(SIZES),
        "device": _describe_device(group.device),
        "machine": _machine(),
    }

    def rates() -> Rates:
        model = group.quantised[0] if group.quantised else None
        return measure(network, group.observation_shape, quantised=model, device=group.device)

    def compute() -> dict[str, Any]:
        found = rates()
        if _are_disturbed(found):
            found = _best_rates(found, rates())
        return {"rates": {pair: {str(size): rate for size, rate in row.items()} for pair, row in found.items()}}

    known = _cached(
        "inference", key, compute, is_cacheable=lambda found: not _are_disturbed(_with_integer_sizes(found["rates"]))
    )
    return _with_integer_sizes(known["rates"])


def _are_disturbed(rates: Rates) -> bool:
    """Returns whether the rates can only be those of a machine that was busy with something else."""
    for row in rates.values():
        in_order = [row[size] for size in sorted(row)]
        if any(smaller > DISTURBED * larger for smaller, larger in itertools.combinations(in_order, 2)):
            return True
    return False


def _best_rates(first: Rates, second: Rates) -> Rates:
    """Returns the better of two measurements, entry by entry, as other load only makes them worse."""
    return {
        pair: {size: max(rate, second.get(pair, {}).get(size, 0.0)) for size, rate in row.items()}
        for pair, row in first.items()
    }


def _fidelity(group: NetworkGroup, pair: Inference) -> Fidelity:
    models = group.quantised if pair.precision == "int8" else None
    sample = group.positions() if group.positions else _random_boards(group)
    key = {
        "weights": [state_digest(network_state(network)) for network in group.networks],
        "models": [hashlib.sha256(model).hexdigest()[:16] for model in models or ()],
        "pair": str(pair),
        "positions": sample.id,
        "device": group.device,
        "machine": _machine(),
    }

    def compute() -> dict[str, Any]:
        given: Sequence[bytes | None] = models or [None] * len(group.networks)
        evaluators = [
            build_evaluator(network, group.observation_shape, pair, model=model, device=group.device)
            for network, model in zip(group.networks, given, strict=True)
        ]
        return {"fidelity": asdict(team_fidelity(group.networks, evaluators, sample.draw()))}

    return Fidelity(**_cached("fidelity", key, compute)["fidelity"])


def _random_boards(group: NetworkGroup) -> Sample:
    def positions() -> Positions:
        planes = random_planes(group.observation_shape, NUM_RANDOM)
        num_actions = torch_evaluation(group.networks[0], planes[:1]).logits.shape[1]
        return Positions(planes, np.ones((NUM_RANDOM, num_actions), np.bool_), np.zeros(NUM_RANDOM, np.int64))

    return Sample(f"{NUM_RANDOM} random boards", positions)


def _cached(
    kind: str,
    key: Mapping[str, Any],
    compute: Callable[[], dict[str, Any]],
    is_cacheable: Callable[[Mapping[str, Any]], bool] = lambda found: True,
) -> dict[str, Any]:
    """Returns the cached answer, or else computes it, and caches it if `is_cacheable` holds for it."""
    path = cache_folder() / kind / f"{_digest(key)}.json"
    if (known := _read(path, key)) is not None and is_cacheable(known):
        return known
    found = compute()
    # Of processes that measure at the same time, the first to finish decides for all.
    if (known := _read(path, key)) is not None and is_cacheable(known):
        return known
    if not is_cacheable(found):
        return found
    # If nothing can be written, the next process measures again.
    with contextlib.suppress(MoemctsError):
        write_json(path, {"format": FORMAT, "for": key, **found})
    return found


def _read(path: Path, key: Mapping[str, Any]) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        found = read_json(path)
    except MoemctsError:
        return None
    is_ours = isinstance(found, dict) and found.get("format") == FORMAT and found.get("for") == dict(key)
    return found if is_ours else None


def _with_integer_sizes(rates: Mapping[str, Mapping[str, float]]) -> dict[str, dict[int, float]]:
    """Returns rates with batch sizes as numbers, which JSON stores as strings."""
    return {pair: {int(size): rate for size, rate in row.items()} for pair, row in rates.items()}


def _machine() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "versions": {backend: installed_version(backend) for backend in BACKENDS if installed_version(backend)},
    }


def _processor() -> str:
    """Returns the processor's name and its instructions for bfloat16 and bytes, as far as the system reports them."""
    here = processor()
    # One name may stand for several machines: a virtual one is named after its vendor alone.
    instructions = [name for name in _INSTRUCTIONS if name in here.instructions]
    return " ".join([here.name, platform.machine(), *instructions])


_INSTRUCTIONS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_bf16", "amx_int8")


def _describe_device(device: str) -> str:
    return torch.cuda.get_device_name(device) if torch.device(device).type == "cuda" else device


def _describe_network(network: nn.Module, observation_shape: tuple[int, ...]) -> str:
    size = sum(parameter.numel() for parameter in network.parameters())
    return f"{type(network).__name__} of {size:,} weights on {' x '.join(map(str, observation_shape))}"


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
