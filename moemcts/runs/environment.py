"""What a run was made with."""

from __future__ import annotations

import platform
import sys
from typing import Any

import numpy as np

from moemcts import __version__


def environment() -> dict[str, Any]:
    """Returns versions, machine and command, for `env.json`."""
    import torch

    return {
        "moemcts": __version__,
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "numpy": np.__version__,
        "system": platform.platform(),
        "command": sys.argv,
    }
