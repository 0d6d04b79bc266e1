"""What networks end in: a policy and a value."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from moemcts.learn.networks.layers import ACTIVATIONS, ConvNorm


@dataclass(frozen=True, kw_only=True)
class HeadSpec:
    """The sizes of the two heads."""

    num_actions: int
    policy_channels: int
    """Channels before the linear layer of the policy."""
    policy_planes: int
    """Planes whose cells are the actions; 0 for a linear layer."""
    value_channels: int
    value_hidden: int
    num_values: int
    """1 for the value of the viewing player, P for those of all players."""
    activation: str
    norm_momentum: float
    pooled: bool = False
    """Whether the linear layers see mean and maximum of each channel over the board instead of every cell."""


class MeanAndMax(nn.Module):
    """The mean and the maximum of each channel, `[N, 2 C]` (the global pooling of KataGo, Wu 2019)."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x.mean(dim=(2, 3)), x.amax(dim=(2, 3))], dim=1)


def make_reduction(channels: int, board: tuple[int, int], spec: HeadSpec) -> tuple[nn.Module, int]:
    """Returns what turns features into vectors, and the length of these.

    Where what matters is near a piece that may be anywhere, pooling learns once what a layer that sees every cell
    has to learn for each.
    """
    if spec.pooled:
        return MeanAndMax(), 2 * channels
    return nn.Flatten(), channels * math.prod(board)


def make_policy_head(channels: int, board: tuple[int, int], spec: HeadSpec) -> nn.Module:
    """Returns a module from features to logits `[N, A]`.

    A 1x1 convolution and a linear layer for actions of any kind; two 3x3 convolutions where they are the cells of
    planes. Raises ValueError unless those planes have as many cells as there are actions.
    """
    cells = math.prod(board)
    if not spec.policy_planes:
        hidden = spec.policy_channels
        reduction, length = make_reduction(hidden, board, spec)
        return nn.Sequential(
            ConvNorm(channels, hidden, 1, activation=spec.activation, momentum=spec.norm_momentum),
            reduction,
            nn.Linear(length, spec.num_actions),
        )
    if spec.policy_planes * cells != spec.num_actions:
        raise ValueError(
            f"expected planes of {board[0]} x {board[1]} for {spec.num_actions} actions, got {spec.policy_planes}"
        )
    return nn.Sequential(
        ConvNorm(channels, channels, 3, activation=spec.activation, momentum=spec.norm_momentum),
        nn.Conv2d(channels, spec.policy_planes, 3, padding=1, bias=False),
        nn.Flatten(),
    )


class ValueHead(nn.Module):
    """A 1x1 convolution and two linear layers to a value in [-1, 1], `[N]`, or `[N, P]` if there are several."""

    def __init__(self, channels: int, board: tuple[int, int], spec: HeadSpec) -> None:
        super().__init__()
        self.num_values = spec.num_values
        planes = spec.value_channels
        reduction, length = make_reduction(planes, board, spec)
        self.body = nn.Sequential(
            ConvNorm(channels, planes, 1, activation=spec.activation, momentum=spec.norm_momentum),
            reduction,
            nn.Linear(length, spec.value_hidden),
            ACTIVATIONS[spec.activation](),
            nn.Linear(spec.value_hidden, spec.num_values),
            nn.Tanh(),
        )

    def forward(self, x: Tensor) -> Tensor:
        value: Tensor = self.body(x)
        return value if self.num_values > 1 else value[:, 0]


class TwoHeads(nn.Module):
    """A body, and on it a head for the policy and one for the value."""

    def __init__(self, body: nn.Module, channels: int, board: tuple[int, int], heads: HeadSpec) -> None:
        """Adds the heads to a body that ends in so many channels of a board of that size."""
        super().__init__()
        self.body = body
        self.policy = make_policy_head(channels, board, heads)
        self.value = ValueHead(channels, board, heads)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Returns logits `[N, A]` and value `[N]` or `[N, P]` of planes `[N, C, H, W]`."""
        features = self.body(planes)
        return self.policy(features), self.value(features)
