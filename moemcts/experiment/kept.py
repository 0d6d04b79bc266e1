"""Saved gates that a run was given: copied into its folder, which then holds all that it needs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from moemcts.game import Game
from moemcts.gates import PhaseGate
from moemcts.learn.files import read_bytes
from moemcts.plugins import SAVED_GATE, plugins
from moemcts.store import write_bytes


def keep_gates(folder: Path, references: Iterable[str]) -> None:
    """Copies those of the gates that are files into a run's folder."""
    for reference in references:
        if reference.endswith(SAVED_GATE):
            write_bytes(_kept(folder, reference), read_bytes(Path(reference)))


def named_gate(folder: Path, reference: str, game: Game) -> PhaseGate:
    """Returns the gate that a run's user named, from the run's own copy where it has one."""
    kept = _kept(folder, reference)
    return plugins().gate(str(kept) if kept.exists() else reference, game)


def _kept(folder: Path, reference: str) -> Path:
    name = "".join(c if c.isalnum() else "-" for c in reference.removesuffix(SAVED_GATE).lstrip("./"))
    return folder / "gates" / f"{name}{SAVED_GATE}"
