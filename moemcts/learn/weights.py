"""Weights of networks as safetensors files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor, nn

from moemcts.errors import DamagedFile, ForeignData
from moemcts.learn.files import digest, read_bytes
from moemcts.store import write_bytes

State = dict[str, Tensor]


def network_state(network: nn.Module) -> State:
    """Returns a copy of all weights and running statistics, on the CPU."""
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in network.state_dict().items()}


def load_state(network: nn.Module, state: Mapping[str, Tensor], where: str) -> None:
    """Fills a network; raises ForeignData naming the first tensor that does not fit."""
    own = network.state_dict()
    for name in [*own, *state]:
        expected, found = _shape(own.get(name)), _shape(state.get(name))
        if expected != found:
            raise ForeignData(f"{where} is of another network: expected {name} {expected}, got {found}")
    network.load_state_dict(dict(state))


def state_digest(state: Mapping[str, Tensor]) -> str:
    """Returns a name for exactly these weights: 16 hexadecimal digits."""
    return digest(state_bytes(state))[:16]


def state_bytes(state: Mapping[str, Tensor], content: Mapping[str, Any] | None = None) -> bytes:
    """Returns a safetensors file with `content`, JSON values, in its header."""
    contiguous = {name: tensor.detach().contiguous() for name, tensor in state.items()}
    return safetensors.torch.save(contiguous, {"content": json.dumps(content or {})})


def write_state(path: Path, state: Mapping[str, Tensor], content: Mapping[str, Any]) -> None:
    """Writes a file that `read_state` reads."""
    write_bytes(path, state_bytes(state, content))


def read_state(path: Path) -> tuple[State, dict[str, Any]]:
    """Returns tensors and content of a file; raises DamagedFile if it is not what `write_state` wrote."""
    data = read_bytes(path)
    try:
        state = safetensors.torch.load(data)
        size = int.from_bytes(data[:8], "little")
        content = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["content"])
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise DamagedFile(f"{path} is damaged: {error}") from error
    return state, content


def _shape(tensor: Tensor | None) -> str:
    return "absent" if tensor is None else "x".join(map(str, tensor.shape)) or "scalar"
