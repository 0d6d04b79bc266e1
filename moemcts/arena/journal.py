"""The file of a match: one finished game per line, so that a match can be broken off and gone on with."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from moemcts.errors import DamagedFile, ForeignData, MoemctsError

_SYNC_SECONDS = 2.0


class Journal:
    """An append-only file of JSON lines under a header that says what it belongs to.

    Every line is written in one piece; the disk is waited for every two seconds and at the end. A last line that
    was cut off by a crash is removed when the file is opened.
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        """Opens or begins the file.

        Raises ForeignData if it was begun with another header, DamagedFile if a line before the last is no JSON,
        MoemctsError if it cannot be written or another match is writing it.
        """
        self.path = path
        self.lines: list[dict[str, Any]] = []
        """What the file held when it was opened, without the header."""
        expected = json.loads(json.dumps(header))
        if path.exists() and not path.is_file():
            raise MoemctsError(f"cannot write {path}: expected a file")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "ab+", buffering=0)  # noqa: SIM115  (closed by `close`)
        except OSError as error:
            raise self._failure(error) from error
        try:
            self._lock()
            found = self._read()
            if not found:
                self.append(expected)
            elif found[0] != expected:
                raise ForeignData(_difference(path, found[0], expected))
            self.lines = found[1:]
        except BaseException:
            self._file.close()
            raise
        self._synced_at = time.monotonic()

    def append(self, line: Mapping[str, Any]) -> None:
        """Writes one line."""
        data = json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        try:
            while data:
                data = data[self._file.write(data) :]
            if time.monotonic() - getattr(self, "_synced_at", 0.0) > _SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced_at = time.monotonic()
        except OSError as error:
            raise self._failure(error) from error

    def close(self) -> None:
        """Waits for the disk and closes the file."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._failure(error) from error
        finally:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # where there is none, as on Windows, nothing keeps a second match away
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise MoemctsError(f"{self.path} is in use by a match that is still running") from error
        except OSError:
            # Some network file systems cannot lock.
            return

    def _read(self) -> list[dict[str, Any]]:
        self._file.seek(0)
        data = self._file.readall()
        end = data.rfind(b"\n") + 1
        lines = []
        start = 0
        for number, raw in enumerate(data[:end].splitlines(keepends=True), start=1):
            try:
                line = json.loads(raw)
                if not isinstance(line, dict):
                    raise ValueError("expected an object")
            except ValueError as error:
                if start + len(raw) < end:
                    raise DamagedFile(
                        f"{self.path}, line {number}: {error}; remove the line to play that game again"
                    ) from error
                break
            lines.append(line)
            start += len(raw)
        if start < len(data):
            self._file.truncate(start)
        return lines

    def _failure(self, error: OSError) -> MoemctsError:
        return MoemctsError(f"cannot write {self.path}: {error.strerror or error}")


def _difference(path: Path, found: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    for key in [*expected, *found]:
        if found.get(key) != expected.get(key):
            return (
                f"{path} holds the games of another match: its {key} is {found.get(key)!r}, expected "
                f"{expected.get(key)!r}; give another file or remove this one"
            )
    return f"{path} holds the games of another match"
