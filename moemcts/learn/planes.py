"""Random planes to try networks on."""

from __future__ import annotations

import numpy as np

from moemcts.game import FloatArray


def random_planes(observation_shape: tuple[int, ...], num: int, seed: int = 0) -> FloatArray:
    """Returns planes `[num, *observation_shape]` in which about one cell in seven is 1, as sparse as boards are."""
    drawn = np.random.default_rng(seed).random((num, *observation_shape))
    return (drawn < 1 / 7).astype(np.float32)
