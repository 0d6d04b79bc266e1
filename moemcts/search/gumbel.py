"""The Gumbel root: which actions a search of few simulations tries, and the policy that follows from what it found.

Danihelka et al., Policy improvement by planning with Gumbel (2022); schedule and mixed value as in google-deepmind/mctx
(`seq_halving.py`, `qtransforms.py`). Values enter as `(q + 1) / 2`, which needs no rescaling by what a tree has seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from moemcts.game import FloatArray

LONGEST_SCHEDULE = 65536
"""Simulations that are planned; what comes after them goes to the best action."""
LEAST_PRIOR = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, kw_only=True)
class GumbelRoot:
    """The numbers of the Gumbel root."""

    considered: int
    """Actions tried at most."""
    visit_offset: float
    """What is added to the most visits of an action: c_visit of the paper."""
    value_scale: float
    """What a value of 1 is worth in logits per visit: c_scale of the paper."""
    noise: float
    """Factor of the Gumbel noise; without it the search is deterministic."""


def considered_visits(num_considered: int, simulations: int) -> list[int]:
    """Returns for each simulation how many visits the action has that it goes to (sequential halving)."""
    simulations = min(simulations, LONGEST_SCHEDULE)
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
    """Returns the logits of the improved policy, `[n]`: those of the priors and what the completed values add.

    An action that was not tried is worth the mixed value: the root's own `evaluation` and the mean of the tried ones by
    their priors, each tried visit counting as much as the evaluation.
    """
    total, tried_prior, weighted, most = 0, 0.0, 0.0, 0
    for n, value_sum, prior in zip(visits, value_sums, priors, strict=True):
        if n:
            total += n
            most = max(most, n)
            tried_prior += max(float(prior), LEAST_PRIOR)
            weighted += max(float(prior), LEAST_PRIOR) * (value_sum / n)
    mixed = evaluation
    if total:
        mixed = (evaluation + total * (weighted / tried_prior)) / (total + 1.0)
    scale = (root.visit_offset + most) * root.value_scale
    found = []
    for n, value_sum, prior in zip(visits, value_sums, priors, strict=True):
        q = value_sum / n if n else mixed
        found.append(math.log(max(float(prior), LEAST_PRIOR)) + scale * (0.5 * (q + 1.0)))
    return found


def planned(
    schedule: Sequence[int],
    number: int,
    noise: Sequence[float],
    logits: Sequence[float],
    tried: Sequence[int],
    is_lost: Sequence[bool],
) -> int:
    """Returns the index of the action that a simulation goes to: that with the best noise and logit of those due.

    Where those are all proven to lose, or no visit is planned any more, it is the best of all.
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
    """Returns the index of the action to play: of the most visited open ones that with the best noise and logit."""
    left = [i for i, free in enumerate(is_open) if free] or list(range(len(visits)))
    most = max(visits[i] for i in left)
    return max((i for i in left if visits[i] == most), key=lambda i: noise[i] + logits[i])
