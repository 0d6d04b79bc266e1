"""Copies of saved gates in a run's folder, which make the run self-contained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from moemcts.plugins import SAVED_GATE
from moemcts.runs.arms import exact_label, file_label
from moemcts.runs.config_file import written_settings
from moemcts.store import write_bytes


def keep_gate(folder: Path, reference: str) -> None:
    """Copies a gate into a run's folder if it is a saved one."""
    if reference.endswith(SAVED_GATE):
        write_bytes(_copy(folder, exact_label(reference)), Path(reference).read_bytes())


def kept_gate(folder: Path, reference: str, gates: Sequence[str] = ()) -> str:
    """Returns the path of the run's copy of a saved gate, or the reference if there is no copy.

    `gates` are all gates of the run.
    """
    if not reference.endswith(SAVED_GATE) or reference not in _named(folder):
        return reference
    labels = [exact_label(reference)]
    if all(file_label(gate) != file_label(reference) for gate in gates if gate != reference):
        # Copies used to have no digest, and gates whose names differ only in punctuation shared one.
        labels.append(file_label(reference))
    return next((str(copy) for label in labels if (copy := _copy(folder, label)).exists()), reference)


def _named(folder: Path) -> list[str]:
    """Returns the gates named in the settings of a folder."""
    settings = written_settings(folder)
    return [settings.get("gate", ""), *settings.get("gates", ())]


def _copy(folder: Path, label: str) -> Path:
    return folder / "gates" / f"{label}{SAVED_GATE}"
