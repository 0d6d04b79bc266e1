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
class Networks:
    """What a choice is for: networks of one architecture, and what is known of them."""

    networks: Sequence[nn.Module]
    observation_shape: tuple[int, ...]
    positions: Callable[[], Sample] | None = None
    """Positions of their game, whose phases are indices of the networks; random boards if None."""
    quantised: Sequence[bytes] | None = None
    """Their int8 models, if there are any."""
    device: str = "cpu"


def choose(
    subject: Networks,
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
        for pair in candidates(subject.device, has_int8=subject.quantised is not None)
        if backend in (None, pair.backend) and precision in (None, pair.precision)
    ]
    if len(possible) == 1:
        return Choice(possible[0], {}, {})
    rates = _rates(subject)
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
        found = fidelities[str(pair)] = _fidelity(subject, pair)
        if found.keeps_policy:
            return Choice(pair, rates, fidelities)
    return Choice(exact or Inference(), rates, fidelities)


def rate_at(rates: Mapping[int, float], batch_size: int) -> float:
    """Returns the rate at the measured size that is nearest to a batch size by ratio; 0 if there is none."""
    if not rates:
        return 0.0
    return rates[min(rates, key=lambda size: (abs(np.log(size / max(batch_size, 1))), size))]


def cached_measurements() -> list[dict[str, Any]]:
    """Returns the cached measurements of this machine as it is now: `network` as a description, and its `rates`."""
    found = []
    for path in sorted((cache_folder() / "inference").glob("*.json")):
        with contextlib.suppress(MoemctsError):
            content = read_json(path)
            asked = content.get("for", {}) if isinstance(content, dict) else {}
            if content.get("format") == FORMAT and asked.get("machine") == _machine():
                found.append({"network": asked["name"], "rates": _numbered(content["rates"])})
    return found


def _rates(subject: Networks) -> Rates:
    network = subject.networks[0]
    shapes = {name: list(tensor.shape) for name, tensor in network.state_dict().items()}
    pairs = [str(pair) for pair in candidates(subject.device, has_int8=subject.quantised is not None)]
    asked = {
        "name": _in_words(network, subject.observation_shape),
        "network": _digest([repr(network), shapes, list(subject.observation_shape)]),
        "pairs": pairs,
        "sizes": list(SIZES),
        "device": _device_in_words(subject.device),
        "machine": _machine(),
    }

    def rates() -> Rates:
        model = subject.quantised[0] if subject.quantised else None
        return measure(network, subject.observation_shape, quantised=model, device=subject.device)

    def answer() -> dict[str, Any]:
        found = rates()
        if _are_disturbed(found):
            found = _quickest(found, rates())
        return {"rates": {pair: {str(size): rate for size, rate in row.items()} for pair, row in found.items()}}

    known = _known("inference", asked, answer, is_kept=lambda found: not _are_disturbed(_numbered(found["rates"])))
    return _numbered(known["rates"])


def _are_disturbed(rates: Rates) -> bool:
    """Returns whether the rates can only be those of a machine that was busy with something else."""
    for row in rates.values():
        in_order = [row[size] for size in sorted(row)]
        if any(smaller > DISTURBED * larger for smaller, larger in itertools.combinations(in_order, 2)):
            return True
    return False


def _quickest(first: Rates, second: Rates) -> Rates:
    """Returns the better of two measurements, entry by entry, as other load only makes them worse."""
    return {
        pair: {size: max(rate, second.get(pair, {}).get(size, 0.0)) for size, rate in row.items()}
        for pair, row in first.items()
    }


def _fidelity(subject: Networks, pair: Inference) -> Fidelity:
    models = subject.quantised if pair.precision == "int8" else None
    sample = subject.positions() if subject.positions else _random_boards(subject)
    asked = {
        "weights": [state_digest(network_state(network)) for network in subject.networks],
        "models": [hashlib.sha256(model).hexdigest()[:16] for model in models or ()],
        "pair": str(pair),
        "positions": sample.id,
        "device": subject.device,
        "machine": _machine(),
    }

    def answer() -> dict[str, Any]:
        given: Sequence[bytes | None] = models or [None] * len(subject.networks)
        evaluators = [
            build_evaluator(network, subject.observation_shape, pair, model=model, device=subject.device)
            for network, model in zip(subject.networks, given, strict=True)
        ]
        return {"fidelity": asdict(team_fidelity(subject.networks, evaluators, sample.draw()))}

    return Fidelity(**_known("fidelity", asked, answer)["fidelity"])


def _random_boards(subject: Networks) -> Sample:
    def positions() -> Positions:
        planes = random_planes(subject.observation_shape, NUM_RANDOM)
        num_actions = torch_evaluation(subject.networks[0], planes[:1]).logits.shape[1]
        return Positions(planes, np.ones((NUM_RANDOM, num_actions), np.bool_), np.zeros(NUM_RANDOM, np.int64))

    return Sample(f"{NUM_RANDOM} random boards", positions)


def _known(
    kind: str,
    asked: Mapping[str, Any],
    answer: Callable[[], dict[str, Any]],
    is_kept: Callable[[Mapping[str, Any]], bool] = lambda found: True,
) -> dict[str, Any]:
    """Returns the cached answer, or else computes it, and caches it if `keeps_policy` holds for it."""
    path = cache_folder() / kind / f"{_digest(asked)}.json"
    if (known := _read(path, asked)) is not None and is_kept(known):
        return known
    found = answer()
    # Of processes that measure at the same time, the first to finish decides for all.
    if (known := _read(path, asked)) is not None and is_kept(known):
        return known
    if not is_kept(found):
        return found
    # If nothing can be written, the next process measures again.
    with contextlib.suppress(MoemctsError):
        write_json(path, {"format": FORMAT, "for": asked, **found})
    return found


def _read(path: Path, asked: Mapping[str, Any]) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        found = read_json(path)
    except MoemctsError:
        return None
    is_ours = isinstance(found, dict) and found.get("format") == FORMAT and found.get("for") == dict(asked)
    return found if is_ours else None


def _numbered(rates: Mapping[str, Mapping[str, float]]) -> dict[str, dict[int, float]]:
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
    able = [one for one in _INSTRUCTIONS if one in here.instructions]
    return " ".join([here.name, platform.machine(), *able])


_INSTRUCTIONS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_bf16", "amx_int8")


def _device_in_words(device: str) -> str:
    return torch.cuda.get_device_name(device) if torch.device(device).type == "cuda" else device


def _in_words(network: nn.Module, observation_shape: tuple[int, ...]) -> str:
    size = sum(parameter.numel() for parameter in network.parameters())
    return f"{type(network).__name__} of {size:,} weights on {' x '.join(map(str, observation_shape))}"


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
