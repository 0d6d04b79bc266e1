"""Network weights as safetensors files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from moemcts.errors import DamagedFile, ForeignData
from moemcts.learn.container import content_of, packed
from moemcts.store import digest, read_bytes, write_bytes

Weights = dict[str, Tensor]


def network_state(network: nn.Module) -> Weights:
    """Returns a copy of all weights and running statistics, on the CPU."""
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in network.state_dict().items()}


def load_state(network: nn.Module, state: Mapping[str, Tensor], where: str) -> None:
    """Loads weights into a network; raises as `check_state`."""
    check_state(network, state, where)
    network.load_state_dict(dict(state))


def check_state(network: nn.Module, state: Mapping[str, Tensor], where: str) -> None:
    """Raises ForeignData naming the first tensor that does not fit a network, by its shape or kind of number.

    The precision of floating-point numbers is not compared.
    """
    own = network.state_dict()
    for name in [*own, *state]:
        expected, found = _in_words(own.get(name)), _in_words(state.get(name))
        if expected != found:
            raise ForeignData(f"{where} belongs to another network: expected {name} {expected}, got {found}")


def meta_network(blank: Callable[[], nn.Module]) -> nn.Module | None:
    """Returns a network on the meta device, without memory for weights; None if it cannot be created there."""
    try:
        with torch.device("meta"):
            return blank()
    except Exception:
        return None


def state_digest(state: Mapping[str, Tensor]) -> str:
    """Returns a hash of exactly these weights: 16 hexadecimal digits."""
    return digest(state_bytes(state))[:16]


def state_bytes(state: Mapping[str, Tensor], content: Mapping[str, Any] | None = None) -> bytes:
    """Returns a safetensors file of the weights, with the JSON values `content` in its header."""
    contiguous = {name: tensor.detach().contiguous() for name, tensor in state.items()}
    return safetensors.torch.save(contiguous, packed(content or {}))


def write_state(path: Path, state: Mapping[str, Tensor], content: Mapping[str, Any]) -> None:
    """Writes a file for `read_state`, with the SHA-256 of its content."""
    write_bytes(path, state_bytes(state, {**content, _HASH: _hash(state, content)}))


def read_state(path: Path) -> tuple[Weights, dict[str, Any]]:
    """Returns tensors and content of a file; raises DamagedFile if it is not what `write_state` or `state_bytes` wrote.

    If the file has a hash, its content must match it.
    """
    return state_of(read_bytes(path), path)


def state_of(data: bytes, path: Path) -> tuple[Weights, dict[str, Any]]:
    """Returns tensors and content of a file given as bytes; raises as `read_state`."""
    try:
        state = safetensors.torch.load(data)
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise DamagedFile(f"{path} is damaged: {error}") from error
    content = content_of(data, path)
    expected = content.pop(_HASH, None)
    if expected is not None and (found := _hash(state, content)) != expected:
        raise DamagedFile(f"{path} is damaged: expected SHA-256 {str(expected)[:12]}, got {found[:12]}")
    return state, content


def check_finite(state: Mapping[str, Tensor], path: Path) -> None:
    """Raises DamagedFile naming the first tensor of a file that has a number that is not finite."""
    for name, tensor in state.items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise DamagedFile(f"{path} cannot be used: {name} holds numbers that are not finite; train it again")


_HASH = "sha256"


def _hash(state: Mapping[str, Tensor], content: Mapping[str, Any]) -> str:
    result = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for name, tensor in sorted(state.items()):
        result.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        # Hashed as bytes, since NumPy lacks some of torch's dtypes.
        result.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return result.hexdigest()


def _in_words(tensor: Tensor | None) -> str:
    if tensor is None:
        return "absent"
    shape = "x".join(map(str, tensor.shape)) or "scalar"
    if tensor.is_complex():
        return f"{shape} of complex numbers"
    return shape if tensor.is_floating_point() else f"{shape} of whole numbers"
