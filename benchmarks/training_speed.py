"""How many positions a second go from the disk through an optimiser step, and how long the network waits for them.

python benchmarks/training_speed.py DATA [--game chess] [--network NAME] [--samples 60000] [--device cuda] [--record]

DATA is a dataset, or an import with train and validation in it. One network learns, with one process and one thread;
what is measured on the way is left out of the time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from record import add_option, append

from moemcts.learn.training.config import TrainerConfig
from moemcts.plugins import plugins
from moemcts.runs.arms import Arm
from moemcts.runs.learning import train_experts
from moemcts.runs.settings import DataConfig, LearningConfig
from moemcts.runs.sources import open_sources


def main() -> None:
    """Trains and prints; appends to the results where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a dataset, or an import")
    parser.add_argument("--game", default="chess")
    parser.add_argument("--network", default="resnet?channels=32&blocks=4")
    parser.add_argument("--samples", type=int, default=60_000, help="how many it learns from")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--precision", default="float32", help="or bf16")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    add_option(parser)
    options = parser.parse_args()
    game = plugins().game(options.game)
    network = plugins().complete_network(options.network, game)
    sources = open_sources(DataConfig(folder=str(options.data)), options.data, game)
    training = TrainerConfig(
        epochs=options.samples / len(sources.training),
        batch_size=options.batch_size,
        precision=options.precision,
        device=options.device,
        measured_samples=1000,
        threads=1,
    )
    found: dict[str, Any] = {}

    def follow(state: Any) -> None:
        found.update(rate=state.samples_per_second, waiting=state.waiting)

    with tempfile.TemporaryDirectory() as folder:
        train_experts(
            LearningConfig(game=options.game, network=network, training=training),
            game,
            Arm("single", "none", "single"),
            plugins().gate("none", game),
            sources,
            training_folder=Path(folder) / "training",
            experts_folder=Path(folder) / "experts",
            on_progress=follow,
        )
    row: dict[str, object] = {
        "name": f"training, {options.game}, {network}, {options.device} {options.precision}",
        "value": round(found["rate"]),
        "unit": "positions/s",
        "waiting": round(found["waiting"], 4),
        "samples": options.samples,
        "batch_size": options.batch_size,
        "seed": 0,
    }
    print(row)
    if options.record:
        # Where it lies on this machine says nothing to others.
        sys.argv[sys.argv.index(str(options.data))] = "DATA"
        append("training", [row])


if __name__ == "__main__":
    main()
