"""How well a network's policy and value are kept in lower precision, and how well they have to be."""

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

MIN_POSITIONS = 8
"""Minimum number of positions of its own phase for an expert to be judged on these alone."""


@dataclass(frozen=True)
class Fidelity:
    """How close a network in lower precision is to itself in float32; for a team, the worst of each field."""

    top1: float
    """Share of the positions in which both have the same most likely legal move."""
    kl: float
    """Mean Kullback-Leibler divergence of its policy over legal moves from that in float32, in nats."""
    regret: float
    """Mean probability, in float32, by which the best move exceeds the one that is best in lower precision: between two
    equally good moves, the order does not matter."""
    value: float
    """Mean absolute difference of the values."""

    @property
    def keeps_policy(self) -> bool:
        """Whether it is as good as float32 for play: each number is within its limit, see `LIMITS`."""
        return self.kl <= LIMITS.kl and self.regret <= LIMITS.regret and self.value <= LIMITS.value


LIMITS = Fidelity(top1=0.0, kl=0.005, regret=0.005, value=0.01)
"""The largest numbers that count as the same policy, chosen well below what matters to a search: visits follow priors
whose last half a percent decides nothing, and values that differ by a hundredth are half a percent of wins apart.
`top1` has no limit: it changes freely for a policy that rates moves equally."""


def fidelity(expected: Evaluation, found: Evaluation, legal: BoolArray) -> Fidelity:
    """Compares two evaluations of the same positions."""
    agreed = agreement(expected, found, legal)
    rows = legal.any(axis=1)
    ours, theirs = (policy_probabilities(each.logits[rows], legal[rows]) for each in (expected, found))
    of_their_best = np.take_along_axis(ours, theirs.argmax(axis=1)[:, None], axis=1)[:, 0]
    regret = float((ours.max(axis=1) - of_their_best).mean()) if rows.any() else 0.0
    return Fidelity(agreed.top1, agreed.kl, regret, agreed.value)


def team_fidelity(
    networks: Sequence[nn.Module], evaluators: Sequence[PlanesEvaluator], positions: Positions
) -> Fidelity:
    """Returns the worst fidelity of any expert's evaluator to the expert itself, run by torch in float32.

    An expert is judged on the positions of its own phase if there are at least `MIN_POSITIONS`, else on all.
    """
    fidelities = []
    for phase, (network, evaluator) in enumerate(zip(networks, evaluators, strict=True)):
        own = positions.take(positions.phases == phase) if len(networks) > 1 else positions
        judged = own if len(own) >= MIN_POSITIONS else positions
        whole = Evaluation.joined(
            torch_evaluation(network, judged.planes[start : start + BATCH]) for start in range(0, len(judged), BATCH)
        )
        fidelities.append(fidelity(whole, evaluate_in_batches(evaluator, judged.planes), judged.legal))
    return Fidelity(
        min(each.top1 for each in fidelities),
        max(each.kl for each in fidelities),
        max(each.regret for each in fidelities),
        max(each.value for each in fidelities),
    )
