"""The generations of self-play in their folders: games, trainings, experts, and what was said of each."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moemcts.errors import DamagedFile
from moemcts.store import read_json, write_json

GAMES, TRAINING, EXPERTS = "games", "training", "experts"
GENERAL = "general.safetensors"
"""The network that a generation's experts went out from, where they did."""
OPTIMISERS = "optimisers"
"""What a generation's optimisers have gathered, where they are gone on with."""
REPLAY = "game.jsonl"
"""The first game of a generation, to look at."""
PLAYED, LEARNED, PROMOTED = "played.json", "learned.json", "promoted.json"
"""What is said of a generation's games, training, and whether it plays the next one's."""


@dataclass(frozen=True)
class Generations:
    """What is on the disk. Generation 0 has the experts that self-play begins with, and no games."""

    folder: Path

    def of(self, generation: int) -> Path:
        """Returns the folder of a generation."""
        return self.folder / "generations" / f"{generation:04d}"

    def games(self, generation: int) -> Path:
        """Returns the dataset of a generation's games."""
        return self.of(generation) / GAMES

    def chunk(self, generation: int, number: int) -> Path:
        """Returns the file of some games of a generation that is not complete."""
        return self.of(generation) / "chunks" / f"{number:05d}.safetensors"

    def chunks(self, generation: int) -> list[Path]:
        """Returns the files with games of a generation that are there."""
        return sorted((self.of(generation) / "chunks").glob("*.safetensors"))

    def experts(self, generation: int) -> Path:
        """Returns the folder of a generation's experts."""
        return self.of(generation) / EXPERTS

    def said(self, generation: int, name: str) -> dict[str, Any]:
        """Returns what was written of a generation, nothing where that was not.

        Raises DamagedFile where it is not whole.
        """
        path = self.of(generation) / name
        if not path.exists():
            return {}
        found = read_json(path)
        if not isinstance(found, dict) or not found:
            raise DamagedFile(f"{path} is damaged: expected a table of what came of the generation, got {found!r}")
        return found

    def is_gone(self, generation: int) -> bool:
        """Returns whether the experts of a generation were there and are not any longer."""
        return bool(self.said(generation, LEARNED)) and not self.experts(generation).exists()

    def say(self, generation: int, name: str, values: dict[str, Any]) -> None:
        """Writes something of a generation."""
        write_json(self.of(generation) / name, values)

    def num_samples(self, last: int) -> dict[int, int]:
        """Returns how many samples each generation up to `last` has made, whether they are still there or not."""
        return {one: int(self.said(one, PLAYED).get("samples", 0)) for one in range(1, last + 1)}

    def champion(self, generation: int) -> int:
        """Returns which generation's experts play once a generation has learned: the last that was promoted.

        One of which nothing is said yet counts as promoted.
        """
        for one in range(generation, 0, -1):
            if self.said(one, PROMOTED).get("promoted", True) and (self.of(one) / LEARNED).exists():
                return one
        return 0

    def tidy(self, generation: int, *, window: range, kept: Sequence[int], origins: Sequence[int]) -> None:
        """Removes what is not needed once a generation is done: older games and experts, and states of trainings.

        Experts of the generations `kept` stay, what the optimisers of `origins` have gathered, and all measurements.
        """
        for one in range(generation + 1):
            self.remove(one, "chunks", f"{TRAINING}/stages")
            if one < window.start:
                self.remove(one, GAMES)
            if one not in kept:
                self.remove(one, EXPERTS, GENERAL)
            if one not in origins:
                self.remove(one, OPTIMISERS)

    def remove(self, generation: int, *names: str) -> None:
        """Removes files and folders of a generation, as far as they are there."""
        for name in names:
            path = self.of(generation) / name
            if path.is_dir():
                # Renamed first: what is half removed is not taken for whole.
                gone = path.with_name(f".{path.name}.0.part")
                shutil.rmtree(gone, ignore_errors=True)
                path.rename(gone)
                shutil.rmtree(gone, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
