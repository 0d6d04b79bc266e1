"""TensorBoard event files with the statistics of self-play's generations, written as it goes on."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from moemcts.errors import MissingExtra
from moemcts.report.selfplay import Generation

EVENTS = "tensorboard"
"""The subfolder of a run for event files."""


def check_installed() -> None:
    """Raises MissingExtra if TensorBoard is not installed."""
    if importlib.util.find_spec("tensorboard") is None:
        raise MissingExtra("tensorboard", "tensorboard")


def writer(folder: Path, *, first_step: int | None = None) -> Any:
    """Returns a writer of event files; from `first_step` on, it replaces events of earlier files in the folder.

    Raises MissingExtra if TensorBoard is not installed.
    """
    check_installed()
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), purge_step=first_step)


class Events:
    """Writes event files into a folder, one per start of the run; generations are steps."""

    def __init__(self, folder: Path) -> None:
        """Raises MissingExtra if TensorBoard is not installed."""
        self._writer = writer(folder)

    def add(self, generation: Generation, matches: Sequence[Mapping[str, Any]] = ()) -> None:
        """Writes the numbers of a generation and the scores of its measured matches."""
        for name, value in scalars(generation, matches):
            self._writer.add_scalar(name, value, generation.number)
        self._writer.flush()

    def close(self) -> None:
        """Closes the file."""
        self._writer.close()


def scalars(generation: Generation, matches: Sequence[Mapping[str, Any]] = ()) -> Iterator[tuple[str, float]]:
    """Yields the numbers of a generation by tag."""
    played, learned = generation.played, generation.learned
    for phase, losses in learned["losses"].items():
        yield from ((f"{term}/{phase}", value) for term, value in losses.items() if term != "weight")
    for phase, count in learned["phases"].items():
        yield f"samples/{phase}", count
    yield "training/learning_rate", learned["learning_rate"]
    yield "games/plies", played["plies"]["mean"]
    yield "games/repeated", played["duplicates"]
    yield "games/given_up", played["resigned"]
    for seat, result in enumerate(played["results"]):
        yield from ((f"results/{kind}/seat {seat}", value) for kind, value in result.items())
    if generation.promoted:
        yield "games/promoted", float(generation.promoted["promoted"])
    for match in matches:
        losses, draws, wins = match["counts"]
        yield f"score/{match['other']}", (wins + draws / 2) / max(wins + draws + losses, 1)
