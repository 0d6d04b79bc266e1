"""The heads of networks: policy and value."""

from __future__ import annotations

import math
from typing import Self

import torch
from torch import Tensor, nn

from moemcts.learn.networks.layers import ACTIVATIONS, ConvNorm
from moemcts.learn.networks.options import HeadSpec
from moemcts.learn.networks.outputs import Outputs, value_of

Board = tuple[int, int]


class TwoHeads(nn.Module):
    """A body with a policy head and a value head."""

    def __init__(self, body: nn.Module, policy: nn.Module, value: nn.Module) -> None:
        super().__init__()
        self.body = body
        self.policy = policy
        self.value = value
        self.is_body_frozen = False
        """Whether training leaves the body unchanged, statistics included."""

    def train(self, mode: bool = True) -> Self:
        super().train(mode)
        if self.is_body_frozen:
            self.body.eval()
        return self

    def forward(self, planes: Tensor) -> Outputs:
        """Returns logits `[N, A]`, value and any further outputs for planes `[N, C, H, W]`."""
        if not self.is_body_frozen:
            return self.heads(self.body(planes))
        with torch.no_grad():
            features = self.body(planes)
        return self.heads(features)

    def heads(self, features: Tensor) -> Outputs:
        """Returns the outputs of the heads for the body's features."""
        return Outputs(self.policy(features), *self.value(features))


def make_heads(
    channels: int, board: Board, spec: HeadSpec, *, features: Board | None = None
) -> tuple[nn.Module, nn.Module]:
    """Returns the heads for a body that ends in `channels` channels of the board, or of a smaller one, `features`.

    Raises ValueError if `policy_planes` of the board do not have as many cells as there are actions.
    """
    cells = features or board
    policy = make_policy_head(channels, board, spec, features=cells)
    reduction, length = make_reduction(spec.value_channels, cells, spec)
    vector = nn.Sequential(
        ConvNorm(channels, spec.value_channels, 1, activation=spec.activation, momentum=spec.norm_momentum), reduction
    )
    return policy, make_value_head(vector, length, spec)


class MeanAndMax(nn.Module):
    """The mean and the maximum of each channel, `[N, 2 C]` (the global pooling of KataGo, Wu 2019)."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x.mean(dim=(2, 3)), x.amax(dim=(2, 3))], dim=1)


class Enlarge(nn.Module):
    """Rearranges planes of a board into larger ones, by `factor`: `[N, C f f, h, w]` to `[N, C, rows, columns]`."""

    def __init__(self, factor: int, board: Board) -> None:
        super().__init__()
        self.shuffle = nn.PixelShuffle(factor)
        self.board = board

    def forward(self, x: Tensor) -> Tensor:
        enlarged: Tensor = self.shuffle(x)
        return enlarged[:, :, : self.board[0], : self.board[1]]


def make_reduction(channels: int, features: Board, spec: HeadSpec) -> tuple[nn.Module, int]:
    """Returns a module that turns features into vectors, and their length.

    If what matters is near a piece that may be anywhere, pooling learns once what a layer that sees every cell has to
    learn for each.
    """
    if spec.pooled:
        return MeanAndMax(), 2 * channels
    return nn.Flatten(), channels * math.prod(features)


def make_policy_head(channels: int, board: Board, spec: HeadSpec, *, features: Board) -> nn.Module:
    """Returns a module from features to logits `[N, A]`.

    A 1x1 convolution and a linear layer for actions of any kind; two 3x3 convolutions if they are the cells of planes.
    Raises ValueError unless those planes have as many cells as there are actions.
    """
    if not spec.policy_planes:
        hidden = spec.policy_channels
        reduction, length = make_reduction(hidden, features, spec)
        return nn.Sequential(
            ConvNorm(channels, hidden, 1, activation=spec.activation, momentum=spec.norm_momentum),
            reduction,
            nn.Linear(length, spec.num_actions),
        )
    if spec.policy_planes * math.prod(board) != spec.num_actions:
        raise ValueError(
            f"expected planes of {board[0]} x {board[1]} for {spec.num_actions} actions, got {spec.policy_planes}"
        )
    factor = max(-(-board[i] // features[i]) for i in range(2))
    layers: list[nn.Module] = [
        ConvNorm(channels, channels, 3, activation=spec.activation, momentum=spec.norm_momentum),
        nn.Conv2d(channels, spec.policy_planes * factor**2, 3, padding=1, bias=False),
    ]
    if factor > 1:
        layers.append(Enlarge(factor, board))
    return nn.Sequential(*layers, nn.Flatten())


def make_value_head(vector: nn.Module, length: int, spec: HeadSpec) -> nn.Module:
    """Returns a module from the input of `vector` to what follows the logits in `Outputs`.

    `vector` returns `[N, length]`.
    """
    return {"mse": ValueHead, "wdlp": OutcomeHead}[spec.value_head](vector, length, spec)


class ValueHead(nn.Module):
    """Two linear layers to a value in [-1, 1], `[N]`, or `[N, P]` if there are several values."""

    def __init__(self, vector: nn.Module, length: int, spec: HeadSpec) -> None:
        super().__init__()
        self.num_values = spec.num_values
        self.body = nn.Sequential(
            *(vector if isinstance(vector, nn.Sequential) else [vector]),
            nn.Linear(length, spec.value_hidden),
            ACTIVATIONS[spec.activation](),
            nn.Linear(spec.value_hidden, spec.num_values),
            nn.Tanh(),
        )

    def forward(self, x: Tensor) -> tuple[Tensor]:
        value: Tensor = self.body(x)
        return (value if self.num_values > 1 else value[:, 0],)


class OutcomeHead(nn.Module):
    """Two parallel linear layers: logits of loss, draw and win, and the plies to the end (CrazyAra's WDLP).

    With several values each player has its own logits; a win is a return above zero, whoever else has one.
    """

    def __init__(self, vector: nn.Module, length: int, spec: HeadSpec) -> None:
        super().__init__()
        self.num_values = spec.num_values
        self.body = vector
        self.wdl = nn.Linear(length, 3 * spec.num_values)
        self.plies = nn.Sequential(nn.Linear(length, 1), nn.Sigmoid())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        vector = self.body(x)
        wdl: Tensor = self.wdl(vector)
        if self.num_values > 1:
            wdl = wdl.reshape(-1, self.num_values, 3)
        return value_of(wdl), wdl, self.plies(vector)[:, 0]
