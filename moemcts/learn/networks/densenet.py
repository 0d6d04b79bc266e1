"""A network whose layers see the outputs of all layers before them in their block."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from moemcts.learn.networks.heads import TwoHeads, make_heads
from moemcts.learn.networks.layers import ACTIVATIONS, ConvNorm
from moemcts.learn.networks.options import HeadSpec


class DenseNet(TwoHeads):
    """A 3x3 stem, dense blocks, between them 3x3 convolutions that reduce the channels, and two heads."""

    def __init__(
        self,
        observation_shape: tuple[int, int, int],
        heads: HeadSpec,
        *,
        growth: int,
        blocks: int,
        layers: int,
        expansion: int,
    ) -> None:
        planes, *sides = observation_shape
        momentum, activation = heads.norm_momentum, heads.activation
        grown = growth * (layers + 1)
        parts: list[nn.Module] = [ConvNorm(planes, growth, 3, activation=activation, momentum=momentum)]
        for block in range(blocks):
            if block:
                parts.append(ConvNorm(grown, growth, 3, activation=activation, momentum=momentum))
            parts += [DenseLayer(growth * (1 + i), growth, expansion, activation, momentum) for i in range(layers)]
        super().__init__(nn.Sequential(*parts), *make_heads(grown, (sides[0], sides[1]), heads))


class DenseLayer(nn.Module):
    """Adds `growth` channels: a 1x1 convolution to `expansion` times the inputs, then a 3x3 one; norms come first."""

    def __init__(self, inputs: int, growth: int, expansion: int, activation: str, momentum: float) -> None:
        super().__init__()
        hidden = expansion * inputs
        self.body = nn.Sequential(
            nn.BatchNorm2d(inputs, momentum=momentum),
            ACTIVATIONS[activation](),
            *ConvNorm(inputs, hidden, 1, activation=activation, momentum=momentum),
            nn.Conv2d(hidden, growth, 3, padding=1, bias=False),
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.body(x)], dim=1)
