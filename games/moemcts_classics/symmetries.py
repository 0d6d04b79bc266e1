"""Symmetries of boards, for data augmentation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from moemcts.game import FloatArray, IntArray, Symmetry


def mirror(actions: IntArray) -> Symmetry:
    """Returns the left-right mirror image."""
    return Symmetry("mirror", partial(_transformed, turns=0, flip=True), actions)


def half_turn(actions: IntArray) -> Symmetry:
    return Symmetry("half turn", partial(_transformed, turns=2, flip=False), actions)


def of_square(size: int, num_more_actions: int = 0) -> Sequence[Symmetry]:
    """Returns the seven symmetries of a square whose cells are the actions; `num_more_actions` last ones are fixed."""
    cells = np.arange(size * size, dtype=np.float32).reshape(size, size)
    more = np.arange(size * size, size * size + num_more_actions)
    found = []
    for turns, flip in ((0, True), *((turns, flip) for turns in (1, 2, 3) for flip in (False, True))):
        transform = partial(_transformed, turns=turns, flip=flip)
        # The content of cell `a` moves to cell `actions[a]`.
        actions = np.concatenate([np.argsort(transform(cells).ravel()), more])
        found.append(Symmetry(f"{turns * 90} degrees{', mirrored' * flip}", transform, actions))
    return found


def _transformed(planes: FloatArray, turns: int, flip: bool) -> FloatArray:
    turned = np.rot90(planes, turns, axes=(-2, -1))
    return np.ascontiguousarray(turned[..., ::-1] if flip else turned)
