"""Losses of a network, per sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from moemcts.learn.networks.outputs import DRAW, MAX_PLIES, Outputs
from moemcts.learn.training.cross_entropy import PolicyTargets, policy_loss


class Targets(NamedTuple):
    """Targets of the outputs for B samples."""

    actions: Tensor
    """Actions played, `[B]`."""
    policy: PolicyTargets | None
    """Search visits, rows summing to one; None if there are none, so that `actions` are the targets."""
    returns: Tensor
    """`[B, P]`, column 0 for the viewing player."""
    plies_to_end: Tensor
    """`[B]`."""
    values: Tensor | None = None
    """Value targets in place of returns, `[B, P]`."""


class Losses(NamedTuple):
    """Losses per sample, `[B]` each; None for terms whose outputs the network does not have."""

    policy: Tensor
    """Cross-entropy over all actions: the papers do not mask illegal ones, the search does."""
    value: Tensor
    """Squared error; the mean over players if the network values all of them."""
    correct: Tensor
    """1 if the most likely action is the one played, or the most visited one."""
    wdl: Tensor | None = None
    """Cross-entropy of loss, draw and win; the mean over players if there are several."""
    plies: Tensor | None = None
    """Squared error of the plies to the end, as a share of 100 plies."""

    def terms(self) -> dict[str, Tensor]:
        """Returns the terms of the loss that exist, by name."""
        parts = {"policy": self.policy, "value": self.value, "wdl": self.wdl, "plies": self.plies}
        return {name: part for name, part in parts.items() if part is not None}


def sample_losses(outputs: Outputs, targets: Targets) -> Losses:
    """Returns the losses of outputs for B samples.

    The policy target is the visits if there are any, else the actions; the target of a scalar value and its `wdl` is
    the viewing player's return, that of vectors all players'. A win is a return above zero, a loss one below. `values`,
    if given, replace the returns as value targets.
    """
    logits, value, wdl, plies = outputs
    returns = targets.returns[:, 0] if value.ndim == 1 else targets.returns
    values = targets.returns if targets.values is None else targets.values
    policy, best, wanted = policy_loss(logits, targets.actions if targets.policy is None else targets.policy)
    return Losses(
        policy=policy,
        value=_over_players((value - (values[:, 0] if value.ndim == 1 else values)).square()),
        correct=(best == wanted).to(policy.dtype),
        wdl=None if wdl is None else _over_players(_outcome_loss(wdl, returns)),
        plies=None if plies is None else (plies - targets.plies_to_end.clamp(0, MAX_PLIES) / MAX_PLIES).square(),
    )


def total_loss(losses: Losses, weights: Tensor, shares: Mapping[str, float]) -> Tensor:
    """Returns the mean over the batch of the weighted sum of all terms, with sample weights `[B]`.

    `shares` has a factor for each term, by name. Sample weights are not normalised: a sample of weight 2 counts as if
    it were there twice.
    """
    total = sum((shares[name] * part for name, part in losses.terms().items()), start=torch.zeros_like(losses.policy))
    return torch.mean(weights * total)


def _outcome_loss(wdl: Tensor, returns: Tensor) -> Tensor:
    """Returns the cross-entropy of logits `[..., 3]` and the signs of returns `[...]`."""
    outcomes = returns.sign().long() + DRAW
    return functional.cross_entropy(wdl.flatten(0, -2), outcomes.flatten(), reduction="none").view_as(outcomes)


def _over_players(losses: Tensor) -> Tensor:
    return losses if losses.ndim == 1 else losses.mean(dim=1)
