"""The generations of self-play on disk: games, trainings, experts, and the recorded results of each."""

from __future__ import annotations

import json
import shutil
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moemcts.errors import DamagedFile
from moemcts.store import digest, json_round_trip, read_json, write_json

GAMES, TRAINING, EXPERTS = "games", "training", "experts"
GENERAL = "general.safetensors"
"""The network that the generation's experts branched off from, if the scheme has one."""
OPTIMISERS = "optimisers"
"""The optimiser states of a generation, if the next one continues with them."""
REPLAY = "game.jsonl"
"""The first game of a generation, for viewing."""
PLAYED, LEARNED, PROMOTED = "played.json", "learned.json", "promoted.json"
"""The results of a generation's games and training, and whether it was promoted."""


@dataclass(frozen=True)
class Generations:
    """The folders and files of all generations; generation 0 has the initial experts and no games."""

    folder: Path

    def of(self, generation: int) -> Path:
        """Returns the folder of a generation."""
        return self.folder / "generations" / f"{generation:04d}"

    def games(self, generation: int) -> Path:
        """Returns the folder of the dataset of a generation's games."""
        return self.of(generation) / GAMES

    def chunk(self, generation: int, number: int) -> Path:
        """Returns the file of a chunk of games of an incomplete generation."""
        return self.of(generation) / "chunks" / f"{number:05d}.safetensors"

    def chunks(self, generation: int) -> list[Path]:
        """Returns the existing files of chunks of a generation."""
        return sorted((self.of(generation) / "chunks").glob("*.safetensors"))

    def experts(self, generation: int) -> Path:
        """Returns the folder of a generation's experts."""
        return self.of(generation) / EXPERTS

    def read_result(self, generation: int, name: str) -> dict[str, Any]:
        """Returns a recorded result of a generation, empty if it is not recorded yet.

        Raises DamagedFile unless the file is as it was written; those of earlier versions have no hash.
        """
        path = self.of(generation) / name
        if not path.exists():
            return {}
        found = read_json(path)
        if not isinstance(found, dict) or not found:
            raise DamagedFile(f"{path} is damaged: expected a table of the generation's results, got {found!r}")
        if (expected := found.pop(_HASH, None)) is not None and (got := _hash(found)) != expected:
            raise DamagedFile(f"{path} is damaged: expected SHA-256 {str(expected)[:12]}, got {got[:12]}")
        return found

    def is_gone(self, generation: int) -> bool:
        """Returns whether the experts of a generation existed and have been removed."""
        return bool(self.read_result(generation, LEARNED)) and not self.experts(generation).exists()

    def write_result(self, generation: int, name: str, values: dict[str, Any]) -> None:
        """Records a result of a generation, with its hash."""
        write_json(self.of(generation) / name, {**values, _HASH: _hash(values)})

    def num_samples(self, generation: int) -> int:
        """Returns the number of samples that a generation made, whether or not they still exist."""
        return int(self.read_result(generation, PLAYED).get("samples", 0))

    def last_learned(self) -> int:
        """Returns the last generation up to which all have learned; 0 if none has."""
        last = 0
        while (self.of(last + 1) / LEARNED).exists():
            last += 1
        return last

    def champion(self, generation: int) -> int:
        """Returns the champion after a generation has been trained: the last generation that was promoted.

        A generation whose promotion is not decided counts as promoted.
        """
        for one in range(generation, 0, -1):
            if self.read_result(one, PROMOTED).get("promoted", True) and (self.of(one) / LEARNED).exists():
                return one
        return 0

    def tidy(self, generations: range, *, window: range, kept: Container[int], origins: Container[int]) -> None:
        """Removes what is no longer needed of generations that have learned: games, experts and training checkpoints.

        Keeps the experts of the generations `kept`, the optimiser states of `origins`, and all measurements.
        """
        for one in generations:
            self.remove(one, "chunks", f"{TRAINING}/stages")
            if one < window.start:
                self.remove(one, GAMES)
            if one not in kept:
                self.remove(one, EXPERTS, GENERAL)
            if one not in origins:
                self.remove(one, OPTIMISERS)

    def remove(self, generation: int, *names: str) -> None:
        """Removes files and folders of a generation, if they exist."""
        for name in names:
            path = self.of(generation) / name
            gone = path.with_name(f".{path.name}.0.part")
            # Left by a process that was killed while removing it.
            shutil.rmtree(gone, ignore_errors=True)
            if path.is_dir():
                # Renamed first, so that a partly removed folder is not mistaken for a complete one.
                path.rename(gone)
                shutil.rmtree(gone, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


_HASH = "sha256"


def _hash(values: dict[str, Any]) -> str:
    return digest(json.dumps(json_round_trip(values), sort_keys=True).encode())
