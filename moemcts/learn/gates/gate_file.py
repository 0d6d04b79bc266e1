"""Learned gates as files: one safetensors file with all that makes the gate again, for the game it was learned for."""

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

from moemcts.errors import DamagedFile, ForeignData
from moemcts.game import Game
from moemcts.learn.fingerprint import encoding_fingerprint
from moemcts.learn.identity import check_encoding
from moemcts.learn.tensors import tensor_bytes
from moemcts.store import digest, read_bytes

FORMAT = 1
Arrays = dict[str, NDArray[Any]]


class GateFile:
    """What a learned gate is made of: arrays, and a header of JSON values."""

    def __init__(self, arrays: Arrays, header: Mapping[str, Any], digest: str) -> None:
        self.arrays = arrays
        self.header = header
        self.digest = digest
        """A name for exactly this gate: 16 hexadecimal digits."""

    @property
    def content(self) -> bytes:
        """The file, byte by byte, with its name and a hash of all that is in it."""
        header = {**self.header, "digest": self.digest}
        return _bytes(self.arrays, {**header, _HASH: _hash(self.arrays, header)})

    @classmethod
    def of(cls, kind: str, arrays: Arrays, game: Game, header: Mapping[str, Any]) -> GateFile:
        """Returns the file of a gate that was learned for a game."""
        header = {
            "format": FORMAT,
            "kind": kind,
            "game": game.spec.name,
            "encoding": encoding_fingerprint(game),
            **header,
        }
        # Copies: what the gate was made of may go on learning.
        arrays = {name: np.array(array) for name, array in arrays.items()}
        return cls(arrays, header, digest(_bytes(arrays, header))[:16])

    @classmethod
    def read(cls, path: Path, game: Game) -> GateFile:
        """Returns the file at `path`.

        Raises ForeignData if it belongs to another game or encoding, DamagedFile if it is no gate's file, not as it
        was written, or has a number that is none.
        """
        content = read_bytes(path)
        try:
            arrays = safetensors.numpy.load(content)
            size = int.from_bytes(content[:8], "little")
            header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["content"])
            found, encoding, reference = header["format"], header["encoding"], header["game"]
            header["kind"]
        except (safetensors.SafetensorError, ValueError, KeyError, TypeError) as error:
            raise DamagedFile(f"{path} is no file of a gate: {error}") from error
        if found != FORMAT:
            raise ForeignData(f"{path} has format {found}; this version reads {FORMAT}")
        arrays = {name: np.asarray(array) for name, array in arrays.items()}
        expected = header.pop(_HASH, None)
        # Files with neither hash nor digest are from before there were any.
        if (expected is not None or "digest" in header) and (got := _hash(arrays, header)) != expected:
            raise DamagedFile(f"{path} is damaged: expected SHA-256 {str(expected)[:12]}, got {got[:12]}")
        check_encoding(path, reference, encoding, game)
        for name, array in arrays.items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise DamagedFile(
                    f"{path} cannot be used: {name} holds numbers that are not finite; fit the gate again"
                )
        # A file without a digest is named by its bytes.
        return cls(arrays, header, header.pop("digest", None) or digest(content)[:16])


_HASH = "sha256"


def _bytes(arrays: Arrays, header: Mapping[str, Any]) -> bytes:
    return tensor_bytes(arrays, {"content": json.dumps(header)})


def _hash(arrays: Arrays, header: Mapping[str, Any]) -> str:
    result = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        result.update(f"{name} {array.dtype.str} {array.shape}".encode())
        result.update(array.tobytes())
    return result.hexdigest()


def numbered(num_phases: int) -> tuple[str, ...]:
    """Returns the names of phases that nobody has named."""
    return tuple(f"phase {i}" for i in range(num_phases))
