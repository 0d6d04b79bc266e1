"""Logs of the measurements of a training, as lines of JSON."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moemcts.errors import DamagedFile, MoemctsError
from moemcts.store import parse_json, read_bytes

_ALWAYS: Mapping[str, type] = {"stage": str, "step": int}
"""Entries of every measurement, and their types."""


class MetricsLog:
    """Measurements as lines of JSON, appended to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.num_bytes = path.stat().st_size if path.exists() else 0

    def append(self, entry: Mapping[str, Any]) -> None:
        """Appends one line and syncs it to disk; raises MoemctsError if it cannot be written."""
        line = (json.dumps(entry) + "\n").encode()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(self._path, "ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise MoemctsError(f"cannot write {self._path}: {error.strerror or error}") from error
        self.num_bytes += len(line)

    def rewind(self, num_bytes: int) -> None:
        """Drops everything after the first `num_bytes`, which will be measured again, and an incomplete line."""
        if not self.num_bytes:
            return
        kept = read_bytes(self._path)[:num_bytes]
        whole = kept.rfind(b"\n") + 1
        if whole < self.num_bytes:
            os.truncate(self._path, whole)
            self.num_bytes = whole


def read_times(path: Path) -> list[dict[str, Any]]:
    """Returns the lines of a log of timings, on which nothing depends, without damaged ones."""
    if not path.exists():
        return []
    entries = []
    for line in read_bytes(path).split(b"\n")[:-1]:
        with contextlib.suppress(ValueError, TypeError):
            entries.append(dict(parse_json(line)))
    return entries


def read_log(path: Path) -> list[dict[str, Any]]:
    """Returns the measurements in a log; none if there is no file.

    An incomplete last line, of a writer that was killed, is ignored. Raises DamagedFile naming a line that is not
    valid.
    """
    if not path.exists():
        return []
    *lines, _ = read_bytes(path).split(b"\n")
    entries = []
    for number, line in enumerate(lines, 1):
        try:
            entry = dict(parse_json(line))
        except (ValueError, TypeError) as error:
            raise DamagedFile(f"{path} is damaged in line {number}: {error}") from error
        for key, kind in _ALWAYS.items():
            if not isinstance(entry.get(key), kind):
                raise DamagedFile(f"{path} is damaged in line {number}: a measurement has no {key!r}")
        entries.append(entry)
    return entries
