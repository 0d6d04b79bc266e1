"""Positions per second from disk through an optimiser step, and the share of time spent waiting for data.

python benchmarks/training_speed.py DATA [--game chess] [--network NAME] [--samples 60000] [--device cuda]
                                    [--ways float32 "float32, channels last" bf16 "bf16, channels last"] [--rounds 1]
                                    [--threads 1] [--encoders 2] [--processes 1] [--compiled] [--record]

DATA is a dataset, or an import with train and validation in it. One process trains one network; the time does not
include evaluations. With several processes, each trains its own network, as experts are trained in parallel, and their
rates are added up. Several ways of training take turns for `--rounds` rounds: the ratio to the first is the median over
rounds, in processor time because of other load. On a GPU both are wall time, over steps after the warm-up, as many as
`--samples` make but at least 64. With `--compiled` no network is trained: plain and compiled steps take turns for
`--rounds` rounds; a row has the fastest of each, their ratio, and the seconds of compilation.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
import torch._inductor.config
from measuring.probing import Probe, probe_training, train_single
from measuring.record import add_option, append, without_places

from moemcts.game import Game
from moemcts.learn.training.compiling import measure_compiling
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.progress import Progress
from moemcts.learn.training.speed import COMPUTE_MODES, with_mode
from moemcts.plugins import plugins
from moemcts.runs.settings import DataConfig, LearningConfig
from moemcts.runs.sources import Sources, open_sources


def main() -> None:
    """Trains and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a dataset, or an import")
    parser.add_argument("--game", default="chess")
    parser.add_argument("--network", default="resnet?channels=32&blocks=4")
    parser.add_argument("--samples", type=int, default=60_000, help="how many it learns from, each time")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--ways", nargs="+", choices=[str(way) for way in COMPUTE_MODES], default=["float32"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--encoders", type=int, help="threads that encode batches; as in a training by default")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--compiled", action="store_true", help="steps alone, plain and by torch.compile")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    add_option(parser)
    options = parser.parse_args()
    if options.compiled:
        rows = compared(options)
    else:
        rows = side_by_side(options.processes) if options.processes > 1 else measured(options)
    for row in rows:
        print(row)
    if options.record:
        sys.argv = without_places(sys.argv, {options.data: "DATA"})
        append("training", rows)


def side_by_side(number: int) -> list[dict[str, object]]:
    """Trains in `number` processes at the same time; returns the rows with their rates added up."""
    arguments = [word for word in sys.argv[1:] if word != "--record"]
    # The last occurrence of an option counts.
    command = [sys.executable, str(Path(__file__).resolve()), *arguments, "--processes", "1"]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(number)]
    outputs = [worker.communicate()[0].splitlines() for worker in workers]
    together = []
    for lines in zip(*outputs, strict=True):
        rows = [ast.literal_eval(line) for line in lines]
        name = f"{rows[0]['name']}, {number} processes"
        together.append(rows[0] | {"name": name, "value": sum(row["value"] for row in rows)})
    return together


def measured(options: argparse.Namespace) -> list[dict[str, object]]:
    """Trains in every requested way; returns a row for each."""
    game = plugins().game(options.game)
    network = plugins().complete_network(options.network, game)
    sources = open_sources(DataConfig(folder=str(options.data)), options.data, game)
    settings = TrainerConfig(
        epochs=options.samples / len(sources.training),
        batch_size=options.batch_size,
        device=options.device,
        measured_samples=1000,
        threads=options.threads,
    )
    if options.encoders:
        settings = settings.model_copy(update={"encoders": options.encoders, "prefetch": options.encoders + 4})
    config = LearningConfig(game=options.game, network=network, training=settings)
    rates: dict[str, list[float]] = {way: [] for way in options.ways}
    spent: dict[str, list[float]] = {way: [] for way in options.ways}
    waiting = dict.fromkeys(options.ways, 0.0)
    for _ in range(options.rounds):
        for way in COMPUTE_MODES:
            if str(way) in rates:
                variant = config.model_copy(update={"training": with_mode(settings, way)})
                probe, cost = timed(variant, game, sources, options.samples)
                spent[str(way)].append(cost)
                rates[str(way)].append(probe.rate)
                waiting[str(way)] = probe.waiting
    first = spent[options.ways[0]]
    rows: list[dict[str, object]] = []
    for way in options.ways:
        threads_note = f", {options.threads} threads" if options.threads > 1 else ""
        threads_note += f", {options.encoders} encoders" if options.encoders else ""
        row: dict[str, object] = {
            "name": f"training, {options.game}, {network}, {options.device} {way}{threads_note}",
            "value": round(statistics.median(rates[way])),
            "unit": "positions/s",
            "waiting": round(waiting[way], 4),
            "samples": options.samples,
            "batch_size": options.batch_size,
            "seed": 0,
        }
        if len(options.ways) > 1:
            pairs = zip(first, spent[way], strict=True)
            row |= {"ratio": round(statistics.median(a / b for a, b in pairs), 2), "runs": options.rounds}
        rows.append(row)
    return rows


def compared(options: argparse.Namespace) -> list[dict[str, object]]:
    """Runs plain and compiled steps, with cold compilation caches; returns a row for each way."""
    game = plugins().game(options.game)
    shape = game.spec.observation_shape
    name = plugins().complete_network(options.network, game)
    network = plugins().network(name, shape, game.spec.num_actions)
    rows: list[dict[str, object]] = []
    for way in (way for way in COMPUTE_MODES if str(way) in options.ways):
        torch.compiler.reset()
        with torch._inductor.config.patch(force_disable_caches=True):
            costs = measure_compiling(
                network,
                shape,
                options.batch_size,
                options.threads,
                way,
                device=torch.device(options.device),
                turns=options.rounds,
            )
        assert costs is not None
        threads_note = f", {options.threads} threads" if options.threads > 1 else ""
        rows.append(
            {
                "name": f"steps, {options.game}, {name}, {options.device} {way}{threads_note}, compiled",
                "value": round(options.batch_size / costs.compiled),
                "unit": "positions/s",
                "ratio": round(costs.plain / costs.compiled, 2),
                "seed": 0,
                "compiling": round(costs.compiling, 1),
                "batch_size": options.batch_size,
                "runs": options.rounds,
            }
        )
    return rows


def timed(config: LearningConfig, game: Game, sources: Sources, num_samples: int) -> tuple[Probe, float]:
    """Trains a network once; returns its speed, and the cost for comparisons: seconds of processor time.

    On a GPU, the first steps, which select and load kernels, are excluded, and the cost is wall time per sample.
    """
    if config.training.device.startswith("cuda"):
        steps = max(64, round(num_samples / config.training.batch_size))
        probe = probe_training(config, game, sources, num_steps=steps)
        return probe, 1 / probe.rate
    began = time.process_time()
    probe = train(config, game, sources)
    return probe, time.process_time() - began


def train(config: LearningConfig, game: Game, sources: Sources) -> Probe:
    """Trains a network once; returns its positions per second and the share of time spent waiting."""
    probes: list[Probe] = []

    def follow(state: Progress) -> None:
        probes[:] = [Probe(state.samples_per_second, state.waiting)]

    train_single(config, game, sources, follow)
    return probes[0]


if __name__ == "__main__":
    main()
