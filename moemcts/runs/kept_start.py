"""Experts that trainings begin with, of which a run keeps its own copy: all its trainings begin with the same ones."""

from __future__ import annotations

from pathlib import Path

from moemcts.store import MANIFEST, read_bytes, read_toml, write_bytes

_FOLDER = "start"


def keep_start(folder: Path, start: str) -> None:
    """Copies experts into the folder of a run, if it begins with some; they have been looked at."""
    if not start:
        return
    said = read_toml(Path(start) / MANIFEST)
    files = [*(expert["file"] for expert in said["experts"]), said["gate"].get("file", "")]
    # The manifest last: with it the copy is whole.
    for file in filter(None, (*dict.fromkeys(files), MANIFEST)):
        write_bytes(folder / _FOLDER / file, read_bytes(Path(start) / file))


def kept_start(folder: Path, start: str) -> Path:
    """Returns the run's own copy of what it begins with, or where that lies for one from before there were copies."""
    copy = folder / _FOLDER
    return copy if (copy / MANIFEST).exists() else Path(start)
