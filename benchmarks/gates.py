"""Clusters found by learned gates in chess games, and losses of experts behind them on held-out games of Pommerman.

python benchmarks/gates.py FILE.pgn.zst [--samples 30000] [--epochs 5] [--seeds 1] [--record]

First, k-means clusters of the input planes of chess are compared with Lichess' gate by the adjusted Rand index. Then,
on games of Pommerman's SimpleAgents, there are a single network, experts trained separately behind the game's gates and
behind clusters, and experts trained jointly with a gate network. All have the same size and the same held-out games.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from measuring.record import add_option, append
from measuring.trainings import trained

sys.path.insert(0, str(Path(__file__).parent.parent / "games"))

from moemcts.learn.data.dataset import Dataset
from moemcts.learn.data.generation import generate
from moemcts.learn.data.phase_statistics import agreement, phase_statistics
from moemcts.learn.gates.fitting import fit_clusters
from moemcts.learn.training.config import TrainerConfig
from moemcts.plugins import plugins
from moemcts.runs.sources import Sources
from moemcts_chess.imports import import_pgn

HISTORY = " back,"
"""Part of the names of planes of earlier moves."""
NETWORK = "rise-tiny"


def main() -> None:
    """Runs both parts and prints their rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="games in PGN")
    parser.add_argument("--samples", type=int, default=30_000, help="of Pommerman, to train on and to hold out")
    parser.add_argument("--epochs", type=float, default=5.0)
    parser.add_argument("--seeds", type=int, default=1)
    add_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            *_clusters(_chess(options.file, Path(folder) / "chess")),
            *_experts(_pommerman(options.samples, Path(folder) / "pommerman"), Path(folder), options),
        ]
    if options.record:
        append("gates", rows)


def _chess(file: Path, folder: Path) -> Dataset:
    game = plugins().game("chess")
    import_pgn([file], game, folder, reference="chess")
    return Dataset.open(folder / "train", game)


def _pommerman(num_samples: int, folder: Path) -> Dataset:
    game = plugins().game("pommerman")
    agents = [plugins().agent("simple", game)] * game.spec.num_players
    generate(game, agents, num_samples, seed=0, out=folder, reference="pommerman")
    return Dataset.open(folder, game)


def _clusters(data: Dataset) -> list[dict[str, object]]:
    rows = []
    lichess = plugins().gate("lichess", data.game)
    for name, without in (("all planes", ()), ("planes without earlier moves", (HISTORY,))):
        fit = fit_clusters(data, 3, seed=0, without=without)
        statistics, overlap = phase_statistics(data, fit.gate), agreement(data, fit.gate, lichess)
        row: dict[str, object] = {
            "name": f"kmeans, 3 phases, {name}",
            "positions": len(data),
            "seed": 0,
            "adjusted Rand index with lichess": round(overlap.adjusted_rand, 3),
            "shares": [round(phase.share, 3) for phase in statistics.phases],
            "mean plies": [round(phase.mean_ply, 1) for phase in statistics.phases],
            "returns per player and game": round(statistics.returns_per_game, 3),
            "lichess phases in each": [[round(share, 3) for share in line] for line in overlap.shares],
        }
        print(row, flush=True)
        rows.append(row)
    return rows


def _experts(data: Dataset, folder: Path, options: Any) -> list[dict[str, object]]:
    names = ("none", "steps", "mixedness", "learned")
    gates = {name: plugins().gate(name, data.game) for name in names} | {"kmeans": fit_clusters(data, 3, seed=0).gate}
    schemes = {"none": "single", "learned": "mixture"}
    rows = []
    for seed in range(options.seeds):
        settings = TrainerConfig(seed=seed, epochs=options.epochs, validation_fraction=0.1, device="cpu", threads=1)
        _, held_out = data.split(settings.validation_fraction, seed)
        for name, gate in gates.items():
            team, losses = trained(
                settings,
                data.game,
                NETWORK,
                schemes.get(name, "separated"),
                gate,
                Sources(data),
                folder / f"{name}-{seed}",
            )
            counted = phase_statistics(held_out, team.gate)
            row: dict[str, object] = {
                "name": f"pommerman, {schemes.get(name, 'separated')} by {name}",
                "network": NETWORK,
                "samples": len(data) - len(held_out),
                "held out": len(held_out),
                "epochs": options.epochs,
                "seed": seed,
                "policy loss": round(losses.policy["all"] or 0.0, 4),
                "accuracy": round(losses.accuracy["all"] or 0.0, 4),
                "value loss": round(losses.value["all"] or 0.0, 4),
                "shares": [round(phase.share, 3) for phase in counted.phases],
                "mean plies": [round(phase.mean_ply, 1) for phase in counted.phases],
                "mean top weight": round(counted.mean_top_weight, 3),
            }
            print(row, flush=True)
            rows.append(row)
    return rows


if __name__ == "__main__":
    main()
