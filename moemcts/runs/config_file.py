"""The settings file in a run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from moemcts.store import read_toml

CONFIG = "config.toml"


def written_settings(folder: Path) -> dict[str, Any]:
    """Returns the settings in a run's folder, empty if there are none yet; raises as `read_toml`.

    The settings are written after the copies of the files they name. A copy that they do not name is left over from a
    start that was killed in between; the original file may have changed since.
    """
    path = folder / CONFIG
    return read_toml(path) if path.exists() else {}
