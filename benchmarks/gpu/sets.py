"""One network trained on a GPU, and trainings that start from it.

These are experts by phase, experts in rotation as a control, and the network itself, trained as by
`chess_comparison.py --start`, on as many positions as the device can process in its time. The rows are those of that
script, plus the speed and the losses of the first network.
"""

from __future__ import annotations

import json
import lzma
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import chess_comparison
from measuring.record import RESULTS

from moemcts.plugins import plugins
from moemcts.runs.settings import ExperimentConfig, validate
from moemcts.runs.sources import open_sources

GAME = "chess?planes=attacks"
CONTROL = "round-robin"
GATES = ("lichess", CONTROL)
SECONDS = 120.0
"""Duration of the first network's training; each training that starts from it sees half as many positions."""
MAX_PASSES = 2.0
ROWS = "chess.jsonl"
"""The rows of the comparison, which belong to the results of chess."""


class Kind(NamedTuple):
    """The network and seed of a set."""

    network: str
    seed: int


KINDS = {
    "set": Kind("resnet?channels=128&blocks=10", 49),
    "set-4x64": Kind("resnet?channels=64&blocks=4", 50),
}
"""A network whose capacity is not exhausted in its time, and one whose may be: is that why experts gain in small ones?
"""


class Amounts(NamedTuple):
    """The amount of work of each part."""

    seconds: float
    games: int
    simulations: int
    workers: int
    options: tuple[str, ...]
    """Further options of the comparison."""

    @classmethod
    def of(cls, device: str, *, is_dry: bool) -> Amounts:
        """Returns the amounts for a GPU, or nearly nothing on a CPU for a dry run."""
        if is_dry:
            return cls(0.0, 2, 4, 1, ("--device", device))
        cores = os.cpu_count() or 2
        encoders = str(max(2, cores // 3))
        options = ("--device", device, "--encoders", encoders)
        return cls(SECONDS, 1000, 100, max(1, min(7, cores // 2)), options)


class GpuSet:
    """The set in one folder: `first`, the starting network, and `run`, the comparison."""

    def __init__(self, folder: Path, kind: Kind, data: Path, amounts: Amounts) -> None:
        self.folder = folder
        self.network, self.seed = kind
        self.game = GAME
        self.data = data
        self.amounts = amounts
        self.first = folder / "first"
        self.openings: Path | None = None
        """A file of start positions; None for random plies."""

    @property
    def is_begun(self) -> bool:
        """Whether the first network's training has started."""
        return (self.first / "config.toml").exists()

    @property
    def has_first(self) -> bool:
        """Whether the first network's training has finished."""
        return (self.first / "report" / "numbers.json").exists()

    def words(self) -> list[str]:
        """Returns the arguments of the comparison, except its size and starting network."""
        amounts = self.amounts
        words = ["--game", self.game, "--network", self.network, "--seeds", "1", "--seed", str(self.seed)]
        words += [word for gate in GATES for word in ("--gate", gate)]
        words += ["--scheme", "separated", "--value-weight", "0.1", "--games", str(amounts.games)]
        words += ["--simulations", str(amounts.simulations), "--workers", str(amounts.workers), *amounts.options]
        return words + (["--openings", str(self.openings)] if self.openings else [])

    def first_words(self) -> list[str]:
        """Returns the arguments of `moemcts train` for the first network, with the settings of the comparison.

        Measures the speed of the device for a few seconds.
        """
        options = chess_comparison.parser().parse_args([str(self.data), str(self.folder / "run"), *self.words()])
        settings = chess_comparison.settings(options)
        training = settings["training"]
        if "encoders" in training:
            # It trains alone.
            encoders = max(2, (os.cpu_count() or 2) - 2)
            training |= {"encoders": encoders, "prefetch": encoders + 4}
        config = validate(settings, ExperimentConfig)
        samples = len(open_sources(config.data, self.data, plugins().game(self.game)).training)
        training["epochs"] = 100 / samples
        if self.amounts.seconds:
            rate = chess_comparison.training_rate(config, self.data)
            training["epochs"] = min(self.amounts.seconds * rate / samples, MAX_PASSES)
        words = ["train", "--game", self.game, "--data", str(self.data), "--network", self.network]
        words += ["--gate", "lichess", "--scheme", "single", "--seed", str(self.seed), "--out", str(self.first)]
        return words + [
            word for key, value in training.items() for word in ("--set", f"training.{key}={json.dumps(value)}")
        ]

    def compare(self, samples: int, call: Callable[..., None]) -> list[dict[str, Any]]:
        """Trains from the first network, plays the matches, and returns the rows."""
        results = RESULTS / ROWS
        before = len(results.read_text().splitlines()) if results.exists() else 0
        script = str(Path(chess_comparison.__file__))
        words = [script, str(self.data), str(self.folder / "run"), *self.words()]
        words += ["--samples", str(max(samples // 2, 48)), "--start", str(self.first / "experts")]
        call(sys.executable, *words, "--start-samples", str(samples), "--record")
        new_lines = results.read_text().splitlines()[before:]
        (self.folder / ROWS).write_text("".join(f"{line}\n" for line in new_lines))
        return [json.loads(line) for line in new_lines]

    def seconds(self) -> dict[str, float]:
        """Returns the durations of the comparison's parts by name, summed over all of its starts."""
        starts = json.loads((self.folder / "run" / "times.json").read_text())["starts"]
        return {name: round(sum(start.get(name, 0.0) for start in starts), 1) for start in starts for name in start}

    def is_left_behind(self, inside: Path) -> bool:
        """Returns whether a file is not worth transferring: states of trainings, the control's networks, and the first
        network once others have been trained from it.
        """
        is_control = any(part.startswith((f"separated-{CONTROL}", CONTROL)) for part in inside.parts)
        has_more = any((self.folder / "run" / "experts").glob("lichess-*"))
        is_first = (inside.parts[0] == "first" or "start" in inside.parts) and has_more
        return inside.suffix == ".safetensors" and (is_control or is_first or "stages" in inside.parts)


def unpacked(openings: Path, folder: Path) -> Path:
    """Decompresses a file of openings, and returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / openings.name.removesuffix(".xz")
    with lzma.open(openings) as source, target.open("wb") as file:
        shutil.copyfileobj(source, file)
    return target
