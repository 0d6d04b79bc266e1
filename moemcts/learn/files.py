"""Files of data and weights: manifests, hashes, memory-mapped tensors."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from moemcts.errors import DamagedFile

Arrays = Mapping[str, NDArray[Any]]

_DTYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
    "F32": "<f4",
    "F64": "<f8",
}


def read_toml(path: Path) -> dict[str, Any]:
    """Returns a manifest; raises DamagedFile if it is missing or no TOML."""
    try:
        return tomllib.loads(read_bytes(path).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DamagedFile(f"{path} is no TOML file: {error}") from error


def read_bytes(path: Path) -> bytes:
    """Returns the content of a file; raises DamagedFile if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedFile(f"cannot read {path}: {error.strerror or error}") from error


def digest(data: bytes | NDArray[np.uint8]) -> str:
    """Returns the SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(data if isinstance(data, bytes) else data.data).hexdigest()


def tensor_bytes(arrays: Arrays, metadata: Mapping[str, str] | None = None) -> bytes:
    """Returns arrays in the safetensors format."""
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    return safetensors.numpy.save(contiguous, dict(metadata) if metadata else None)


def map_tensors(path: Path, sha256: str) -> dict[str, NDArray[Any]]:
    """Returns the arrays of a safetensors file, read from disk when they are looked at.

    Raises DamagedFile unless the content has the given SHA-256.
    """
    try:
        content = np.memmap(path, dtype=np.uint8, mode="r")
    except (OSError, ValueError) as error:
        raise DamagedFile(f"cannot read {path}: {error}") from error
    if digest(content) != sha256:
        raise DamagedFile(f"{path} is damaged: its {len(content)} bytes are not those that were written")
    start = 8 + int.from_bytes(content[:8].tobytes(), "little")
    header = json.loads(content[8:start].tobytes())
    arrays = {}
    for name, entry in header.items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            flat = content[start + first : start + last].view(_DTYPES[entry["dtype"]])
            arrays[name] = flat.reshape(entry["shape"])
    return arrays
