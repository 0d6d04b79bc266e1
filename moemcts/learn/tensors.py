"""Memory-mapped arrays in safetensors files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from moemcts.errors import DamagedFile
from moemcts.learn.container import SHA256, container_bytes, content_hash, content_of, header_of, start_of
from moemcts.store import digest

Arrays = Mapping[str, NDArray[Any]]

_DTYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
    "F32": "<f4",
    "F64": "<f8",
}


def tensor_bytes(arrays: Arrays) -> bytes:
    """Returns arrays in the safetensors format."""
    return safetensors.numpy.save({name: np.asarray(array, order="C") for name, array in arrays.items()})


def map_tensors(path: Path, sha256: str | None) -> dict[str, NDArray[Any]]:
    """Returns the arrays of a safetensors file, memory-mapped.

    Raises DamagedFile unless the content has the given SHA-256; None skips the check, for files checked before.
    """
    content = _mapped(path)
    if sha256 is not None and digest(content.data) != sha256:
        raise _damaged(path, content)
    return _arrays(content, path)


def sealed_bytes(arrays: Arrays) -> bytes:
    """Returns arrays in the safetensors format, with their SHA-256 in the header, for files not listed elsewhere."""
    return container_bytes(arrays, {SHA256: content_hash(arrays, {})})


def map_sealed(path: Path) -> dict[str, NDArray[Any]]:
    """Returns what `sealed_bytes` wrote, memory-mapped; raises DamagedFile for a damaged file."""
    content = _mapped(path)
    arrays = _arrays(content, path)
    if content_of(content, path) != {SHA256: content_hash(arrays, {})}:
        raise _damaged(path, content)
    return arrays


def _mapped(path: Path) -> NDArray[np.uint8]:
    try:
        return np.memmap(path, dtype=np.uint8, mode="r")
    except (OSError, ValueError) as error:
        raise DamagedFile(f"cannot read {path}: {error}") from error


def _damaged(path: Path, content: NDArray[np.uint8]) -> DamagedFile:
    return DamagedFile(f"{path} is damaged: its {len(content)} bytes are not those that were written")


def _arrays(content: NDArray[np.uint8], path: Path) -> dict[str, NDArray[Any]]:
    start, header = start_of(content), header_of(content, path)
    arrays = {}
    try:
        for name, entry in header.items():
            if name != "__metadata__":
                first, last = entry["data_offsets"]
                flat = content[start + first : start + last].view(_DTYPES[entry["dtype"]])
                arrays[name] = flat.reshape(entry["shape"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFile(f"{path} is not a safetensors file: {type(error).__name__} {error}") from error
    return arrays
