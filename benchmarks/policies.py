"""How confident policies are, and how much of their loss concerns legal actions, as rows of results.

    python benchmarks/policies.py DATA --name NAME --experts FOLDER [--name NAME --experts FOLDER ...] [--game chess]
                                  [--positions 20000] [--record]

Training losses include all actions, even illegal ones, but a search uses only the legal ones. On positions spread over
a dataset, for each set of experts: the cross-entropy over all actions and over the legal ones, the probability of
illegal actions, and, after masking these, the entropy, the mean probability of the most likely action and how often it
was played. The seed of a row is that of its training.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from measuring.record import add_option, append

from moemcts.evaluation import Evaluator
from moemcts.learn.checkpoint import load_experts
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.threads import torch_threads
from moemcts.plugins import plugins
from moemcts.store import MANIFEST, read_toml

CHUNK = 1024
"""Batch size."""
MEASURES = ("loss", "loss, legal", "illegal", "entropy", "likeliest", "accuracy, legal")


def main() -> None:
    """Measures and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a dataset that no experts learned from")
    parser.add_argument("--name", action="append", required=True, help="of a row, once per folder of experts")
    parser.add_argument("--experts", action="append", required=True, help="a folder")
    parser.add_argument("--game", default="chess")
    parser.add_argument("--positions", type=int, default=20_000)
    add_option(parser)
    options = parser.parse_args()
    game = plugins().game(options.game)
    dataset = Dataset.open(options.data, game)
    dataset = dataset.take(np.linspace(0, len(dataset) - 1, min(options.positions, len(dataset))).astype(np.int64))
    rows: list[dict[str, object]] = []
    for name, folder in zip(options.name, options.experts, strict=True):
        shape = shape_of(load_experts(Path(folder), game, plugins()), dataset)
        seed = read_toml(Path(folder) / MANIFEST)["seed"]
        rows.append({"name": name, "game": options.game, "seed": seed, "positions": len(dataset), **shape})
        print(*rows[-1].values())
    if options.record:
        append("policies", rows)


def shape_of(evaluator: Evaluator, dataset: Dataset) -> dict[str, float]:
    """Returns the means of `MEASURES` over all positions of a dataset."""
    columns = []
    for start in range(0, len(dataset), CHUNK):
        rows = np.arange(start, min(start + CHUNK, len(dataset)))
        views, actions = dataset.views(rows), dataset.actions(rows)
        with torch_threads(1):
            logits = evaluator.evaluate(views).logits.astype(np.float64)
        columns.append(per_position(logits, views.legal_mask(), actions))
    means = np.concatenate(columns, axis=1).mean(axis=1)
    return {name: round(float(mean), 4) for name, mean in zip(MEASURES, means, strict=True)}


def per_position(logits: np.ndarray, legal: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Returns the `MEASURES` of logits `[N, A]` for the actions played, `[N]`, as `[6, N]`."""
    chosen = logits[np.arange(len(actions)), actions]
    everything, masked = log_sums(logits), np.where(legal, logits, -np.inf)
    among_legal = log_sums(masked)
    logarithms = np.where(legal, logits - among_legal[:, None], 0.0)
    probabilities = np.where(legal, np.exp(logarithms), 0.0)
    return np.stack(
        [
            everything - chosen,
            among_legal - chosen,
            1 - np.exp(among_legal - everything),
            -(probabilities * logarithms).sum(axis=1),
            probabilities.max(axis=1),
            masked.argmax(axis=1) == actions,
        ]
    )


def log_sums(logits: np.ndarray) -> np.ndarray:
    """Returns the log-sum-exp of each row, `[N]`."""
    peaks = logits.max(axis=1)
    return np.asarray(peaks + np.log(np.exp(logits - peaks[:, None]).sum(axis=1)))


if __name__ == "__main__":
    main()
