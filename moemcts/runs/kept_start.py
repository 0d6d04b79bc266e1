"""Copies of initial experts in a run's folder, so that all its trainings start from the same ones."""

from __future__ import annotations

from pathlib import Path

from moemcts.store import MANIFEST, read_bytes, read_toml, write_bytes

_FOLDER = "start"


def keep_start(folder: Path, start: str) -> None:
    """Copies the experts that a run starts from, if any, into its folder; they have been checked already."""
    if not start:
        return
    said = read_toml(Path(start) / MANIFEST)
    files = [*(expert["file"] for expert in said["experts"]), said["gate"].get("file", "")]
    # The manifest comes last: it marks the copy as complete.
    for file in filter(None, (*dict.fromkeys(files), MANIFEST)):
        write_bytes(folder / _FOLDER / file, read_bytes(Path(start) / file))


def kept_start(folder: Path, start: str) -> Path:
    """Returns the run's copy of the experts it starts from, or their original folder for older runs without a copy."""
    copy = folder / _FOLDER
    return copy if (copy / MANIFEST).exists() else Path(start)
