"""Runs the command line with arbitrary arguments and returns the outcome."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

SERVER = Path(__file__).with_name("forking.py")
CLEAN_EXITS = (0, 1, 2, 3, 130)
"""Done, failed, misused, an optional package is missing, interrupted."""


def effort() -> int:
    """Returns how many times more is tried than in CI: the variable MOEMCTS_TORTURE, 1 by default."""
    return max(1, int(os.environ.get("MOEMCTS_TORTURE", "1")))


@dataclass(frozen=True)
class Outcome:
    """The outcome of a command."""

    arguments: tuple[str, ...]
    code: int
    """-1 if it timed out."""
    stdout: str
    stderr: str

    @property
    def is_clean(self) -> bool:
        """Whether it ended in time with a known exit code and without a traceback."""
        return self.code in CLEAN_EXITS and "Traceback" not in self.stderr + self.stdout

    def __str__(self) -> str:
        return f"moemcts {' '.join(map(repr, self.arguments))}\nexit {self.code}\n{self.stderr[-3000:]}"


class Driver:
    """Runs commands in sequence, each in its own process."""

    def __enter__(self) -> Self:
        self._scratch = tempfile.TemporaryDirectory(prefix="moemcts-torture-")
        self._server = subprocess.Popen(
            [sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()
        self._scratch.cleanup()

    def run(self, arguments: Sequence[str], folder: Path, limit: float = 120.0) -> Outcome:
        """Runs `moemcts` with these arguments in a folder, with a time limit in seconds."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        out, err = (Path(self._scratch.name) / name for name in ("stdout", "stderr"))
        order = {
            "arguments": list(arguments),
            "folder": str(folder),
            "limit": limit,
            "stdout": str(out),
            "stderr": str(err),
        }
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        code = json.loads(self._server.stdout.readline())["code"]
        return Outcome(tuple(arguments), code, *(path.read_text(errors="replace") for path in (out, err)))


def digests(folder: Path, *, without: Sequence[str] = ()) -> dict[str, str]:
    """Returns a hash of every file in a folder, except those whose paths have one of the given suffixes."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and not str(path).endswith(tuple(without) or ("\0",))
    }
