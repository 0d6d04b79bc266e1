"""One piece of `benchmarks/gpu_plan.sh`: an import, a training that fits its minutes, or a measurement of speed.

    python benchmarks/gpu_plan.py GAMES OUT --piece PIECE [--minutes 8] [--device cuda] [--dry-run] [--record]
    python benchmarks/gpu_plan.py --list

A training's length follows from a short measurement of its speed. Experts see as many samples in all as the single
network of their size; staged ones, whose trainings are one after the other, take three times as long per sample and see
what their minutes allow. All of it is `moemcts train`, and goes on with `moemcts train --resume OUT/PIECE`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from record import add_option, append

from moemcts.arena import Conditions, Lineup, openings_from_seeds, play_games
from moemcts.experts import ROUTINGS, ExpertSet
from moemcts.game import Game
from moemcts.learn.checkpoint import load_experts, load_networks
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.inference.backends import Inference, Precision
from moemcts.learn.inference.torch_evaluator import TorchEvaluator
from moemcts.learn.training.config import TrainerConfig
from moemcts.plugins import plugins
from moemcts.runs.arms import single_arm
from moemcts.runs.learning import train_experts
from moemcts.runs.settings import LearningConfig
from moemcts.runs.sources import Sources
from moemcts.search import SearchAgent, SearchConfig

GATE = "lichess"
NETWORKS = {"rise": "rise-v3.3?value_head=wdlp", "resnet": "resnet?channels=128&blocks=10&value_head=wdlp"}
TINY = "resnet?channels=4&blocks=1&value_head=wdlp"
MINUTES = {"rise-single": 8.0, "rise-separated": 8.0, "resnet-single": 4.0, "resnet-separated": 4.0, "rise-staged": 9.0}
"""The trainings, in the order of their worth, and how long each may take: 33 minutes, the rest is import and speeds."""
PIECES = ("import", *MINUTES, "speed")
SPLIT = ("--validation", "2012-09", "--test", "2017-05", "--min-plies", "10")
"""The papers' months."""
BATCHES = (1, 8, 64, 256, 1024, 4096)
PRECISIONS: tuple[Precision, ...] = ("float32", "bf16")
PARCEL = 15 * 2**20
MOEMCTS = (sys.executable, "-c", "from moemcts.cli.main import main; main()")


@dataclass(frozen=True)
class Scale:
    """How much of everything there is."""

    networks: Mapping[str, str]
    device: str
    batch_size: int
    precision: str
    probe: int
    """Samples in the measurement of a training's speed."""
    batches: Sequence[int]
    seconds: float
    """Of each measurement of inference."""
    games: int
    """That self-play plays at once."""
    simulations: int
    plies: int

    @classmethod
    def of(cls, device: str, *, is_dry: bool) -> Scale:
        """Returns what a GPU is asked, or the same with next to nothing."""
        if is_dry:
            return cls(dict.fromkeys(NETWORKS, TINY), "cpu", 16, "float32", 64, (1, 8), 0.02, 2, 4, 1)
        return cls(NETWORKS, device, 2048, "bf16", 200_000, BATCHES, 2.0, 256, 200, 6)


class Plan:
    """The folder of all pieces."""

    def __init__(self, games: Path, folder: Path, scale: Scale, minutes: float | None) -> None:
        """With `minutes`, every training takes as long."""
        self.games = games
        self.folder = folder
        self.scale = scale
        self.minutes = minutes
        self.game: Game = plugins().game("chess")

    @property
    def data(self) -> Path:
        """Where the imported games are."""
        return self.folder / "data"

    def do(self, piece: str) -> list[dict[str, Any]]:
        """Does one piece, or what is missing of it, and returns its rows."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if piece != "import" and not self.data.exists():
            self.read_games()
        rows = self.read_games() if piece == "import" else self.measure() if piece == "speed" else self.train(piece)
        (self.folder / f"{piece}.json").write_text(json.dumps(rows, indent=1) + "\n")
        self.pack(piece)
        return rows

    def read_games(self) -> list[dict[str, Any]]:
        """Imports the PGN files, by the months that the papers keep for validation and test."""
        if not self.data.exists():
            files = sorted(path for path in self.games.iterdir() if ".pgn" in path.name)
            if not files:
                raise SystemExit(f"expected PGN files in {self.games}, found none")
            run("data", "import", *map(str, files), "--out", str(self.data), *SPLIT)
        samples = len(Dataset.open(self.data / "train", self.game))
        return [{"name": "gpu plan, samples", "value": samples, "unit": "positions", "seed": 0}]

    def train(self, piece: str) -> list[dict[str, Any]]:
        """Trains one set of experts for as long as it may take."""
        folder = self.folder / piece
        if (folder / "config.toml").exists():
            run("train", "--resume", str(folder))
        else:
            size, scheme = piece.split("-")
            epochs = self._epochs(size, scheme)
            settings = {f"training.{key}": value for key, value in (self._training() | {"epochs": epochs}).items()}
            words = ["train", "--game", "chess", "--data", str(self.data), "--network", self.scale.networks[size]]
            words += ["--gate", GATE, "--scheme", scheme, "--out", str(folder)]
            single = self.folder / f"{size}-single"
            if scheme != "single" and (single / "experts").exists():
                words += ["--baseline", str(single)]
            run(*words, *(word for key, value in settings.items() for word in ("--set", f"{key}={value}")))
        return list(self._learned(piece))

    def measure(self) -> list[dict[str, Any]]:
        """Measures networks alone by batch, and how much of that is left in self-play."""
        rows: list[dict[str, Any]] = []
        for size in self.scale.networks:
            folder = self.folder / f"{size}-single" / "experts"
            if not folder.exists():
                continue
            about = {"unit": "positions/s", "network": self.scale.networks[size], "seed": 0} | self._device()
            network = load_networks(folder, self.game, plugins()).networks[0]
            for precision in PRECISIONS:
                experts = self._experts(folder, precision)
                said = "" if precision == "float32" else f", {precision}"
                alone = TorchEvaluator(network, self.scale.device, precision)
                rates = {batch: self._inference_rate(alone, batch) for batch in self.scale.batches}
                rows += [
                    {"name": f"gpu plan, {size}{said}, inference, batch {batch}", "value": round(rate)} | about
                    for batch, rate in rates.items()
                ]
                for groups in (1, 2):
                    rate, batch = self._self_play_rate(experts, groups)
                    near = min(rates, key=lambda one, batch=batch: abs(np.log(one / batch)))
                    more = "" if groups == 1 else f", {groups} groups in flight"
                    row = {"name": f"gpu plan, {size}{said}, self-play{more}", "value": round(rate)}
                    row |= {"mean_batch": round(batch, 1), "of_batch": near}
                    rows.append(row | {"share_of_inference": round(rate / rates[near], 4)} | about)
            rows += [row | about for row in self._routings(self.folder / f"{size}-separated" / "experts", size)]
        return rows

    def _experts(self, folder: Path, precision: Precision, routing: str = "each") -> ExpertSet:
        return load_experts(
            folder,
            self.game,
            plugins(),
            device=self.scale.device,
            routing=ROUTINGS[routing],
            inference=Inference("torch", precision),
        )

    def _routings(self, folder: Path, size: str) -> Iterator[dict[str, Any]]:
        """Yields how fast several experts are one after the other and all at once, a third of a batch each."""
        if not folder.exists():
            return
        teams = {name: self._experts(folder, "bf16", name) for name in ("each", "stacked")}
        for batch in self.scale.batches:
            views = self.game.views([(self.game.initial_state(number), 0) for number in range(batch)])
            shares = np.eye(3, dtype=np.float32)[np.arange(batch) % 3]
            for name, team in teams.items():
                team.routing(views, shares, team.experts)
                calls, started = 0, time.perf_counter()
                while time.perf_counter() - started < self.scale.seconds:
                    team.routing(views, shares, team.experts)
                    calls += 1
                rate = batch * calls / (time.perf_counter() - started)
                yield {"name": f"gpu plan, {size}, bf16, {name}, batch {batch}", "value": round(rate)}

    def pack(self, piece: str) -> None:
        """Puts what is worth keeping of a piece into parcels of a size that travels."""
        target = self.folder / "parcels"
        target.mkdir(exist_ok=True)
        for old in target.glob(f"{piece}.tar.gz.*"):
            old.unlink()
        with tempfile.TemporaryFile() as file:
            with tarfile.open(fileobj=file, mode="w:gz") as archive:
                archive.add(self.folder / f"{piece}.json", f"{piece}/rows.json")
                for path in sorted((self.folder / piece).rglob("*")):
                    inside = path.relative_to(self.folder)
                    if path.is_file() and "stages" not in inside.parts:
                        archive.add(path, str(inside))
            file.seek(0)
            number = 0
            while part := file.read(PARCEL):
                (target / f"{piece}.tar.gz.{number:02}").write_bytes(part)
                number += 1

    def _training(self) -> dict[str, Any]:
        """The papers' settings for large networks."""
        return {
            "batch_size": self.scale.batch_size,
            "optimiser": "nag",
            "schedule": "one_cycle",
            "learning_rate": 0.14,
            "momentum": 0.95,
            "policy_weight": 0.988,
            "value_weight": 0.01,
            "precision": self.scale.precision,
            "device": self.scale.device,
            "augment": False,
            "encoders": max(1, min(12, (os.cpu_count() or 2) - 2)),
            "prefetch": 8,
            "validation_interval": 500,
            "measured_samples": 8000,
            "save_interval": 200,
        }

    def _epochs(self, size: str, scheme: str) -> float:
        """Returns how many passes fit: for experts by themselves those of the single network, where there is one."""
        single = self.folder / f"{size}-single" / "config.toml"
        if scheme == "separated" and single.exists():
            return epochs_of(single.parent)
        dataset = Dataset.open(self.data / "train", self.game)
        minutes = MINUTES[f"{size}-{scheme}"] if self.minutes is None else self.minutes
        cost = plugins().scheme(scheme).cost(plugins().gate(GATE, self.game).num_phases)
        # A tenth is for measurements, states and tables.
        return max(0.9 * 60 * minutes * self._training_rate(size, dataset) / cost, 100) / len(dataset)

    def _training_rate(self, size: str, dataset: Dataset) -> float:
        """Returns the samples per second that a single network learns from, its first steps left out."""
        rates: list[float] = []
        training = TrainerConfig(**(self._training() | {"epochs": self.scale.probe / len(dataset)}))
        sources = Sources(dataset, Dataset.open(self.data / "validation", self.game).split(0.05, 0)[1])
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            train_experts(
                LearningConfig(game="chess", network=self.scale.networks[size], training=training),
                self.game,
                single_arm(self.scale.networks[size]),
                plugins().gate("none", self.game),
                sources,
                training_folder=Path(folder) / "training",
                experts_folder=Path(folder) / "experts",
                on_progress=lambda state: rates.append(state.samples_per_second),
            )
        return max([*rates[-1:], self.scale.probe / (time.perf_counter() - started)])

    def _learned(self, piece: str) -> Iterator[dict[str, Any]]:
        """Yields the speed of a training, and its losses by phase."""
        folder = self.folder / piece
        about = {"network": self.scale.networks[piece.split("-")[0]], "seed": 0} | self._device()
        lines = (folder / "training" / "timings.jsonl").read_text().splitlines()
        timings = [json.loads(line) for line in lines]
        yield {"name": f"gpu plan, {piece}, training", "unit": "positions/s", "timings": timings[-3:]} | about
        numbers = json.loads((folder / "report" / "numbers.json").read_text())
        yield {"name": f"gpu plan, {piece}, losses", "numbers": numbers} | about

    def _inference_rate(self, network: TorchEvaluator, batch: int) -> float:
        """Returns evaluations per second of planes that lie ready."""
        planes = np.random.default_rng(0).random((batch, *self.game.spec.observation_shape), dtype=np.float32)
        network.evaluate_planes(planes)
        calls, started = 0, time.perf_counter()
        while time.perf_counter() - started < self.scale.seconds:
            network.evaluate_planes(planes)
            calls += 1
        return batch * calls / (time.perf_counter() - started)

    def _self_play_rate(self, experts: Any, groups: int) -> tuple[float, float]:
        """Returns evaluations per second in games played side by side, and the mean batch."""
        config = SearchConfig(simulations=self.scale.simulations, leaves_per_tree=8, noise_fraction=0.25)
        agent = SearchAgent(self.game, experts, config, in_flight=groups)
        boards = openings_from_seeds(self.scale.games)
        lineups = [
            Lineup(agents=[agent, agent], opening=board.start, opening_name=board.name, seed=number)
            for number, board in enumerate(boards)
        ]
        conditions = Conditions(max_parallel=self.scale.games, max_plies=self.scale.plies)
        started = time.perf_counter()
        for _ in play_games(self.game, lineups, conditions):
            pass
        seconds = time.perf_counter() - started
        return agent.num_evaluations / seconds, agent.num_evaluations / agent.num_batches

    def _device(self) -> dict[str, str]:
        name = torch.cuda.get_device_name() if self.scale.device.startswith("cuda") else "cpu"
        return {"device": name, "torch": torch.__version__}


def epochs_of(training: Path) -> float:
    """Returns how many passes a training was given."""
    with (training / "config.toml").open("rb") as file:
        return float(tomllib.load(file)["training"]["epochs"])


def run(*words: str) -> None:
    """Calls `moemcts`; raises SystemExit with its status where it fails."""
    command = [*MOEMCTS, *words]
    print("moemcts", *words, flush=True)
    done = subprocess.run(command, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)


def main() -> None:
    """Does one piece, and prints its rows; appends them to the results where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", type=Path, nargs="?", help="folder of PGN files")
    parser.add_argument("out", type=Path, nargs="?", help="folder of all pieces")
    parser.add_argument("--list", action="store_true", help="name the pieces")
    parser.add_argument("--piece", choices=PIECES)
    parser.add_argument("--minutes", type=float, help="of every training; without it, as planned")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dry-run", action="store_true", help="next to nothing, on a CPU")
    add_option(parser)
    options = parser.parse_args()
    if options.list:
        print("\n".join(PIECES))
        return
    if options.games is None or options.out is None or options.piece is None:
        parser.error("expected GAMES, OUT and --piece")
    minutes = 0.0 if options.dry_run else options.minutes
    plan = Plan(options.games, options.out, Scale.of(options.device, is_dry=options.dry_run), minutes)
    rows = plan.do(options.piece)
    for row in rows:
        print(json.dumps(row)[:300])
    if options.record:
        append("gpu", [row for row in rows if "value" in row])


if __name__ == "__main__":
    main()
