"""One piece of `benchmarks/gpu_plan.sh`: checks, a set of experts, speeds, a time-limited training, or self-play.

    python benchmarks/gpu_plan.py OUT --piece=PIECE [--minutes=4] [--epochs=X] [--device=cuda] [--quick] [--dry-run]
    python benchmarks/gpu_plan.py OUT --collect [--record]

The length of a training follows from a short measurement of its speed. Separate experts see as many samples in total as
the single network of their size, if that is available, or as `--epochs` says; others as many as the time allows.
Trainings use the fastest way found by `speed`, else bf16 with channels last.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from gpu.measures import TINY, USUAL, Measurement, Measures, Row, Scale
from gpu.parcels import pack, unpack
from gpu.sets import KINDS, ROWS, Amounts, GpuSet, Kind, unpacked
from measuring.probing import probe_training
from measuring.record import add_option, append, latest, origin

from moemcts.game import Game
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.training.speed import COMPUTE_MODES, ComputeMode
from moemcts.plugins import plugins
from moemcts.runs.settings import LearningConfig
from moemcts.runs.sources import Sources

GATE = "lichess"
MINUTES = {"rise-single": 4.0, "rise-separated": 4.0, "resnet-single": 2.0, "rise-staged": 5.0, "resnet-separated": 2.0}
"""The trainings, and their time limits in minutes."""
PIECES = ("check", *KINDS, "speed", *MINUTES, "self-play")
SPLIT = ("--validation", "2012-09", "--test", "2017-05")
"""The papers' months."""
IMPORT = ("--min-elo", "2200", "--min-plies", "10")
ROOT = Path(__file__).parent.parent
MOEMCTS = (sys.executable, "-c", "from moemcts.cli.main import main; main()")
CUT_OFF = 75
"""The exit status of an interrupted piece that resumes when called again: sysexits.h's temporary failure."""


@dataclass(frozen=True, kw_only=True)
class Places:
    """The folders of a plan."""

    games: Path
    """PGN files with `train`, `val` or `test` in their names, plain or compressed."""
    parcels: Path
    """Parcels transferred back from an earlier machine."""
    openings: Path
    """A folder with a compressed file of start positions for matches; without one, random plies are played."""
    work: Path
    """A folder on this machine; trainings resume only under the same path, as it is part of their settings."""
    out: Path
    """The folder to be transferred back."""


class Plan:
    """The pieces on one machine."""

    def __init__(
        self,
        places: Places,
        scale: Scale,
        *,
        minutes: float | None = None,
        epochs: float | None = None,
        amounts: Amounts | None = None,
        network: str = "",
    ) -> None:
        """`minutes` or `epochs` override the length of every training; `amounts` and `network` apply to sets."""
        self.places = places
        self.scale = scale
        self.minutes = minutes
        self.epochs = epochs
        self.game: Game = plugins().game("chess")
        self.measures = Measures(scale, self.game)
        amounts = amounts or Amounts.of(scale.device, is_dry=False)
        kinds = {name: Kind(network or kind.network, kind.seed) for name, kind in KINDS.items()}
        data = places.work / "data"
        self.sets = {name: GpuSet(places.work / name, kind, data, amounts) for name, kind in kinds.items()}

    def do(self, piece: str) -> bool:
        """Runs the missing parts of a piece and returns whether nothing failed; results are copied to `out` in any
        case.
        """
        for name in PIECES:
            if not (self.places.work / name).exists():
                unpack(name, self.places.parcels, self.places.work)
        folder = self.places.work / piece
        folder.mkdir(parents=True, exist_ok=True)
        try:
            if not (folder / "done").exists() and self._do_rows(piece, folder / "rows.jsonl"):
                (folder / "done").touch()
            return (folder / "done").exists()
        finally:
            self.deliver(piece)

    def deliver(self, piece: str) -> None:
        """Copies the rows of a piece, and what is needed to resume it, to `out`."""
        folder, out = self.places.work / piece, self.places.out
        out.mkdir(parents=True, exist_ok=True)
        if (rows := folder / "rows.jsonl").exists():
            (out / f"{piece}.jsonl").write_bytes(rows.read_bytes())
        if piece in self.sets:
            if (rows := folder / ROWS).exists():
                (out / f"{piece}.{ROWS}").write_bytes(rows.read_bytes())
            pack(folder, out, is_done=True, is_left_out=self.sets[piece].is_left_behind)
            return
        pack(folder, out, is_done=(folder / "done").exists())

    def measurements(self, piece: str) -> Iterator[Measurement]:
        """Yields the names of a piece's rows, and functions that measure them."""
        if piece == "check":
            yield from self.measures.checks()
            if not self.scale.is_quick:
                yield "resnet, training that is killed and gone on with, loss", self._killed
        elif piece in self.sets:
            yield from self.experts_from_one(piece)
        elif piece == "speed":
            yield from self.measures.speeds(Dataset.open(self.few_samples(), self.game))
        elif piece == "self-play":
            size = next(iter(self.scale.networks))
            experts = self.places.work / f"{size}-single" / "run" / "experts"
            yield from self.measures.self_play(size, experts if experts.exists() else None)
        else:
            yield from self.training(piece)

    def experts_from_one(self, piece: str) -> Iterator[Measurement]:
        """Yields the speed and the losses of a first network, then runs the comparison, which records its own rows."""
        gpu_set, data = self.sets[piece], self.samples()
        if not gpu_set.is_begun:
            run(*gpu_set.first_words())
        elif not gpu_set.has_first:
            run("train", "--resume", str(gpu_set.first))
        description = {"network": gpu_set.network, "game": gpu_set.game, "seed": gpu_set.seed} | self.measures.device()
        yield f"{piece}, first network, training", lambda: speed_of(gpu_set.first) | description
        for phase, loss in numbers_of(gpu_set.first)["losses"][-1]["loss"].items():
            if loss is not None:
                row = {"value": round(loss, 4), "unit": "loss"} | description
                yield f"{piece}, first network, loss, {phase}", lambda row=row: row
        samples = round(epochs_of(gpu_set.first) * len(Dataset.open(data / "train", self.game)))
        for file in sorted(self.places.openings.glob("*.xz"))[:1]:
            gpu_set.openings = unpacked(file, self.places.work / "openings")
        count = {"value": samples, "unit": "positions"} | description
        yield f"{piece}, first network, positions", lambda: count | {"rows": len(gpu_set.compare(samples, call))}
        for part, seconds in gpu_set.seconds().items():
            row = {"value": seconds, "unit": "s", "processes": gpu_set.amounts.workers} | description
            yield f"{piece}, {part}", lambda row=row: row

    def few_samples(self) -> Path:
        """Returns a dataset of the games not meant for training, which takes only seconds to import."""
        data = self.places.work / "few"
        if not data.exists():
            files = self._files()
            few = [path for path in files if "train" not in path.name] or files
            run("data", "import", *map(str, few), "--out", str(data), *IMPORT)
        return data / "train"

    def samples(self) -> Path:
        """Imports all games, split by the papers' months for validation and test."""
        data = self.places.work / "data"
        if not data.exists():
            run("data", "import", *map(str, self._files()), "--out", str(data), *SPLIT, *IMPORT)
        return data

    def training(self, piece: str) -> Iterator[Measurement]:
        """Runs a training, and yields its speed and its losses."""
        size, scheme = piece.split("-")
        folder = self.places.work / piece / "run"
        data = self.samples()
        if (folder / "config.toml").exists():
            run("train", "--resume", str(folder))
        else:
            words = ["train", "--game", "chess", "--data", str(data), "--network", self.measures.networks[size]]
            words += ["--gate", GATE, "--scheme", scheme, "--out", str(folder)]
            run(*words, *self._settings(size, epochs=self._epochs(size, scheme, data)))
        yield f"{piece}, training", lambda: speed_of(folder) | self.measures.about(size)
        for phase, loss in numbers_of(folder)["losses"][-1]["loss"].items():
            if loss is not None:
                row = {"value": round(loss, 4), "unit": "loss"} | self.measures.about(size)
                yield f"{piece}, loss, {phase}", lambda row=row: row

    def _do_rows(self, piece: str, file: Path) -> bool:
        """Appends the missing rows of a piece as they are measured; returns whether none has failed."""
        done_names = {row["name"] for row in rows_in(file) if "failed" not in row}
        failed = 0
        for name, find in self.measurements(piece):
            if (full_name := f"gpu plan, {name}") in done_names:
                continue
            done_names.add(full_name)
            try:
                measurement = find()
            except Exception as error:
                # The other rows are still worth measuring.
                traceback.print_exc()
                measurement = {"value": 0, "unit": "", "failed": f"{type(error).__name__}: {error}"}
            row = {"name": full_name} | measurement | origin(f"benchmarks/gpu_plan.sh OUT {piece}")
            with file.open("a") as rows:
                rows.write(json.dumps(row) + "\n")
            print(format_row(row), flush=True)
            failed += "failed" in row
        return not failed

    def _files(self) -> list[Path]:
        files = sorted(path for path in self.places.games.glob("*") if ".pgn" in path.name)
        if not files:
            raise SystemExit(f"expected PGN files in {self.places.games}, found none; name their folder: --games=")
        return files

    def _settings(self, size: str, **changes: Any) -> list[str]:
        settings = self.scale.training(self._way(size), self.scale.encoders[-1]).model_dump(exclude_unset=True)
        values = {key: value for key, value in (settings | changes).items() if value is not None}
        return [word for key, value in values.items() for word in ("--set", f"training.{key}={json.dumps(value)}")]

    def _way(self, size: str) -> ComputeMode:
        """Returns the fastest measured way of training."""
        rows = [row for row in rows_in(self.places.work / "speed" / "rows.jsonl") if row.get("size") == size]
        fastest = max(rows, key=lambda row: row["value"])["way"] if rows else str(USUAL)
        return next(way for way in COMPUTE_MODES if str(way) == fastest)

    def _epochs(self, size: str, scheme: str, data: Path) -> float:
        """Returns the number of passes over the samples."""
        single = self.places.work / f"{size}-single" / "run" / "config.toml"
        if self.epochs is not None:
            return self.epochs
        if scheme == "separated" and single.exists():
            return epochs_of(single.parent)
        training = Dataset.open(data / "train", self.game)
        held_out = Dataset.open(data / "validation", self.game).split(0.05, 0)[1]
        settings = self.scale.training(self._way(size), self.scale.encoders[-1])
        config = LearningConfig(game="chess", network=self.measures.networks[size], training=settings)
        probe = probe_training(
            config, self.game, Sources(training, held_out), num_steps=self.scale.steps, warm_up=self.scale.warm_up
        )
        minutes = MINUTES[f"{size}-{scheme}"] if self.minutes is None else self.minutes
        cost = plugins().scheme(scheme).cost(plugins().gate(GATE, self.game).num_phases)
        # A tenth is reserved for evaluations, saved states and tables.
        return max(0.9 * 60 * minutes * probe.rate / cost, 100) / len(training)

    def _killed(self) -> Row:
        """Returns a row with the loss of a training that was killed and resumed, and of the same training
        uninterrupted.
        """
        data = self.few_samples()
        rows = len(Dataset.open(data, self.game).split(0.05, 0)[0])
        steps = self.scale.checked_steps
        epochs = steps / math.ceil(rows / self.scale.batch_size)
        words = ["train", "--game", "chess", "--data", str(data)]
        words += ["--network", self.measures.networks["resnet"]]
        changes: Row = {"epochs": epochs, "save_interval": max(1, steps // 5), "learning_rate": 0.02}
        words += self._settings("resnet", **changes)
        with tempfile.TemporaryDirectory() as place:
            uninterrupted, killed = Path(place) / "whole", Path(place) / "killed"
            run(*words, "--out", str(uninterrupted))
            run(*words, "--out", str(killed), kill_when=lambda: any(killed.rglob("resume.safetensors")))
            run("train", "--resume", str(killed))
            losses = [numbers_of(folder)["losses"][-1]["loss"]["all"] for folder in (uninterrupted, killed)]
        row = {"value": round(losses[1], 4), "unit": "loss", "left_alone": round(losses[0], 4), "steps": steps}
        if not abs(losses[1] / losses[0] - 1) < 0.05:
            row["failed"] = f"expected about {losses[0]:.4f}, as when it is left alone"
        return row | self.measures.about("resnet")


def speed_of(folder: Path) -> Row:
    """Returns a row with the speed of a training."""
    timings = [json.loads(line) for line in (folder / "training" / "timings.jsonl").read_text().splitlines()]
    with (folder / "config.toml").open("rb") as file:
        training = tomllib.load(file)["training"]
    fastest = max(timing["positions_per_second"] for timing in timings)
    row = {"value": round(fastest), "unit": "positions/s", "timings": timings[-3:], "epochs": training["epochs"]}
    return row | {"precision": training["precision"], "channels_last": training.get("channels_last", False)}


def epochs_of(training: Path) -> float:
    """Returns the configured number of passes of a training."""
    with (training / "config.toml").open("rb") as file:
        return float(tomllib.load(file)["training"]["epochs"])


def numbers_of(training: Path) -> dict[str, Any]:
    """Returns the numbers of a training's report."""
    numbers: dict[str, Any] = json.loads((training / "report" / "numbers.json").read_text())
    return numbers


def rows_in(file: Path) -> list[Row]:
    """Returns the rows of a file, or none if it does not exist."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def format_row(row: Row) -> str:
    """Returns a row as a line of text."""
    failure = f": FAILED, {row['failed']}" if "failed" in row else ""
    return f"{row['name']}: {row['value']:,} {row['unit']}{failure}"


def run(*words: str, kill_when: Callable[[], bool] | None = None) -> None:
    """Calls `moemcts`, and kills it once `kill_when` returns true.

    On an interrupt the called program saves its state; then raises KeyboardInterrupt. Raises SystemExit if the call
    fails.
    """
    print("moemcts", *words, flush=True)
    call(*MOEMCTS, *words, kill_when=kill_when)


def call(*argv: str, kill_when: Callable[[], bool] | None = None) -> None:
    """Calls a program as `run` does for `moemcts`."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        child = subprocess.Popen(argv)
        is_killed = False
        while kill_when is not None and child.poll() is None and not is_killed:
            time.sleep(0.01)
            if is_killed := kill_when():
                child.kill()
        status = child.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    if status in (130, -signal.SIGINT):
        raise KeyboardInterrupt
    if status and not is_killed:
        raise SystemExit(f"{' '.join(argv[:4])}: failed with status {status}")


def collect(folder: Path, *, is_recorded: bool) -> None:
    """Prints the transferred rows; appends new ones that have not failed to the results."""
    files = sorted(folder.rglob("*.jsonl"))
    for table in ("gpu", "chess"):
        rows = [row for file in files if file.name.endswith(ROWS) == (table == "chess") for row in rows_in(file)]
        for row in rows:
            print(format_row(row))
        recorded = latest(table)
        if is_recorded:
            append(table, [row for row in rows if "failed" not in row and recorded.get(row["name"]) != row])


def main() -> None:
    """Runs one piece, or collects the transferred rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="folder of what comes back")
    parser.add_argument("--piece", choices=PIECES)
    parser.add_argument("--collect", action="store_true", help="show the rows that came back in OUT")
    parser.add_argument("--games", type=Path, default=ROOT / ".gpu" / "games", help="folder of PGN files")
    parser.add_argument("--parcels", type=Path, default=ROOT / ".gpu" / "parcels", help="what came back before")
    parser.add_argument("--openings", type=Path, default=ROOT / ".gpu" / "openings", help="folder of start positions")
    parser.add_argument("--work", type=Path, default=Path("/tmp/moemcts-gpu"), help="folder of this machine")
    parser.add_argument("--minutes", type=float, help="of every training; without it, as planned")
    parser.add_argument("--epochs", type=float, help="of every training, instead of minutes")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true", help="check and speed with a third of everything")
    parser.add_argument("--dry-run", action="store_true", help="next to nothing, on a CPU")
    add_option(parser)
    options = parser.parse_args()
    if options.collect:
        collect(options.out, is_recorded=options.record)
        return
    if options.piece is None:
        parser.error("expected --piece or --collect")
    if not options.dry_run and options.device.startswith("cuda") and not torch.cuda.is_available():
        raise SystemExit(f"expected a GPU for device {options.device!r}, torch {torch.__version__} finds none")
    places = Places(
        games=options.games, parcels=options.parcels, openings=options.openings, work=options.work, out=options.out
    )
    scale = Scale.of(options.device, is_dry=options.dry_run, is_quick=options.quick)
    minutes = 0.0 if options.dry_run else options.minutes
    amounts = Amounts.of(scale.device, is_dry=options.dry_run)
    network = TINY if options.dry_run else ""
    plan = Plan(places, scale, minutes=minutes, epochs=options.epochs, amounts=amounts, network=network)
    try:
        sys.exit(0 if plan.do(options.piece) else 1)
    except KeyboardInterrupt:
        print(f"{options.piece}: cut off; the same command goes on", file=sys.stderr)
        sys.exit(CUT_OFF)


if __name__ == "__main__":
    main()
