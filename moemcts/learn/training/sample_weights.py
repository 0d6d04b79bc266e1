"""Sample weights in a stage: by phase, or by the distance to a phase in the same game."""

from __future__ import annotations

import numpy as np

from moemcts.errors import MoemctsError
from moemcts.game import FloatArray, IntArray
from moemcts.gates import PhaseGate
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.training.stages import Stage

MIN_WEIGHT = 1 / 64
"""Samples of less weight are left out, so that epochs are not spent on them."""


def sample_weights(stage: Stage, dataset: Dataset, phases: FloatArray) -> FloatArray:
    """Returns the weight of each sample, `[N]`, given phase weights `[N, K]`.

    With a half-life it is `w * 2^(-d / half_life)`, where `d` is the distance in plies to the nearest sample of the
    game in a phase that counts (the sample itself first, then larger weights), and `w` the weight of that phase; games
    without such a sample do not count.
    """
    weights: FloatArray = phases @ np.array(stage.weights, dtype=np.float32)
    if stage.half_life is None:
        return weights
    own = np.array(stage.weights, dtype=np.float64)[phases.argmax(axis=1)]
    games, plies = dataset.games(), dataset.plies_to_end()
    nearest = np.full(len(own), np.inf)
    weight_by_distance = np.zeros(len(own))
    for weight in sorted({weight for weight in stage.weights if weight > 0}):
        distances = plies_to_nearest(games, plies, own == weight)
        is_nearer = (distances >= 0) & (distances <= nearest)
        nearest = np.where(is_nearer, distances, nearest)
        decayed = weight * 2.0 ** (-distances / stage.half_life)
        weight_by_distance = np.where(is_nearer, decayed, weight_by_distance)
    weights_of_samples = np.where(own > 0, own, weight_by_distance)
    return np.where(weights_of_samples >= MIN_WEIGHT, weights_of_samples, 0.0).astype(np.float32)


def has_samples(stage: Stage, phases: FloatArray) -> bool:
    """Returns whether any sample counts in a stage, given phase weights `[N, K]`."""
    counts = np.array(stage.weights) > 0
    # Nearby samples count only if some sample is in a phase that does.
    return bool(phases[:, counts].any() if stage.half_life is None else counts[phases.argmax(axis=1)].any())


def no_samples_error(stage: Stage, dataset: Dataset, gate: PhaseGate, name: str, remedy: str) -> MoemctsError:
    """Returns the error for a stage without samples, with the counts of each phase of the gate, and a remedy.

    `name` is how the message calls the gate.
    """
    counts = ", ".join(f"{count:,.0f} of {name}" for name, count in dataset.phase_counts(gate).items())
    return MoemctsError(
        f"no samples to train {stage.describe(gate.phase_names)!r} on: gate {name!r} finds {counts}; {remedy}"
    )


def plies_to_nearest(games: IntArray, plies: IntArray, is_in: np.ndarray) -> IntArray:
    """Returns the distance in plies of each sample to the nearest one of its game with `is_in`, all `[N]`.

    -1 if the game has none. `plies` may be counted from either end.
    """
    if not is_in.any():
        return np.full(len(games), -1, dtype=np.int64)
    span = int(plies.max()) + 1
    # Games are placed far apart on one time axis, so that neighbours on it are of the same game, or too far away.
    times = games * (3 * span) + plies
    inside = np.unique(times[is_in])
    after = np.searchsorted(inside, times).clip(max=len(inside) - 1)
    before = (after - 1).clip(min=0)
    distances = np.minimum(abs(inside[after] - times), abs(inside[before] - times))
    return np.where(distances < span, distances, -1)
