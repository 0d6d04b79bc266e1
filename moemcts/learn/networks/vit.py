"""The Vision Transformer: patches of the board as tokens."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from moemcts.learn.networks.heads import Board, TwoHeads, make_heads, make_value_head
from moemcts.learn.networks.options import HeadSpec


class VisionTransformer(TwoHeads):
    """Patches become tokens, to which layers of attention and an MLP are applied (Dosovitskiy et al. 2021).

    If one patch covers the board, linear heads see the class token alone; else the tokens of the patches form a board
    of features for the usual heads.
    """

    def __init__(
        self,
        observation_shape: tuple[int, int, int],
        heads: HeadSpec,
        *,
        patch: int,
        channels: int,
        blocks: int,
        attention_heads: int,
        hidden: int,
    ) -> None:
        planes, rows, columns = observation_shape
        grid = (-(-rows // patch), -(-columns // patch))
        is_one_patch = grid == (1, 1)
        body = nn.Sequential(
            Tokens(planes, channels, patch, grid),
            *(EncoderBlock(channels, attention_heads, hidden) for _ in range(blocks)),
            nn.LayerNorm(channels, eps=EPSILON),
            ClassToken() if is_one_patch else Grid(grid),
        )
        if is_one_patch:
            policy: nn.Module = nn.Linear(channels, heads.num_actions)
            value = make_value_head(nn.Identity(), channels, heads)
        else:
            policy, value = make_heads(channels, (rows, columns), heads, features=grid)
        super().__init__(body, policy, value)


EPSILON = 1e-6


class Tokens(nn.Module):
    """Turns planes into tokens `[N, 1 + patches, C]`, the class token first; boards are padded with zeros."""

    def __init__(self, planes: int, channels: int, patch: int, grid: Board) -> None:
        super().__init__()
        self.patch = patch
        self.grid = grid
        self.embed = nn.Conv2d(planes, channels, patch, stride=patch)
        self.positions = nn.Parameter(torch.zeros(1, 1 + grid[0] * grid[1], channels))
        self.class_token = nn.Parameter(torch.zeros(1, 1, channels))

    def forward(self, planes: Tensor) -> Tensor:
        below = self.grid[0] * self.patch - planes.shape[2]
        beside = self.grid[1] * self.patch - planes.shape[3]
        tokens = self.embed(functional.pad(planes, (0, beside, 0, below))).flatten(2).transpose(1, 2)
        return torch.cat([self.class_token.expand(planes.shape[0], -1, -1), tokens], dim=1) + self.positions


class EncoderBlock(nn.Module):
    """Attention and an MLP, each after a norm and with a skip connection."""

    def __init__(self, channels: int, attention_heads: int, hidden: int) -> None:
        super().__init__()
        if channels % attention_heads:
            raise ValueError(f"expected channels in multiples of {attention_heads} heads, got {channels}")
        self.attention_heads = attention_heads
        self.norm = nn.LayerNorm(channels, eps=EPSILON)
        self.query, self.key, self.value, self.out = (nn.Linear(channels, channels) for _ in range(4))
        self.mlp = nn.Sequential(
            nn.LayerNorm(channels, eps=EPSILON), nn.Linear(channels, hidden), nn.GELU(), nn.Linear(hidden, channels)
        )

    def forward(self, x: Tensor) -> Tensor:
        normed = self.norm(x)

        def heads(layer: nn.Module) -> Tensor:
            projected: Tensor = layer(normed)
            return projected.reshape(x.shape[0], x.shape[1], self.attention_heads, -1).transpose(1, 2)

        mixed = functional.scaled_dot_product_attention(heads(self.query), heads(self.key), heads(self.value))
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        y: Tensor = x + self.mlp(x)
        return y


class ClassToken(nn.Module):
    """Selects the class token, `[N, C]`."""

    def forward(self, tokens: Tensor) -> Tensor:
        return tokens[:, 0]


class Grid(nn.Module):
    """Arranges the tokens of patches as a board, `[N, C, rows, columns]`."""

    def __init__(self, grid: Board) -> None:
        super().__init__()
        self.grid = grid

    def forward(self, tokens: Tensor) -> Tensor:
        return tokens[:, 1:].transpose(1, 2).reshape(tokens.shape[0], -1, *self.grid)
