"""RISE: mobile bottleneck blocks, as in CrazyAra and PommerLearn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

from torch import Tensor, nn

from moemcts.learn.networks.heads import TwoHeads, make_heads
from moemcts.learn.networks.layers import ConvNorm, StochasticDepth, make_attention
from moemcts.learn.networks.options import HeadSpec
from moemcts.learn.networks.transformer import TransformerBlock


@dataclass(frozen=True, kw_only=True)
class BlockSpec:
    """Settings that differ between blocks."""

    expanded: int
    """Channels of the depthwise convolution."""
    kernel: int = 3
    attention: Literal["none", "se", "eca", "eca_dense"] = "none"
    path_dropout: float = 0.0
    """Probability that training skips the block, drawn for each sample."""
    is_transformer: bool = False
    """Whether a transformer block takes its place."""


class Style(TypedDict):
    """Settings that all layers of a network share."""

    activation: str
    momentum: float


class Bottleneck(nn.Module):
    """1x1 convolution to many channels, depthwise one, 1x1 back; stride 2 halves the board, without skip connection.

    Attention, if any, scales the block's input, and so the skip connection too.
    """

    def __init__(
        self, inputs: int, outputs: int, spec: BlockSpec, *, stride: int, activation: str, momentum: float
    ) -> None:
        super().__init__()
        self.attention = make_attention(spec.attention, inputs)
        self.is_residual = stride == 1
        self.path = StochasticDepth(spec.path_dropout)
        self.body = nn.Sequential(
            ConvNorm(inputs, spec.expanded, 1, activation=activation, momentum=momentum),
            ConvNorm(
                spec.expanded,
                spec.expanded,
                spec.kernel,
                stride=stride,
                groups=spec.expanded,
                activation=activation,
                momentum=momentum,
            ),
            ConvNorm(spec.expanded, outputs, 1, momentum=momentum),
        )

    def forward(self, x: Tensor) -> Tensor:
        if self.attention is not None:
            x = self.attention(x)
        y: Tensor = self.body(x)
        return x + self.path(y) if self.is_residual else y


class Rise(TwoHeads):
    """A 3x3 stem, bottlenecks, two heads."""

    def __init__(
        self,
        observation_shape: tuple[int, int, int],
        heads: HeadSpec,
        *,
        channels: int,
        blocks: Sequence[BlockSpec],
        downsampling: bool = False,
    ) -> None:
        """With `downsampling` the block after the first half halves the board and doubles the channels thereafter."""
        planes, *sides = observation_shape
        board = features = (sides[0], sides[1])
        style: Style = {"activation": heads.activation, "momentum": heads.norm_momentum}
        layers: list[nn.Module] = [ConvNorm(planes, channels, 3, **style)]
        strided = (len(blocks) + 1) // 2 if downsampling else len(blocks)
        for i, spec in enumerate(blocks):
            if spec.is_transformer:
                layers.append(TransformerBlock(channels, momentum=heads.norm_momentum))
                continue
            stride = 2 if i == strided else 1
            expanded = spec.expanded * (2 if i >= strided else 1)
            outputs = stride * channels
            layers.append(Bottleneck(channels, outputs, replace(spec, expanded=expanded), stride=stride, **style))
            features = (-(-features[0] // stride), -(-features[1] // stride))
            channels = outputs
        super().__init__(nn.Sequential(*layers), *make_heads(channels, board, heads, features=features))
