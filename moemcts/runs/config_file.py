"""The settings in the folder of a run, which keeps copies of files that these name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from moemcts.store import read_toml

CONFIG = "config.toml"


def written_settings(folder: Path) -> dict[str, Any]:
    """Returns the settings in the folder of a run, nothing where it is none yet; raises as `read_toml`.

    They are written after the copies. One of what they do not name is left of a start that was killed between the two,
    and the file itself may be another one since.
    """
    path = folder / CONFIG
    return read_toml(path) if path.exists() else {}
