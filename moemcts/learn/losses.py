"""How far a network is from its targets, sample by sample."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional


class Losses(NamedTuple):
    """One number per sample, `[B]` each."""

    policy: Tensor
    """Cross-entropy over all actions: the papers do not mask illegal ones, the search does."""
    value: Tensor
    """Squared error; the mean over players where the network values all of them."""
    correct: Tensor
    """1 where the likeliest action is the one played, or visited most."""


def sample_losses(logits: Tensor, value: Tensor, actions: Tensor, policy: Tensor | None, returns: Tensor) -> Losses:
    """Returns the losses of outputs `[B, A]` and `[B]` or `[B, P]`.

    The policy's target is `policy` `[B, A]` if given, else the `actions` `[B]`; the value's are the `returns`
    `[B, P]`, of which a scalar value takes column 0, the viewing player's.
    """
    target = actions if policy is None else policy
    best = actions if policy is None else policy.argmax(dim=1)
    error = (value - returns[:, 0]).square() if value.ndim == 1 else (value - returns).square().mean(dim=1)
    return Losses(
        functional.cross_entropy(logits, target, reduction="none"),
        error,
        (logits.argmax(dim=1) == best).to(logits.dtype),
    )


def total_loss(losses: Losses, weights: Tensor, *, policy_weight: float, value_weight: float) -> Tensor:
    """Returns the mean over the batch of the weighted sum of both losses, each sample counting `weights` `[B]` times.

    Weights are not normalised: a sample of weight 2 counts as it would if it were there twice.
    """
    return torch.mean(weights * (policy_weight * losses.policy + value_weight * losses.value))
