"""Remembers which files were verified, so that unchanged files are not hashed again."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from moemcts.errors import MoemctsError
from moemcts.store import parse_json, write_json

NAME = ".verified.json"
SETTLED = 2.0
"""Seconds after a change within which another one may have the same timestamp."""


class VerifiedFiles:
    """The verified files of one folder: their SHA-256, with size, timestamps and inode when it was computed.

    A changed, replaced or copied file is no longer verified. If the folder is read-only, nothing is remembered.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._files: dict[str, list[int | str]] = {}
        with contextlib.suppress(OSError, ValueError):
            files = parse_json(self._path.read_text(encoding="utf-8"))
            if isinstance(files, dict):
                self._files = files
        self._is_changed = False

    def is_verified(self, path: Path, sha256: str) -> bool:
        """Returns whether the file was verified to have this SHA-256 and has not changed since."""
        state = _file_state(path)
        return state is not None and self._files.get(path.name) == [*state, sha256]

    def mark_verified(self, path: Path, sha256: str) -> None:
        """Records that the file has this SHA-256, unless it is so new that the next change might go unnoticed."""
        state = _file_state(path)
        if state is not None and time.time() - max(state[1], state[2]) / 1e9 > SETTLED:
            self._files[path.name] = [*state, sha256]
            self._is_changed = True

    def save(self) -> None:
        """Writes what was recorded."""
        if self._is_changed:
            with contextlib.suppress(MoemctsError):
                write_json(self._path, self._files)


def _file_state(path: Path) -> tuple[int, int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
