"""Files that were found to be whole, so that they are not read from end to end again while nobody touches them."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from moemcts.errors import MoemctsError
from moemcts.store import parse_json, write_json

NAME = ".verified.json"
SETTLED = 2.0
"""Seconds after a change in which another one may carry the same time."""


class Verified:
    """What is remembered of the files of one folder: their SHA-256, with size, times and inode when it was computed.

    A file that was changed, replaced or copied is another file. Where nothing can be written, nothing is remembered.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._found: dict[str, list[int | str]] = {}
        with contextlib.suppress(OSError, ValueError):
            found = parse_json(self._path.read_text(encoding="utf-8"))
            if isinstance(found, dict):
                self._found = found
        self._is_changed = False

    def knows(self, path: Path, sha256: str) -> bool:
        """Returns whether the file was found to have this SHA-256 and is still the same file."""
        state = _state(path)
        return state is not None and self._found.get(path.name) == [*state, sha256]

    def note(self, path: Path, sha256: str) -> None:
        """Notes that the file has this SHA-256, unless it is so new that the next change might not show."""
        state = _state(path)
        if state is not None and time.time() - max(state[1], state[2]) / 1e9 > SETTLED:
            self._found[path.name] = [*state, sha256]
            self._is_changed = True

    def save(self) -> None:
        """Writes what was noted."""
        if self._is_changed:
            with contextlib.suppress(MoemctsError):
                write_json(self._path, self._found)


def _state(path: Path) -> tuple[int, int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
