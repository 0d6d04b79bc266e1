"""The outputs of a network, for search and training."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

LOSS, DRAW, WIN = range(3)
"""The columns of `wdl`, in CrazyAra's order."""
MAX_PLIES = 100
"""Plies to the end are given as shares of this number, and capped at it (CrazyAra)."""


class Outputs(NamedTuple):
    """Outputs for N planes. Evaluators and exports use the first two, training uses all.

    A network may also return a plain `(logits, value)`: `Outputs(*network(planes))` accepts both.
    """

    logits: Tensor
    """`[N, A]`, unnormalised."""
    value: Tensor
    """`[N]` in [-1, 1] for the viewing player, or `[N, P]` for all players, the viewing one first."""
    wdl: Tensor | None = None
    """Logits of loss, draw and win, `[N, 3]`, or `[N, P, 3]` if the value is of all players."""
    plies: Tensor | None = None
    """Distance to the end of the game, `[N]`, from 0 for now to 1 for `MAX_PLIES` plies or more."""


def value_of(wdl: Tensor) -> Tensor:
    """Returns the probability of a win minus that of a loss, for logits `[..., 3]`."""
    probabilities = wdl.softmax(dim=-1)
    return probabilities[..., WIN] - probabilities[..., LOSS]
