"""LeViT: attention and convolutions, with batch norms throughout."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn
from torch.nn import functional

from moemcts.learn.networks.heads import Board, TwoHeads, make_heads
from moemcts.learn.networks.layers import ConvNorm
from moemcts.learn.networks.options import HeadSpec
from moemcts.learn.networks.resnet import ResidualBlock


class LeViT(TwoHeads):
    """A 3x3 stem, a residual block, and attention blocks (Graham et al. 2021) that keep the size of the board."""

    def __init__(
        self,
        observation_shape: tuple[int, int, int],
        heads: HeadSpec,
        *,
        channels: int,
        blocks: int,
        attention_heads: int,
        key_channels: int,
    ) -> None:
        planes, *sides = observation_shape
        board = (sides[0], sides[1])
        momentum = heads.norm_momentum
        body = nn.Sequential(
            ConvNorm(planes, channels, 3, activation=heads.activation, momentum=momentum),
            ResidualBlock(channels, momentum=momentum, activation=heads.activation),
            *(LeViTBlock(channels, board, attention_heads, key_channels, momentum) for _ in range(blocks)),
        )
        super().__init__(body, *make_heads(channels, board, heads))


class LeViTBlock(nn.Module):
    """Attention whose values are twice as wide as its keys, and an MLP twice as wide as its input.

    Instead of position embeddings, every head adds a learned bias for each distance in rows and columns.
    """

    def __init__(self, channels: int, board: Board, attention_heads: int, key_channels: int, momentum: float) -> None:
        super().__init__()
        self.attention_heads = attention_heads
        width = attention_heads * key_channels
        self.query = ConvNorm(channels, width, 1, momentum=momentum)
        self.key = ConvNorm(channels, width, 1, momentum=momentum)
        self.value = ConvNorm(channels, 2 * width, 1, momentum=momentum)
        self.out = nn.Sequential(nn.Hardswish(), *ConvNorm(2 * width, channels, 1, momentum=momentum))
        self.mlp = nn.Sequential(
            *ConvNorm(channels, 2 * channels, 1, activation="hardswish", momentum=momentum),
            *ConvNorm(2 * channels, channels, 1, momentum=momentum),
        )
        self.distances: Tensor
        self.register_buffer("distances", _distances(board), persistent=False)
        self.bias = nn.Parameter(torch.zeros(attention_heads, board[0] * board[1]))

    def forward(self, x: Tensor) -> Tensor:
        num, _, rows, columns = x.shape

        def heads(layer: nn.Module) -> Tensor:
            projected: Tensor = layer(x)
            return projected.reshape(num, self.attention_heads, -1, rows * columns).transpose(2, 3)

        bias = self.bias[:, self.distances][None].to(x.dtype)
        mixed = functional.scaled_dot_product_attention(
            heads(self.query), heads(self.key), heads(self.value), attn_mask=bias
        )
        x = x + self.out(mixed.transpose(2, 3).reshape(num, -1, rows, columns))
        y: Tensor = x + self.mlp(x)
        return y


def _distances(board: Board) -> Tensor:
    """Returns for each pair of cells the index of their distance in rows and columns, `[cells, cells]`."""
    cells = list(itertools.product(range(board[0]), range(board[1])))
    return torch.tensor([[abs(a - c) * board[1] + abs(b - d) for c, d in cells] for a, b in cells])
