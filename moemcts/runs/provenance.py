"""The provenance of a measurement: command, commit and machine."""

from __future__ import annotations

import platform
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from moemcts import __version__
from moemcts.work.processor import processor


def provenance() -> dict[str, Any]:
    """Returns command, version, commit, machine and date, as in each row of a benchmark."""
    return {
        "command": shlex.join(["moemcts", *sys.argv[1:]]),
        "version": __version__,
        "commit": commit(),
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d"),
    }


def commit() -> str:
    """Returns the commit of the code, with `+` if there are local changes; the version if git is unavailable."""
    try:
        head = _git("rev-parse", "--short", "HEAD")
        changes = _git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return f"v{__version__}"
    return head + ("+" if changes else "")


def machine() -> str:
    """Returns the processor's name and its number of cores."""
    here = processor()
    return f"{here.name} x {here.num_listed}" if here.num_listed else here.name or platform.machine()


def _git(*words: str) -> str:
    """Returns the output of a git command in the folder of the code; raises OSError or CalledProcessError."""
    folder = Path(__file__).parent
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
