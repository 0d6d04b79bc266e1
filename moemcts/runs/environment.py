"""The environment that a run was made in."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from moemcts import __version__
from moemcts.game import Game
from moemcts.native import core
from moemcts.work import num_cores


def environment() -> dict[str, Any]:
    """Returns versions, platform and command line, for `env.json`."""
    import torch

    return {
        "moemcts": __version__,
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "numpy": np.__version__,
        "system": platform.platform(),
        "command": sys.argv,
    }


def as_typed(command: Sequence[str]) -> str:
    """Returns a command from `env.json` as a shell command line, without the program's directory."""
    program = Path(command[0])
    # Under `python -m moemcts` the first word is the path of the module.
    name = "moemcts" if program.stem in ("moemcts", "__main__") else program.name
    return shlex.join([*(["python"] if program.suffix == ".py" and name != "moemcts" else []), name, *command[1:]])


def groups_in_flight(game: Game) -> int:
    """Returns how many groups of games to play at once.

    Two if one group's search can overlap with the other's inference, else one.
    """
    # Rules written in Python hold the GIL.
    leaves_lock = game.search_type() is not core.PythonSearch
    return 2 if leaves_lock and num_cores() > 1 else 1
