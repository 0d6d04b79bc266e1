"""Validates the content of files, and checks that it belongs to the game and settings in use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from moemcts.errors import DamagedFile, ForeignData, first_fault
from moemcts.game import Game
from moemcts.learn.fingerprint import encoding_fingerprint

PLAIN_FILE = r"^[A-Za-z0-9][\w.-]*$"
"""Pattern of file names in a manifest: files beside it, not in other folders."""


class FileContent(BaseModel):
    """Base class for the content of files; values must have exactly the types that were written."""

    model_config = ConfigDict(strict=True, frozen=True)


class Encoding(FileContent):
    """Fingerprint of a game's encoding, see `encoding_fingerprint`."""

    planes: str
    actions: str


T = TypeVar("T", bound=BaseModel)


def validate_content(kind: type[T], content: Mapping[str, Any], message: str) -> T:
    """Returns file content as `kind`; raises DamagedFile for the first field that is missing or of another type.

    `message` begins the error: the file, and what it is not.
    """
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise DamagedFile(f"{message}: {first_fault(error)}") from None


def check_encoding(where: Path, reference: str, encoding: Mapping[str, str], game: Game) -> None:
    """Raises ForeignData, naming both sides, unless `encoding` is the fingerprint of the game."""
    own = encoding_fingerprint(game)
    is_same_game = reference.startswith(f"{game.spec.name}?")
    advice = f"name the game {reference!r}" if is_same_game else "it is another game or another encoding"
    for part in ("planes", "actions"):
        if encoding[part] != own[part]:
            raise ForeignData(
                f"{where} was made for {reference} with {part} {encoding[part][:12]}, "
                f"but {game.spec.name} here has {part} {own[part][:12]}; {advice}"
            )


def check_same(where: Path, expected: Mapping[str, Any], found: Mapping[str, Any], prefix: str = "") -> None:
    """Raises ForeignData naming the first entry in which `found`, read from `where`, differs from `expected`.

    `found` may have more entries at the top level; nested tables must have the same ones, where a missing entry counts
    as None.
    """
    for key in dict.fromkeys([*expected, *(found if prefix else ())]):
        value, other = expected.get(key), found.get(key)
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            check_same(where, value, other, f"{prefix}{key}.")
        elif _plain(other) != _plain(value):
            raise ForeignData(
                f"{where} was begun with {prefix}{key} {other!r}, not {value!r}; "
                "use the same settings to continue it, or another folder"
            )


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, list | tuple | np.ndarray) else value
