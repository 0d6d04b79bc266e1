"""Cross-entropy of policies against actions: natively on a CPU, where a small network's logits are many."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from moemcts.native import core

_AS_ARRAYS = {torch.float32: torch.float32, torch.bfloat16: torch.uint16}
"""What the core computes with, and as what NumPy, which has no bfloat16, hands over its bits."""


class PolicyLoss(NamedTuple):
    """What B policies are worth, `[B]` each."""

    losses: Tensor
    """`-log p(action)`, of 32 bits at least."""
    best: Tensor
    """The likeliest actions; the first of several."""


def policy_loss(logits: Tensor, actions: Tensor) -> PolicyLoss:
    """Returns the cross-entropy of logits `[B, A]` against the actions `[B]`.

    Logits in bfloat16 are summed up in 32 bits and get a gradient that is rounded once. The core reads them in place,
    where PyTorch makes several arrays of as many numbers in 32 bits.
    """
    if logits.device.type == "cpu" and logits.dtype in _AS_ARRAYS:
        return PolicyLoss(*_CrossEntropy.apply(logits, actions))
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return PolicyLoss(functional.cross_entropy(logits, actions, reduction="none"), logits.argmax(dim=1))


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        logits, actions = logits.contiguous(), actions.long().contiguous()
        found = core.cross_entropy(_array(logits), _array(actions), torch.get_num_threads())
        losses, best, *sums = (torch.from_numpy(one) for one in found)
        ctx.save_for_backward(logits, actions, *sums)
        ctx.mark_non_differentiable(best)
        return losses, best

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_losses: Tensor, _: Tensor) -> tuple[Tensor, None]:
        logits, actions, largest, log_sums = ctx.saved_tensors
        gradient = torch.empty_like(logits)
        sums, factors = (_array(largest), _array(log_sums)), _array(of_losses.contiguous())
        out = _array(gradient)
        core.cross_entropy_gradient(_array(logits), _array(actions), sums, factors, out, torch.get_num_threads())
        return gradient, None


def _array(tensor: Tensor) -> Any:
    """Returns the memory of a tensor as an array."""
    return tensor.detach().view(_AS_ARRAYS.get(tensor.dtype, tensor.dtype)).numpy()
