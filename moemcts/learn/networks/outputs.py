"""What a network answers, for the search and for its training."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

LOSS, DRAW, WIN = range(3)
"""The columns of `wdl`; CrazyAra's order."""
MAX_PLIES = 100
"""Plies to the end are shares of this number; games that are further from it count as this far (CrazyAra)."""


class Outputs(NamedTuple):
    """The answer to N planes. Evaluators and exports take the first two, training takes all.

    A network may also return a plain `(logits, value)`: `Outputs(*network(planes))` holds for both.
    """

    logits: Tensor
    """`[N, A]`, unnormalised."""
    value: Tensor
    """`[N]` in [-1, 1] for the viewing player, or `[N, P]` for all players, the viewing one first."""
    wdl: Tensor | None = None
    """Logits of loss, draw and win, `[N, 3]`, or `[N, P, 3]` where the value is of all players."""
    plies: Tensor | None = None
    """How far the end of the game is, `[N]`, 0 now to 1 for `MAX_PLIES` plies or more."""


def value_of(wdl: Tensor) -> Tensor:
    """Returns the probability of a win less that of a loss, of logits `[..., 3]`."""
    probabilities = wdl.softmax(dim=-1)
    return probabilities[..., WIN] - probabilities[..., LOSS]
