"""Learned gates as files: one safetensors file with all that makes the gate again, for the game it was learned for."""

from __future__ import annotations

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
from moemcts.learn.data.shards import check_encoding
from moemcts.learn.files import digest, read_bytes, tensor_bytes
from moemcts.learn.fingerprint import encoding_fingerprint

FORMAT = 1
Arrays = dict[str, NDArray[Any]]


class GateFile:
    """What a learned gate is made of: arrays, and a header of JSON values."""

    def __init__(self, content: bytes, arrays: Arrays, header: Mapping[str, Any]) -> None:
        self.content = content
        """The file, byte by byte."""
        self.arrays = arrays
        self.header = header

    @property
    def digest(self) -> str:
        """A name for exactly this gate: 16 hexadecimal digits."""
        return digest(self.content)[:16]

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
        return cls(tensor_bytes(arrays, {"content": json.dumps(header)}), arrays, header)

    @classmethod
    def read(cls, path: Path, game: Game) -> GateFile:
        """Returns the file at `path`.

        Raises ForeignData if it belongs to another game or encoding, DamagedFile if it is no gate's file.
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
        check_encoding(path, reference, encoding, game)
        return cls(content, {name: np.asarray(array) for name, array in arrays.items()}, header)


def numbered(num_phases: int) -> tuple[str, ...]:
    """Returns the names of phases that nobody has named."""
    return tuple(f"phase {i}" for i in range(num_phases))
