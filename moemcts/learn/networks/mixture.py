"""K experts and the gate between them as one network.

The policy is the mean of the experts' policies with the gate's weights, so that the policy's loss is their negative
log-likelihood, `-log sum_k g_k(x) p_k(a | x)`, and an expert learns from a sample in proportion to its responsibility
for it (Jacobs, Jordan, Nowlan and Hinton, "Adaptive mixtures of local experts", 1991). The value is the mean of the
experts' values, the paper's first, cooperative error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from moemcts.learn.networks.gate import GateNetwork
from moemcts.learn.networks.outputs import Outputs


class MixtureNetwork(nn.Module):
    """A gate network and K experts that see the same planes and act as one network."""

    def __init__(self, gate: GateNetwork, experts: Sequence[nn.Module], *, balance: float) -> None:
        super().__init__()
        self.gate = gate
        self.experts = nn.ModuleList(experts)
        self._balance = balance

    def forward(self, planes: Tensor) -> Outputs:
        """Returns the experts' outputs, averaged with the gate's weights; logits are averaged as probabilities."""
        weights = self.gate(planes)
        if self.training and self._balance:
            weights = _with_loss(weights, self._balance * balance_loss(weights))
        outputs = [Outputs(*expert(planes)) for expert in self.experts]
        outcomes = [output.wdl for output in outputs if output.wdl is not None]
        plies = [output.plies for output in outputs if output.plies is not None]
        return Outputs(
            logits=_mix_logits(weights, [output.logits for output in outputs]),
            value=_mix_numbers(weights, [output.value for output in outputs]),
            wdl=_mix_logits(weights, outcomes) if outcomes else None,
            plies=_mix_numbers(weights, plies) if plies else None,
        )


def balance_loss(weights: Tensor) -> Tensor:
    """Returns how unevenly weights `[N, K]` use the phases: 1 if evenly, K if all views are in one.

    `K sum_k f_k P_k` with the share `f_k` of the views whose largest weight is that of phase k, which has no gradient,
    and the mean weight `P_k` (Fedus, Zoph and Shazeer, "Switch Transformers", 2021, equation 4).
    """
    num_phases = weights.shape[1]
    shares = nn.functional.one_hot(weights.detach().argmax(dim=1), num_phases).to(weights.dtype).mean(dim=0)
    return num_phases * (shares * weights.mean(dim=0)).sum()


class _AddLoss(torch.autograd.Function):
    """Returns a tensor unchanged; the backward pass adds the gradient of a separate loss.

    The balance of a mixture thus takes part in training, while the loss that is measured stays that of its outputs.
    """

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, loss: Tensor) -> Tensor:
        ctx.like = (loss.shape, loss.dtype, loss.device)
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        shape, dtype, device = ctx.like
        return gradient, torch.ones(shape, dtype=dtype, device=device)


def _with_loss(tensor: Tensor, loss: Tensor) -> Tensor:
    result: Tensor = _AddLoss.apply(tensor, loss)
    return result


def _mix_logits(weights: Tensor, logits: Sequence[Tensor]) -> Tensor:
    """Returns the logarithm of the weighted mean of the experts' probabilities over the last axis."""
    logarithms = weights.clamp_min(1e-12).log()
    weighted = [_expand(logarithms[:, k], own) + torch.log_softmax(own.float(), dim=-1) for k, own in enumerate(logits)]
    return torch.logsumexp(torch.stack(weighted), dim=0)


def _mix_numbers(weights: Tensor, numbers: Sequence[Tensor]) -> Tensor:
    return torch.stack([_expand(weights[:, k], own) * own for k, own in enumerate(numbers)]).sum(dim=0)


def _expand(column: Tensor, like: Tensor) -> Tensor:
    return column.reshape(-1, *(1,) * (like.ndim - 1))
