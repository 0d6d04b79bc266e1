"""AlphaZero's residual network."""

from __future__ import annotations

from torch import Tensor, nn

from moemcts.learn.networks.heads import TwoHeads
from moemcts.learn.networks.layers import ConvNorm
from moemcts.learn.networks.options import HeadSpec


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions whose result is added to their input, then ReLU."""

    def __init__(self, channels: int, *, momentum: float) -> None:
        super().__init__()
        self.body = nn.Sequential(
            ConvNorm(channels, channels, 3, activation="relu", momentum=momentum),
            ConvNorm(channels, channels, 3, momentum=momentum),
        )
        self.activation = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.activation(x + self.body(x))
        return y


class ResNet(TwoHeads):
    """A 3x3 stem, residual blocks, two heads."""

    def __init__(self, observation_shape: tuple[int, int, int], heads: HeadSpec, *, channels: int, blocks: int) -> None:
        planes, *sides = observation_shape
        board = (sides[0], sides[1])
        body = nn.Sequential(
            ConvNorm(planes, channels, 3, activation="relu", momentum=heads.norm_momentum),
            *(ResidualBlock(channels, momentum=heads.norm_momentum) for _ in range(blocks)),
        )
        super().__init__(body, channels, board, heads, features=board)
