"""How much of a network's policy and value is left where it computes in fewer digits, and how much has to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import nn

from moemcts.evaluation import Evaluation, policy_probabilities
from moemcts.game import BoolArray
from moemcts.learn.inference.backends import PlanesEvaluator
from moemcts.learn.inference.export import torch_evaluation
from moemcts.learn.inference.positions import Positions
from moemcts.learn.inference.quantise import BATCH, agreement, evaluate_in_batches

FEWEST = 8
"""Positions of its own phase with which an expert is judged on these alone."""


@dataclass(frozen=True)
class Fidelity:
    """How near a network in fewer digits is to itself in float32; of a team the worst expert's, number by number."""

    top1: float
    """Share of the positions in which both like the same legal move best."""
    kl: float
    """Mean Kullback-Leibler divergence of its policy over legal moves from that in float32, in nats."""
    regret: float
    """Mean probability by which, in float32, the best move is ahead of the one that it likes best: where two moves are
    equally good it does not matter which of them comes first."""
    value: float
    """Mean absolute difference of the values."""

    @property
    def is_kept(self) -> bool:
        """Whether it is as good as float32 for play: each number within its limit, see `LIMITS`."""
        return self.kl <= LIMITS.kl and self.regret <= LIMITS.regret and self.value <= LIMITS.value


LIMITS = Fidelity(top1=0.0, kl=0.005, regret=0.005, value=0.01)
"""The largest numbers that count as the same policy, chosen well below what a search notices: visits are spread by
priors whose last half a percent decides nothing, and values that differ by a hundredth are half a percent of wins
apart. `top1` has no limit of its own: a policy that likes moves equally changes it for nothing."""


def fidelity(expected: Evaluation, found: Evaluation, legal: BoolArray) -> Fidelity:
    """Compares two evaluations of the same positions."""
    alike = agreement(expected, found, legal)
    rows = legal.any(axis=1)
    ours, theirs = (policy_probabilities(each.logits[rows], legal[rows]) for each in (expected, found))
    liked = np.take_along_axis(ours, theirs.argmax(axis=1)[:, None], axis=1)[:, 0]
    regret = float((ours.max(axis=1) - liked).mean()) if rows.any() else 0.0
    return Fidelity(alike.top1, alike.kl, regret, alike.value)


def team_fidelity(
    networks: Sequence[nn.Module], evaluators: Sequence[PlanesEvaluator], positions: Positions
) -> Fidelity:
    """Returns the worst that any expert's evaluator does against the expert itself, run by torch in float32.

    An expert is judged on the positions of its own phase, where there are `FEWEST` of them, else on all.
    """
    found = []
    for phase, (network, evaluator) in enumerate(zip(networks, evaluators, strict=True)):
        own = positions.take(positions.phases == phase) if len(networks) > 1 else positions
        judged = own if len(own) >= FEWEST else positions
        whole = Evaluation.joined(
            torch_evaluation(network, judged.planes[start : start + BATCH]) for start in range(0, len(judged), BATCH)
        )
        found.append(fidelity(whole, evaluate_in_batches(evaluator, judged.planes), judged.legal))
    return Fidelity(
        min(each.top1 for each in found),
        max(each.kl for each in found),
        max(each.regret for each in found),
        max(each.value for each in found),
    )
