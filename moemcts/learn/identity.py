"""What files say they belong to, compared with what is here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from moemcts.errors import ForeignData
from moemcts.game import Game
from moemcts.learn.fingerprint import encoding_fingerprint


def check_encoding(where: Path, reference: str, encoding: Mapping[str, str], game: Game) -> None:
    """Raises ForeignData, naming both sides, unless `encoding` is the fingerprint of the game."""
    own = encoding_fingerprint(game)
    for part in ("planes", "actions"):
        if encoding[part] != own[part]:
            raise ForeignData(
                f"{where} was made for {reference} with {part} {encoding[part][:12]}, "
                f"but {game.spec.name} here has {part} {own[part][:12]}; it is another game or another encoding"
            )


def check_same(where: Path, expected: Mapping[str, Any], found: Mapping[str, Any], prefix: str = "") -> None:
    """Raises ForeignData naming the first entry in which `found`, read from `where`, differs from `expected`.

    `found` may have more entries; tables within both have the same ones, where an entry that is not there is None.
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
