"""Blocks with attention over the whole board, and the networks that are made of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from moemcts.learn.networks.heads import TwoHeads, make_heads
from moemcts.learn.networks.layers import ConvNorm
from moemcts.learn.networks.options import HeadSpec

HEAD_CHANNELS = 32


class TransformerBlock(nn.Module):
    """The Next Transformer Block of AlphaVile: attention on most channels, convolution on the rest, and an MLP.

    Li et al. 2022, Next-ViT, section 3.3, as CrazyAra runs it: three quarters of the channels, rounded to 32, attend in
    heads of 32; input and output have the same number of channels.
    """

    def __init__(self, channels: int, *, momentum: float) -> None:
        super().__init__()
        attending = _rounded(int(0.75 * channels))
        local = channels - attending
        if local < HEAD_CHANNELS or local % HEAD_CHANNELS:
            raise ValueError(f"expected channels in multiples of 32 and at least 96, got {channels}")
        self.embed = _point(channels, attending, momentum)
        self.norm = nn.BatchNorm2d(attending, momentum=momentum)
        self.attention = SelfAttention(attending)
        self.project = _point(attending, local, momentum)
        self.local = _local(local, momentum)
        self.mlp = _mlp(channels, 2, momentum)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x)
        x = x + self.attention(self.norm(x))
        y = self.project(x)
        x = torch.cat([x, y + self.local(y)], dim=1)
        z: Tensor = x + self.mlp(x)
        return z


class ConvolutionBlock(nn.Module):
    """The Next Convolution Block: a convolution in groups of 32 channels, and an MLP (Li et al. 2022, section 3.2)."""

    def __init__(self, channels: int, *, momentum: float) -> None:
        super().__init__()
        if channels % HEAD_CHANNELS:
            raise ValueError(f"expected channels in multiples of {HEAD_CHANNELS}, got {channels}")
        self.local = _local(channels, momentum)
        self.mlp = _mlp(channels, 3, momentum)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.local(x)
        y: Tensor = x + self.mlp(x)
        return y


class NextViT(TwoHeads):
    """A 3x3 stem, convolution blocks, and transformer blocks after further groups of them (Li et al. 2022)."""

    def __init__(
        self, observation_shape: tuple[int, int, int], heads: HeadSpec, *, channels: int, blocks: int, repeats: int
    ) -> None:
        planes, *sides = observation_shape
        momentum = heads.norm_momentum
        layers: list[nn.Module] = [ConvNorm(planes, channels, 3, activation=heads.activation, momentum=momentum)]
        for repeat in range(repeats + 1):
            layers += [ConvolutionBlock(channels, momentum=momentum) for _ in range(blocks)]
            if repeat:
                layers.append(TransformerBlock(channels, momentum=momentum))
        super().__init__(nn.Sequential(*layers), *make_heads(channels, (sides[0], sides[1]), heads))


class SelfAttention(nn.Module):
    """Self-attention among all cells of the board, in heads of 32 channels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(channels, channels) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        num, channels, rows, columns = x.shape
        cells = x.flatten(2).transpose(1, 2)

        def heads(layer: nn.Module) -> Tensor:
            projected: Tensor = layer(cells)
            return projected.reshape(num, rows * columns, -1, HEAD_CHANNELS).transpose(1, 2)

        mixed = functional.scaled_dot_product_attention(heads(self.query), heads(self.key), heads(self.value))
        y: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return y.transpose(1, 2).reshape(num, channels, rows, columns)


def _local(channels: int, momentum: float) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(channels, channels, 3, padding=1, groups=channels // HEAD_CHANNELS, bias=False),
        nn.BatchNorm2d(channels, momentum=momentum),
        nn.ReLU(),
        nn.Conv2d(channels, channels, 1, bias=False),
    )


def _mlp(channels: int, ratio: int, momentum: float) -> nn.Module:
    hidden = _rounded(ratio * channels)
    return nn.Sequential(
        nn.BatchNorm2d(channels, momentum=momentum),
        nn.Conv2d(channels, hidden, 1),
        nn.ReLU(),
        nn.Conv2d(hidden, channels, 1),
    )


def _point(inputs: int, outputs: int, momentum: float) -> nn.Module:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs, momentum=momentum))


def _rounded(channels: int) -> int:
    return max(HEAD_CHANNELS, (channels + HEAD_CHANNELS // 2) // HEAD_CHANNELS * HEAD_CHANNELS)
