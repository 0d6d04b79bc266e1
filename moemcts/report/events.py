"""What generations of self-play were like, as event files that TensorBoard draws while it goes on."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from moemcts.errors import MissingExtra
from moemcts.report.selfplay import Generation

EVENTS = "tensorboard"
"""The folder of event files in a run."""


def check_installed() -> None:
    """Raises MissingExtra where TensorBoard is not installed."""
    if importlib.util.find_spec("tensorboard") is None:
        raise MissingExtra("tensorboard", "tensorboard")


def writer(folder: Path, *, first_step: int | None = None) -> Any:
    """Returns what writes an event file into a folder; from `first_step` on it takes the place of those before it.

    Raises MissingExtra where TensorBoard is not installed.
    """
    check_installed()
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), purge_step=first_step)


class Events:
    """Writes a folder of event files, one per start; generations count as steps."""

    def __init__(self, folder: Path) -> None:
        """Raises MissingExtra where TensorBoard is not installed."""
        self._writer = writer(folder)

    def add(self, generation: Generation, matches: Sequence[Mapping[str, Any]] = ()) -> None:
        """Writes the numbers of a generation, and the scores of its measured matches."""
        for name, value in scalars(generation, matches):
            self._writer.add_scalar(name, value, generation.number)
        self._writer.flush()

    def close(self) -> None:
        """Ends the file."""
        self._writer.close()


def scalars(generation: Generation, matches: Sequence[Mapping[str, Any]] = ()) -> Iterator[tuple[str, float]]:
    """Yields the numbers of a generation by their names."""
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
