"""The Gumbel root: selects the actions that a search with few simulations tries, and computes the improved policy.

Danihelka et al., Policy improvement by planning with Gumbel (2022); schedule and mixed value as in google-deepmind/mctx
(`seq_halving.py`, `qtransforms.py`). Values enter as `(q + 1) / 2`, so no rescaling by the range of values in the tree
is needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from moemcts.game import FloatArray

MAX_SCHEDULE = 65536
"""Maximum number of scheduled simulations; later ones go to the best action."""
MIN_PRIOR = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, kw_only=True)
class GumbelRoot:
    """Parameters of the Gumbel root."""

    considered: int
    """Maximum number of actions that are tried."""
    visit_offset: float
    """Added to the visits of the most visited action: c_visit in the paper."""
    value_scale: float
    """Logits per visit for a value of 1, after rescaling to [0, 1]: c_scale in the paper."""
    noise: float
    """Scale of the Gumbel noise; at 0 the search is deterministic."""


def considered_visits(num_considered: int, simulations: int) -> list[int]:
    """Returns, for each simulation, the visit count of the actions among which it selects (sequential halving)."""
    simulations = min(simulations, MAX_SCHEDULE)
    if num_considered <= 1:
        return list(range(simulations))
    rounds = (num_considered - 1).bit_length()
    schedule: list[int] = []
    visits = [0] * num_considered
    left = num_considered
    while len(schedule) < simulations:
        for _ in range(max(1, simulations // (rounds * left))):
            schedule += visits[:left]
            for i in range(left):
                visits[i] += 1
        left = max(2, left // 2)
    return schedule[:simulations]


def logits(
    root: GumbelRoot, visits: Sequence[int], value_sums: Sequence[float], priors: Sequence[float], evaluation: float
) -> list[float]:
    """Returns the logits of the improved policy, `[n]`: those of the priors plus the scaled completed values.

    Untried actions get the mixed value, the mean of the root's own `evaluation` and the prior-weighted mean of tried
    actions, where each visit counts as much as the evaluation.
    """
    total, tried_prior, weighted, most = 0, 0.0, 0.0, 0
    for n, value_sum, prior in zip(visits, value_sums, priors, strict=True):
        if n:
            total += n
            most = max(most, n)
            tried_prior += max(float(prior), MIN_PRIOR)
            weighted += max(float(prior), MIN_PRIOR) * (value_sum / n)
    mixed = evaluation
    if total:
        mixed = (evaluation + total * (weighted / tried_prior)) / (total + 1.0)
    scale = (root.visit_offset + most) * root.value_scale
    found = []
    for n, value_sum, prior in zip(visits, value_sums, priors, strict=True):
        q = value_sum / n if n else mixed
        found.append(math.log(max(float(prior), MIN_PRIOR)) + scale * (0.5 * (q + 1.0)))
    return found


def planned(
    schedule: Sequence[int],
    number: int,
    noise: Sequence[float],
    logits: Sequence[float],
    tried: Sequence[int],
    is_lost: Sequence[bool],
) -> int:
    """Returns the index of the action for a simulation: the due one with the largest sum of noise and logit.

    If all due actions are proven losses, or the schedule has ended, it is the best of all.
    """
    left = [i for i, lost in enumerate(is_lost) if not lost]
    due = schedule[number] if number < len(schedule) else None
    candidates = [i for i in left if tried[i] == due] or left or [0]
    return max(candidates, key=lambda i: noise[i] + logits[i])


def improved(logits: Sequence[float]) -> FloatArray:
    """Returns the improved policy, `[n]`: at least as good as the priors if values are exact (Danihelka et al., 4)."""
    weights = np.exp(np.asarray(logits, dtype=np.float64) - max(logits))
    return np.asarray(weights / weights.sum(), dtype=np.float32)


def best(noise: Sequence[float], logits: Sequence[float], visits: Sequence[int], is_open: Sequence[bool]) -> int:
    """Returns the index of the action to play: the most visited open one with the largest sum of noise and logit."""
    left = [i for i, free in enumerate(is_open) if free] or list(range(len(visits)))
    most = max(visits[i] for i in left)
    return max((i for i in left if visits[i] == most), key=lambda i: noise[i] + logits[i])
