"""Attribution of a network's outputs to its input by integrated gradients.

Sundararajan, Taly and Yan, "Axiomatic attribution for deep networks" (2017): the gradient of an output, averaged along
the straight line from a baseline to the input, times their difference. The attributions of all inputs sum to the
difference between the outputs for the input and for the baseline (completeness).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from moemcts.errors import MissingExtra, MoemctsError
from moemcts.game import FloatArray, Views
from moemcts.learn.networks.layers import as_planes

ExplainedOutput = Literal["policy", "value"]
BATCH = 512
"""Points between baseline and input that are evaluated as one batch."""


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """How much each number of the planes of N views contributed to an output of a network."""

    planes: FloatArray
    """`[N, C, H, W]`, in the unit of the output."""
    answers: FloatArray
    """`[N]`: for the policy the log-probability of an action among the legal ones, else the value."""
    baselines: FloatArray
    """Outputs for the baseline, `[N]`."""

    @property
    def gaps(self) -> FloatArray:
        """Absolute deviation of each view from completeness, `[N]`; it shrinks with more steps."""
        total = self.planes.sum(axis=(1, 2, 3), dtype=np.float64)
        gaps: FloatArray = np.abs(total - (self.answers - self.baselines)).astype(np.float32)
        return gaps

    def by_plane(self) -> FloatArray:
        """Returns the sum over the board, `[N, C]`."""
        return np.asarray(self.planes.sum(axis=(2, 3)), dtype=np.float32)

    def by_cell(self) -> FloatArray:
        """Returns the sum over the planes, `[N, H, W]`."""
        return np.asarray(self.planes.sum(axis=1), dtype=np.float32)


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The explained outputs of a network for N views."""

    actions: np.ndarray
    """The most likely legal action of each view, whose probability is explained, `[N]`."""
    policy: Attribution
    value: Attribution


def explain(
    network: nn.Module, views: Views, *, steps: int = 64, baseline: FloatArray | None = None, device: str = "cpu"
) -> Explanation:
    """Returns the attributions of a network's policy and value for N views.

    `steps` is the number of points between baseline and input (Gauss-Legendre); the baseline, of an observation's
    shape, defaults to all zeros. Raises MissingExtra without captum, and MoemctsError if a view has no legal action.
    """
    observations = views.observations()
    torch_device = torch.device(device)
    network = network.to(torch_device).eval()
    planes = torch.from_numpy(observations).to(torch_device)
    legal = torch.from_numpy(views.legal_mask()).to(torch_device)
    if not bool(legal.any(dim=1).all()):
        raise MoemctsError("expected positions in which the player is to move, got one in which it is not")
    start = torch.zeros_like(planes[:1]) if baseline is None else torch.from_numpy(baseline)[None].to(torch_device)
    with torch.inference_mode():
        actions = network(planes)[0].masked_fill(~legal, -torch.inf).argmax(dim=1)
    actions = actions.clone()

    def log_probability(inputs: Tensor, chosen: Tensor, legal: Tensor) -> Tensor:
        logits: Tensor = network(inputs)[0].masked_fill(~legal, -torch.inf)
        return torch.log_softmax(logits, dim=1).gather(1, chosen[:, None])[:, 0]

    def value(inputs: Tensor) -> Tensor:
        output: Tensor = network(inputs)[1]
        return output if output.ndim == 1 else output[:, 0]

    return Explanation(
        actions=actions.cpu().numpy(),
        policy=_attribute(log_probability, planes, start, (actions, legal), steps),
        value=_attribute(value, planes, start, (), steps),
    )


def _attribute(
    output: Callable[..., Tensor], planes: Tensor, baseline: Tensor, arguments: tuple[Tensor, ...], steps: int
) -> Attribution:
    """Returns the attribution of `output(planes, *arguments)`, `[N]`, to planes `[N, C, H, W]`."""
    try:
        from captum.attr import IntegratedGradients
    except ImportError:
        raise MissingExtra("captum", "explain") from None
    method = IntegratedGradients(output)
    parts = []
    rows_at_once = max(BATCH // steps, 1)
    for start in range(0, len(planes), rows_at_once):
        rows = slice(start, start + rows_at_once)
        part = method.attribute(
            planes[rows],
            baselines=baseline,
            additional_forward_args=tuple(argument[rows] for argument in arguments),
            n_steps=steps,
        )
        parts.append(part.float().cpu())
    with torch.inference_mode():
        ends = output(planes, *arguments)
        starts = output(baseline.expand_as(planes), *arguments)
    return Attribution(
        planes=as_planes(torch.cat(parts)).numpy(),
        answers=ends.float().cpu().numpy(),
        baselines=starts.float().cpu().numpy(),
    )
