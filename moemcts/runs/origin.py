"""The origin of a measurement: command, commit and machine."""

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


def origin() -> dict[str, Any]:
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
    folder = Path(__file__).parent
    try:
        head, changes = (
            subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
            for words in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        )
    except (OSError, subprocess.CalledProcessError):
        return f"v{__version__}"
    return head + ("+" if changes else "")


def machine() -> str:
    """Returns the processor's name and its number of cores."""
    here = processor()
    return f"{here.name} x {here.num_listed}" if here.num_listed else here.name or platform.machine()
