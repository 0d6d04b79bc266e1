"""Cross-entropy of policies against actions, or shares of them: natively on a CPU, where a small network has many."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from moemcts.native import core

_AS_ARRAYS = {torch.float32: torch.float32, torch.bfloat16: torch.uint16}
"""What the core computes with, and as what NumPy, which has no bfloat16, hands over its bits."""


class PolicyTargets(NamedTuple):
    """What B policies are held against: row `i` is `offsets[i]:offsets[i + 1]` of the others.

    No row has an action twice.
    """

    offsets: Tensor
    """`[B + 1]`, from 0."""
    actions: Tensor
    shares: Tensor
    """Of 32 bits."""

    @classmethod
    def of(cls, actions: Tensor) -> PolicyTargets:
        """Returns all on one action a row, `[B]`."""
        num = len(actions)
        return cls(torch.arange(num + 1), actions, torch.ones(num))

    def dense(self, like: Tensor) -> Tensor:
        """Returns the shares of all actions, in shape, type and place those of logits `[B, A]`."""
        rows = torch.repeat_interleave(self.offsets.diff(), output_size=len(self.actions))
        return torch.zeros_like(like).index_put_((rows, self.actions), self.shares.to(like.dtype))


class PolicyLoss(NamedTuple):
    """What B policies are worth, `[B]` each."""

    losses: Tensor
    """`-log p(action)`, weighed by the shares of the actions, of 32 bits at least."""
    best: Tensor
    """The likeliest actions; the first of several."""
    wanted: Tensor
    """Those of the largest shares; the first of several."""


def policy_loss(logits: Tensor, targets: PolicyTargets | Tensor) -> PolicyLoss:
    """Returns the cross-entropy of logits `[B, A]` against B rows of shares, or against the actions `[B]`.

    Logits in bfloat16 are summed up in 32 bits and get a gradient that is rounded once. The core reads them in place,
    where PyTorch makes several arrays of as many numbers in 32 bits; of the shares it reads those that there are.
    """
    if logits.device.type == "cpu" and logits.dtype in _AS_ARRAYS:
        targets = targets if isinstance(targets, PolicyTargets) else PolicyTargets.of(targets)
        return PolicyLoss(*_CrossEntropy.apply(logits, *targets))
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    dense = targets.dense(logits.detach()) if isinstance(targets, PolicyTargets) else targets
    losses = functional.cross_entropy(logits, dense, reduction="none")
    return PolicyLoss(losses, logits.argmax(dim=1), dense.argmax(dim=1) if dense.ndim > 1 else dense)


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, offsets: Tensor, actions: Tensor, shares: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        logits = logits.contiguous()
        targets = (offsets.long().contiguous(), actions.long().contiguous(), shares.float().contiguous())
        found = core.cross_entropy(_array(logits), _arrays(*targets), torch.get_num_threads())
        losses, best, wanted, *sums = (torch.from_numpy(one) for one in found)
        ctx.save_for_backward(logits, *targets, *sums)
        ctx.mark_non_differentiable(best, wanted)
        return losses, best, wanted

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_losses: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        logits, offsets, actions, shares, largest, log_sums = ctx.saved_tensors
        gradient = torch.empty_like(logits)
        targets, sums = _arrays(offsets, actions, shares), _arrays(largest, log_sums)
        factors, num_threads = _array(of_losses.contiguous()), torch.get_num_threads()
        core.cross_entropy_gradient(_array(logits), targets, sums, factors, _array(gradient), num_threads)
        return gradient, None, None, None


def _arrays(*tensors: Tensor) -> tuple[Any, ...]:
    """Returns the memory of each."""
    return tuple(map(_array, tensors))


def _array(tensor: Tensor) -> Any:
    """Returns the memory of a tensor as an array."""
    return tensor.detach().view(_AS_ARRAYS.get(tensor.dtype, tensor.dtype)).numpy()
