"""Learned gates as files: one safetensors file with everything that restores the gate, for the game it is of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moemcts.errors import DamagedFile, ForeignData, UsageError
from moemcts.game import Game
from moemcts.learn.container import SHA256, container_bytes, content_hash, read_container
from moemcts.learn.fingerprint import encoding_fingerprint
from moemcts.learn.identity import Encoding, FileContent, check_encoding, validate_content
from moemcts.store import digest, read_bytes

FORMAT = 1
Arrays = dict[str, NDArray[Any]]


class GateFile:
    """The content of a learned gate: arrays, and a header of JSON values."""

    def __init__(self, arrays: Arrays, header: Mapping[str, Any], digest: str) -> None:
        self.arrays = arrays
        self.header = header
        self.digest = digest
        """An id of exactly this gate: 16 hexadecimal digits."""

    @property
    def content(self) -> bytes:
        """The bytes of the file, with the gate's id and a hash of the content."""
        header = {**self.header, "digest": self.digest}
        return _bytes(self.arrays, {**header, SHA256: content_hash(self.arrays, header)})

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
        # Copied, as their source may be trained further.
        arrays = {name: np.array(array) for name, array in arrays.items()}
        return cls(arrays, header, digest(_bytes(arrays, header))[:16])

    @classmethod
    def read(cls, path: Path, game: Game) -> GateFile:
        """Returns the file at `path`.

        Raises UsageError if there is none, ForeignData if it has another format or belongs to another game or encoding,
        DamagedFile if it is not a gate's file, not as it was written, or has a number that is not finite. Entries that
        only some kinds of gates have are not checked.
        """
        if not path.is_file():
            raise UsageError(f"expected a gate's file at {path}, found none")
        arrays, header = read_container(path)
        fields = validate_content(_Content, header, not_a_gate(path))
        if fields.format != FORMAT:
            raise ForeignData(f"{path} has format {fields.format}; this version reads {FORMAT}")
        expected = header.pop(SHA256, None)
        # Files with neither hash nor digest are older than these entries.
        if (expected is not None or "digest" in header) and (got := content_hash(arrays, header)) != expected:
            raise DamagedFile(f"{path} is damaged: expected SHA-256 {str(expected)[:12]}, got {got[:12]}")
        check_encoding(path, fields.game, fields.encoding.model_dump(), game)
        for name, array in arrays.items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise DamagedFile(
                    f"{path} cannot be used: {name} holds numbers that are not finite; fit the gate again"
                )
        header.pop("digest", None)
        # The id of a file without a digest is the hash of its bytes.
        return cls(arrays, header, fields.digest or digest(read_bytes(path))[:16])


def not_a_gate(path: Path) -> str:
    """Returns the beginning of error messages about files that are not a gate's."""
    return f"{path} is not a gate file"


class _Content(FileContent):
    """Header entries of every gate file."""

    format: int
    kind: str
    game: str
    encoding: Encoding
    digest: str = ""


def _bytes(arrays: Arrays, header: Mapping[str, Any]) -> bytes:
    return container_bytes(arrays, header)


def numbered(num_phases: int) -> tuple[str, ...]:
    """Returns the default names of phases."""
    return tuple(f"phase {i}" for i in range(num_phases))
