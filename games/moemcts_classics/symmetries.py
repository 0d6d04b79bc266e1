"""Symmetries of boards, for data augmentation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np

from moemcts.game import FloatArray, IntArray, Symmetry


def mirror(actions: IntArray) -> Symmetry:
    """Returns the left-right mirror image."""
    return Symmetry("mirror", partial(_transform, turns=0, flip=True), actions)


def half_turn(actions: IntArray) -> Symmetry:
    """Returns the rotation by 180 degrees."""
    return Symmetry("half turn", partial(_transform, turns=2, flip=False), actions)


def of_square(size: int, num_more_actions: int = 0) -> Sequence[Symmetry]:
    """Returns the seven symmetries of a square whose cells are the actions; `num_more_actions` last ones are fixed."""
    cells = np.arange(size * size, dtype=np.float32).reshape(size, size)
    fixed_actions = np.arange(size * size, size * size + num_more_actions)
    square_symmetries = []
    for turns, flip in product(range(4), (False, True)):
        if turns == 0 and not flip:
            # The identity.
            continue
        transform = partial(_transform, turns=turns, flip=flip)
        # The content of cell `a` moves to cell `actions[a]`.
        actions = np.concatenate([np.argsort(transform(cells).ravel()), fixed_actions])
        name = f"{turns * 90} degrees, mirrored" if flip else f"{turns * 90} degrees"
        square_symmetries.append(Symmetry(name, transform, actions))
    return square_symmetries


def _transform(planes: FloatArray, turns: int, flip: bool) -> FloatArray:
    turned = np.rot90(planes, turns, axes=(-2, -1))
    return np.ascontiguousarray(turned[..., ::-1] if flip else turned)
