"""The file of a match: one finished game per line, so that a match can be interrupted and resumed."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import FileLock, Timeout

from moemcts.errors import DamagedFile, ForeignData, MoemctsError
from moemcts.store import json_round_trip, parse_json, read_bytes, write_bytes

_SYNC_SECONDS = 2.0


class Journal:
    """An append-only file of JSON lines after a header that identifies its match.

    Every line is written in one piece; the file is synced to disk every two seconds and on closing. A last line that
    was truncated by a crash is removed when the file is opened.
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        """Opens or creates the file.

        Raises ForeignData if it has another header, DamagedFile if a line before the last is not JSON, MoemctsError if
        it cannot be written or another match is writing it.
        """
        self.path = path
        self._lines: list[dict[str, Any]] = []
        expected = json_round_trip(header)
        if path.exists() and not path.is_file():
            raise MoemctsError(f"cannot write {path}: expected a file")
        self._lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=0)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout:
            raise MoemctsError(f"{path} is in use by a match that is still running") from None
        except OSError as error:
            raise self._write_error(error) from error
        try:
            self._file = open(path, "ab+", buffering=0)  # noqa: SIM115  (closed by `close`)
        except OSError as error:
            self._unlock()
            raise self._write_error(error) from error
        try:
            lines = self._read(_line(expected))
            if not lines:
                self.append(expected)
            elif lines[0] != expected:
                raise ForeignData(_describe_difference(path, lines[0], expected))
            self._lines = lines[1:]
        except BaseException:
            self._file.close()
            self._unlock()
            raise
        self._synced_at = time.monotonic()

    def pop_lines(self) -> list[dict[str, Any]]:
        """Returns the lines that the file had when it was opened, without the header, and releases them."""
        lines, self._lines = self._lines, []
        return lines

    def append(self, line: Mapping[str, Any]) -> None:
        """Writes one line."""
        data = _line(line)
        try:
            while data:
                data = data[self._file.write(data) :]
            if time.monotonic() - getattr(self, "_synced_at", 0.0) > _SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced_at = time.monotonic()
        except OSError as error:
            raise self._write_error(error) from error

    def close(self) -> None:
        """Syncs the file to disk and closes it."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._write_error(error) from error
        finally:
            self._file.close()
            self._unlock()

    def _unlock(self) -> None:
        # Others that opened the lock file before it was unlinked will notice that and retry.
        with contextlib.suppress(OSError):
            os.unlink(self._lock.lock_file)
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, header: bytes) -> list[dict[str, Any]]:
        self._file.seek(0)
        data = self._file.readall()
        if b"\n" not in data and not header.startswith(data):
            # A truncated header would be a prefix of ours.
            raise ForeignData(f"{self.path} is not a file of games; give another file or remove this one")
        end = data.rfind(b"\n") + 1
        lines = []
        start = 0
        for number, raw in enumerate(data[:end].splitlines(keepends=True), start=1):
            try:
                line = parse_json(raw)
                if not isinstance(line, dict):
                    raise ValueError("expected an object")
            except ValueError as error:
                if number == 1:
                    raise ForeignData(
                        f"{self.path} is not a file of games; give another file or remove this one"
                    ) from error
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

    def _write_error(self, error: OSError) -> MoemctsError:
        return MoemctsError(f"cannot write {self.path}: {error.strerror or error}")


def sort_journal(path: Path, indices: Sequence[int]) -> None:
    """Rewrites the file of a finished match to have only the games with these indices, in this order.

    The file is then the same in whichever order games finished. Raises DamagedFile if it cannot be read.
    """
    content = read_bytes(path)
    header, *lines = content.splitlines(keepends=True)
    games = {parse_json(line)["index"]: line for line in lines}
    ordered = b"".join([header, *(games[index] for index in indices)])
    if ordered != content:
        write_bytes(path, ordered)


def _line(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _describe_difference(path: Path, actual: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    for key in [*expected, *actual]:
        value, expected_value = actual.get(key), expected.get(key)
        if value == expected_value:
            continue
        if isinstance(value, Mapping) and isinstance(expected_value, Mapping) and value.keys() == expected_value.keys():
            return _describe_difference(path, value, expected_value)
        return (
            f"{path} holds the games of another match, with {key} {_format_value(value)} in place of "
            f"{_format_value(expected_value)}; give another file or remove this one"
        )
    return f"{path} holds the games of another match"


def _format_value(value: Any, levels: int = 8) -> str:
    """Returns a header's value in words; if names map to themselves, only the names. Deeper levels are omitted."""
    if not levels:
        return "..."
    if isinstance(value, Mapping):
        entries = [
            key if key == entry else f"{key}: {_format_value(entry, levels - 1)}" for key, entry in value.items()
        ]
        return ", ".join(entries) or "none"
    if isinstance(value, list):
        return ", ".join(_format_value(entry, levels - 1) for entry in value) or "none"
    return "none" if value is None else str(value)
