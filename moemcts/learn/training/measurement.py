"""Means of losses over samples, by a stage's sample weights and by phase."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch

from moemcts.game import FloatArray
from moemcts.learn.data.dataset import CHUNK, Dataset
from moemcts.learn.training.loader import BatchTensors
from moemcts.learn.training.losses import Losses
from moemcts.learn.training.ranks import Ranks

PerSample = Mapping[str, FloatArray]
"""Terms of the loss and accuracy of each sample, `[N]`, by name."""
Summary = dict[str, float]


def loss_columns(losses: Losses) -> dict[str, torch.Tensor]:
    """Returns what is measured of every sample, by its name in the log."""
    return {**losses.terms(), "accuracy": losses.correct}


def measure(
    dataset: Dataset, losses_of: Callable[[BatchTensors], Losses], ranks: Ranks, *, batch_size: int = CHUNK
) -> PerSample:
    """Returns the losses of every sample; each rank computes its share, and all get the whole.

    Batches are not larger than `batch_size`: what fits into memory in a step fits here.
    """
    size = min(batch_size, CHUNK)
    rows = [np.arange(start, min(start + size, len(dataset))) for start in range(0, len(dataset), size)]
    ones = np.ones(len(dataset), dtype=np.float32)
    own: list[dict[str, FloatArray]] = []
    with torch.inference_mode():
        for part in rows[ranks.rank :: ranks.size]:
            losses = losses_of(BatchTensors.of(dataset.batch(part, ones)))
            own.append({name: column.float().cpu().numpy() for name, column in loss_columns(losses).items()})
    shares = ranks.gather(own)
    parts = [shares[i % ranks.size][i // ranks.size] for i in range(len(rows))]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}


def summary(per_sample: PerSample, weights: FloatArray, factors: Mapping[str, float]) -> Summary | None:
    """Returns weighted means, and the loss as the sum of its terms times `factors`; None if no sample has weight."""
    total = weights.sum(dtype=np.float64)
    if not total > 0:
        return None
    means = {name: float(column @ weights.astype(np.float64) / total) for name, column in per_sample.items()}
    loss = sum(factors[name] * mean for name, mean in means.items() if name in factors)
    return {"loss": loss, **means, "weight": float(total)}


def by_phase(
    per_sample: PerSample, phases: FloatArray, names: Sequence[str], factors: Mapping[str, float]
) -> dict[str, Summary | None]:
    """Returns the summary of each phase's samples, given phase weights `[N, K]`."""
    return {name: summary(per_sample, phases[:, k], factors) for k, name in enumerate(names)}
