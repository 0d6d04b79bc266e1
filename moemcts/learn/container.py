"""Self-describing files of arrays: safetensors with JSON values in the header."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from moemcts.errors import DamagedFile
from moemcts.store import parse_json, read_bytes

SHA256 = "sha256"
"""The header entry with the hash of the rest of the file, if it has one."""
_START = 8
"""Bytes that hold the length of the header."""


def container_bytes(arrays: Mapping[str, NDArray[Any]], content: Mapping[str, Any]) -> bytes:
    """Returns arrays in the safetensors format, with the JSON values `content` in the header."""
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    return safetensors.numpy.save(contiguous, packed(content))


def packed(content: Mapping[str, Any]) -> dict[str, str]:
    """Returns JSON values as safetensors metadata."""
    return {_CONTENT: json.dumps(content)}


def content_hash(arrays: Mapping[str, NDArray[Any]], content: Mapping[str, Any]) -> str:
    """Returns the SHA-256 of arrays and JSON values, independent of their layout in a file."""
    result = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        result.update(f"{name} {array.dtype.str} {array.shape}".encode())
        result.update(array.tobytes())
    return result.hexdigest()


def read_container(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Returns what `container_bytes` wrote; raises DamagedFile for any other file."""
    data = read_bytes(path)
    try:
        arrays = safetensors.numpy.load(data)
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:
        # A dtype that NumPy lacks raises KeyError.
        raise DamagedFile(f"{path} is damaged: {_in_words(error)}") from error
    return {name: np.asarray(array) for name, array in arrays.items()}, content_of(data, path)


def content_of(data: bytes | NDArray[np.uint8], path: Path) -> dict[str, Any]:
    """Returns the JSON values in the header of a file; raises DamagedFile if there are none."""
    metadata = header_of(data, path).get("__metadata__")
    try:
        text = metadata[_CONTENT] if isinstance(metadata, dict) else ""
        content = parse_json(text)
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFile(f"{path} is damaged: expected JSON in its header: {_in_words(error)}") from error
    if not isinstance(content, dict):
        raise DamagedFile(f"{path} is damaged: expected a dictionary in its header, got {content!r:.40}")
    return content


def header_of(data: bytes | NDArray[np.uint8], path: Path) -> dict[str, Any]:
    """Returns the header of a safetensors file given as bytes; raises DamagedFile if it is not one."""
    try:
        header = parse_json(bytes(data[_START : start_of(data)]))
    except ValueError as error:
        raise DamagedFile(f"{path} is not a safetensors file: {_in_words(error)}") from error
    if not isinstance(header, dict):
        raise DamagedFile(f"{path} is not a safetensors file: expected a dictionary as its header, got {header!r:.40}")
    return header


def start_of(data: bytes | NDArray[np.uint8]) -> int:
    """Returns the offset of the arrays in a safetensors file."""
    return min(_START + int.from_bytes(bytes(data[:_START]), "little"), len(data))


_CONTENT = "content"


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__} {error}"
