"""What learned gates find in chess games, and what experts behind them are worth on games held out.

python benchmarks/gates.py FILE.pgn.zst [--positions 20000] [--epochs 1] [--channels 16] [--seeds 1] [--record]

First k-means clusters of the input planes against the gate of Lichess: the adjusted Rand index. Then a single network,
experts trained apart behind either gate, and experts trained together with a gate network, all of the same size and on
the same games. Losses are over legal moves; the held-out games are the same for all.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from record import add_option, append

sys.path.insert(0, str(Path(__file__).parent.parent / "games"))

from moemcts.evaluation import Evaluation, Evaluator, policy_probabilities
from moemcts.experts import ExpertSet
from moemcts.game import Views
from moemcts.learn.assessment import phase_losses
from moemcts.learn.census import agreement, census
from moemcts.learn.config import TrainerConfig
from moemcts.learn.dataset import Dataset
from moemcts.learn.evaluator import TorchEvaluator
from moemcts.learn.fitting import fit_clusters
from moemcts.learn.mixture import fit_team
from moemcts.learn.trainer import Trainer
from moemcts.plugins import plugins
from moemcts_chess.imports import import_pgn

HISTORY = " back,"
"""What the names of planes of earlier moves have in them."""


class Legal:
    """An evaluator whose policy is 0 for illegal moves, so that all are measured alike."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def evaluate(self, views: Views) -> Evaluation:
        found = self._evaluator.evaluate(views)
        policy = policy_probabilities(found.logits, views.legal_mask())
        return Evaluation(np.log(np.maximum(policy, np.float32(1e-30))), found.value)


def main() -> None:
    """Runs both parts and prints their rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="games in PGN")
    parser.add_argument("--positions", type=int, default=20_000, help="to train on, of the first games, whole ones")
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--seeds", type=int, default=1)
    add_option(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = _data(options.file, Path(folder) / "data")
        rows = [*_clusters(data), *_experts(_first(data, options.positions), Path(folder), options)]
    if options.record:
        append("gates", rows)


def _data(file: Path, folder: Path) -> Dataset:
    game = plugins().game("chess")
    import_pgn([file], game, folder, reference="chess")
    return Dataset.open(folder / "train", game)


def _first(data: Dataset, num_positions: int) -> Dataset:
    games = data.games()
    return data.take(np.flatnonzero(games <= games[min(num_positions, len(games)) - 1]))


def _clusters(data: Dataset) -> list[dict[str, object]]:
    rows = []
    lichess = plugins().gate("lichess", data.game)
    for name, without in (("all planes", ()), ("planes without earlier moves", (HISTORY,))):
        fit = fit_clusters(data, 3, seed=0, without=without)
        found, both = census(data, fit.gate), agreement(data, fit.gate, lichess)
        row: dict[str, object] = {
            "name": f"kmeans, 3 phases, {name}",
            "positions": len(data),
            "seed": 0,
            "adjusted Rand index with lichess": round(both.adjusted_rand, 3),
            "shares": [round(phase.share, 3) for phase in found.phases],
            "mean plies": [round(phase.mean_ply, 1) for phase in found.phases],
            "returns per player and game": round(found.returns_per_game, 3),
            "lichess phases in each": [[round(share, 3) for share in line] for line in both.shares],
        }
        print(row, flush=True)
        rows.append(row)
    return rows


def _experts(data: Dataset, folder: Path, options: Any) -> list[dict[str, object]]:
    network = f"resnet?channels={options.channels}&blocks=2&policy_planes=76"
    clusters = fit_clusters(data, 3, seed=0, without=(HISTORY,)).gate
    gates = {name: plugins().gate(name, data.game) for name in ("none", "lichess", "learned")} | {"kmeans": clusters}
    arms = [("none", "single"), ("lichess", "separated"), ("kmeans", "separated"), ("learned", "mixture")]
    rows = []
    for seed in range(options.seeds):
        settings = TrainerConfig(
            seed=seed, epochs=options.epochs, batch_size=256, learning_rate=2e-3, schedule="one_cycle", momentum=0.95,
            validation_fraction=0.1, device="cpu", threads=1,
        )  # fmt: skip
        _, held_out = data.split(settings.validation_fraction, seed)
        for gate, scheme in arms:
            team = fit_team(
                Trainer(settings),
                lambda: plugins().network(network, data.game.spec.observation_shape, data.game.spec.num_actions),
                data,
                gates[gate],
                plugins().curriculum(scheme),
                folder / f"{gate}-{seed}",
            )
            experts = [TorchEvaluator(one.network) for one in team.trained]
            evaluator = Legal(ExpertSet(team.gate, experts))
            (found,) = phase_losses({gate: evaluator}, held_out, gates["lichess"])
            row: dict[str, object] = {
                "name": f"{scheme} experts by {gate}",
                "network": network,
                "positions": len(data) - len(held_out),
                "held out": len(held_out),
                "epochs": options.epochs,
                "seed": seed,
                "policy loss": {name: round(loss, 4) for name, loss in found.policy.items() if loss is not None},
                "accuracy": {name: round(share, 4) for name, share in found.accuracy.items() if share is not None},
                "value loss": {name: round(loss, 4) for name, loss in found.value.items() if loss is not None},
            }
            if scheme == "mixture":
                row["shares"] = [round(phase.share, 3) for phase in census(held_out, team.gate).phases]
                row["mean top weight"] = round(census(held_out, team.gate).mean_top_weight, 3)
                both = agreement(held_out, team.gate, gates["lichess"])
                row["adjusted Rand index with lichess"] = round(both.adjusted_rand, 3)
            print(row, flush=True)
            rows.append(row)
    return rows


if __name__ == "__main__":
    main()
