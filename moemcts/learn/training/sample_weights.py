"""How much each sample counts in a stage: by its phases, or by how near its game is to a phase."""

from __future__ import annotations

import numpy as np

from moemcts.errors import MoemctsError
from moemcts.game import FloatArray, IntArray
from moemcts.gates import PhaseGate
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.training.stages import Stage

FAINTEST = 1 / 64
"""Samples that count less are left out: an epoch is not spent on what hardly counts."""


def sample_weights(stage: Stage, dataset: Dataset, phases: FloatArray) -> FloatArray:
    """Returns how much each sample counts, `[N]`, given phase weights `[N, K]`.

    With a half-life it is `w * 2^(-d / half_life)`, where `d` is how many plies the sample is away from the nearest
    one of its game in a phase that counts, itself first and then the weightier, `w` the weight of that phase; games
    without such a sample do not count.
    """
    weights: FloatArray = phases @ np.array(stage.weights, dtype=np.float32)
    if stage.half_life is None:
        return weights
    own = np.array(stage.weights, dtype=np.float64)[phases.argmax(axis=1)]
    games, plies = dataset.games(), dataset.plies_to_end()
    nearest = np.full(len(own), np.inf)
    near = np.zeros(len(own))
    for weight in sorted({weight for weight in stage.weights if weight > 0}):
        distances = plies_away(games, plies, own == weight)
        is_nearer = (distances >= 0) & (distances <= nearest)
        nearest = np.where(is_nearer, distances, nearest)
        near = np.where(is_nearer, weight * 2.0 ** (-distances / stage.half_life), near)
    near = np.where(own > 0, own, near)
    return np.where(near >= FAINTEST, near, 0.0).astype(np.float32)


def has_samples(stage: Stage, phases: FloatArray) -> bool:
    """Returns whether there is a sample that counts in a stage, given phase weights `[N, K]`."""
    counts = np.array(stage.weights) > 0
    # Nearby ones count only where a sample is in a phase that does.
    return bool(phases[:, counts].any() if stage.half_life is None else counts[phases.argmax(axis=1)].any())


def no_samples(stage: Stage, dataset: Dataset, gate: PhaseGate, name: str, remedy: str) -> MoemctsError:
    """Returns what is raised where a stage has no samples: how many each phase of the gate, so called, has, and what to
    do.
    """
    counts = ", ".join(f"{count:,.0f} of {name}" for name, count in dataset.phase_counts(gate).items())
    return MoemctsError(
        f"no samples to train {stage.describe(gate.phase_names)!r} on: gate {name!r} finds {counts}; {remedy}"
    )


def plies_away(games: IntArray, plies: IntArray, is_in: np.ndarray) -> IntArray:
    """Returns how many plies each sample is away from the nearest one of its game with `is_in`, all `[N]`.

    -1 where the game has none. `plies` may be counted from either end.
    """
    if not is_in.any():
        return np.full(len(games), -1, dtype=np.int64)
    span = int(plies.max()) + 1
    # Games stand far apart on one line of time, so that neighbours on it are neighbours in a game, or in none.
    times = games * (3 * span) + plies
    inside = np.unique(times[is_in])
    after = np.searchsorted(inside, times).clip(max=len(inside) - 1)
    before = (after - 1).clip(min=0)
    distances = np.minimum(abs(inside[after] - times), abs(inside[before] - times))
    return np.where(distances < span, distances, -1)
