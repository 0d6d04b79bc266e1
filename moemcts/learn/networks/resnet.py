"""AlphaZero's residual network."""

from __future__ import annotations

from torch import Tensor, nn

from moemcts.learn.networks.heads import TwoHeads, make_heads
from moemcts.learn.networks.layers import ACTIVATIONS, ConvNorm
from moemcts.learn.networks.options import HeadSpec


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions with a skip connection, then an activation."""

    def __init__(self, channels: int, *, momentum: float, activation: str = "relu") -> None:
        super().__init__()
        self.body = nn.Sequential(
            ConvNorm(channels, channels, 3, activation=activation, momentum=momentum),
            ConvNorm(channels, channels, 3, momentum=momentum),
        )
        self.activation = ACTIVATIONS[activation]()

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.activation(x + self.body(x))
        return y


class ResNet(TwoHeads):
    """A 3x3 stem, residual blocks, two heads."""

    def __init__(self, observation_shape: tuple[int, int, int], heads: HeadSpec, *, channels: int, blocks: int) -> None:
        planes, *sides = observation_shape
        activation, momentum = heads.activation, heads.norm_momentum
        body = nn.Sequential(
            ConvNorm(planes, channels, 3, activation=activation, momentum=momentum),
            *(ResidualBlock(channels, momentum=momentum, activation=activation) for _ in range(blocks)),
        )
        super().__init__(body, *make_heads(channels, (sides[0], sides[1]), heads))
