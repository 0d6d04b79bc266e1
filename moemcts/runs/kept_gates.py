"""Saved gates, of which a run keeps its own copy: its folder holds all that it needs."""

from __future__ import annotations

from pathlib import Path

from moemcts.plugins import SAVED_GATE
from moemcts.runs.arms import file_label
from moemcts.store import write_bytes


def keep_gate(folder: Path, reference: str) -> None:
    """Copies a gate into the folder of a run, if it is a saved one."""
    if reference.endswith(SAVED_GATE):
        write_bytes(_copy(folder, reference), Path(reference).read_bytes())


def kept_gate(folder: Path, reference: str) -> str:
    """Returns the run's own copy of a saved gate, or the reference where there is none."""
    copy = _copy(folder, reference)
    return str(copy) if reference.endswith(SAVED_GATE) and copy.exists() else reference


def _copy(folder: Path, reference: str) -> Path:
    return folder / "gates" / f"{file_label(reference)}{SAVED_GATE}"
