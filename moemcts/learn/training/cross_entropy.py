"""Cross-entropy of policies against actions or shares of them; native on a CPU, as small networks have many logits."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from moemcts.native import core

_AS_ARRAYS = {torch.float32: torch.float32, torch.bfloat16: torch.uint16}
"""Types that the core computes with, and as which their bits are passed, since NumPy has no bfloat16."""


class PolicyTargets(NamedTuple):
    """Targets of B policies: row `i` is `offsets[i]:offsets[i + 1]` of the other tensors.

    No row has an action twice.
    """

    offsets: Tensor
    """`[B + 1]`, from 0."""
    actions: Tensor
    shares: Tensor
    """In float32."""

    @classmethod
    def of(cls, actions: Tensor) -> PolicyTargets:
        """Returns targets with all of row `i` on `actions[i]`, `[B]`."""
        num = len(actions)
        return cls(torch.arange(num + 1), actions, torch.ones(num))

    def dense(self, like: Tensor) -> Tensor:
        """Returns the shares of all actions, with the shape, dtype and device of logits `[B, A]`."""
        rows = torch.repeat_interleave(self.offsets.diff(), output_size=len(self.actions))
        return torch.zeros_like(like).index_put_((rows, self.actions), self.shares.to(like.dtype))


class PolicyLoss(NamedTuple):
    """Losses and best actions of B policies, `[B]` each."""

    losses: Tensor
    """`-log p(action)`, weighted by the shares of the actions, in 32 bits at least."""
    best: Tensor
    """The most likely actions, the first one on ties."""
    wanted: Tensor
    """The actions with the largest shares, the first one on ties."""


def policy_loss(logits: Tensor, targets: PolicyTargets | Tensor) -> PolicyLoss:
    """Returns the cross-entropy of logits `[B, A]` against B rows of shares, or against actions `[B]`.

    Sums over logits in bfloat16 are in float32, and the gradient is rounded once. The core reads logits in place, while
    PyTorch allocates several float32 arrays of that size; of the shares it reads only those that are stored.
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
        arrays = core.cross_entropy(_array(logits), _arrays(*targets), torch.get_num_threads())
        losses, best, wanted, *sums = map(torch.from_numpy, arrays)
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
    """Returns the memory of each tensor as an array."""
    return tuple(map(_array, tensors))


def _array(tensor: Tensor) -> Any:
    """Returns the memory of a tensor as an array."""
    return tensor.detach().view(_AS_ARRAYS.get(tensor.dtype, tensor.dtype)).numpy()
