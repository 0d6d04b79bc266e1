"""Networks by name, made without importing torch before one is needed.

Every one takes the options of `HeadOptions` besides its own; the defaults of those differ from network to network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Unpack

from moemcts.learn.networks.options import HeadOptions, head_spec

if TYPE_CHECKING:
    from torch.nn import Module

Shape = tuple[int, ...]
Attention = Literal["none", "se", "eca", "eca_dense"]


def rise(
    observation_shape: Shape,
    num_actions: int,
    *,
    channels: int = 64,
    expanded: int = 256,
    blocks: int = 4,
    growth: int = 0,
    kernels: Sequence[int] = (3,),
    attention: Attention = "none",
    attention_blocks: Sequence[int] = (),
    downsampling: bool = False,
    **heads: Unpack[HeadOptions],
) -> Module:
    """RISE: mobile bottleneck blocks of any size (Czech et al., CrazyAra and PommerLearn).

    Block `i` expands to `expanded + i * growth` channels, with a depthwise kernel from `kernels`, which is repeated.
    `attention` comes before the blocks listed in `attention_blocks`, or all. With `downsampling` the block after
    half of them halves the board and doubles the channels.
    """
    from moemcts.learn.networks.rise import BlockSpec, Rise

    spec = head_spec(num_actions, heads, value_channels=1, activation="leaky_relu")
    bottlenecks = [
        BlockSpec(
            expanded=expanded + i * growth,
            kernel=kernels[i % len(kernels)],
            attention=attention if not attention_blocks or i in attention_blocks else "none",
        )
        for i in range(blocks)
    ]
    return Rise(_shape(observation_shape), spec, channels=channels, blocks=bottlenecks, downsampling=downsampling)


def rise_tiny(
    observation_shape: Shape, num_actions: int, *, downsampling: bool = True, **heads: Unpack[HeadOptions]
) -> Module:
    """The M2CTS paper's smallest network: one channel, four expanded, two blocks.

    On 23 x 11 x 11 it has the 13,662 parameters of the authors' class, 43,495 without downsampling.
    """
    return rise(
        observation_shape,
        num_actions,
        channels=1,
        expanded=4,
        blocks=2,
        downsampling=downsampling,
        **heads,
    )


def rise_small(
    observation_shape: Shape, num_actions: int, *, downsampling: bool = True, **heads: Unpack[HeadOptions]
) -> Module:
    """PommerLearn's own network: 64 channels, 256 expanded, four blocks; 344,425 parameters on 23 x 11 x 11."""
    return rise(
        observation_shape,
        num_actions,
        downsampling=downsampling,
        **heads,
    )


def rise_v33(
    observation_shape: Shape,
    num_actions: int,
    *,
    attention: Attention = "eca",
    path_dropout: float = 0.0,
    **heads: Unpack[HeadOptions],
) -> Module:
    """RISEv3.3 of the M2CTS papers: 15 mobile blocks on 256 channels, expanding to 224 up to 672.

    Blocks 7, 11, 12 and 13 have 5x5 kernels and fewer channels; attention stands before 5, 8, 12, 13 and 14. `eca` is
    what the papers describe, `eca_dense` what their code runs: a full matrix over channels, 327,936 parameters per
    block of which 65,792 take part, in place of 5. The papers name a path dropout of 0.05, their code has none.
    """
    from moemcts.learn.networks.rise import BlockSpec, Rise

    blocks = []
    for i in range(15):
        kernel = 5 if i in (7, 11, 12, 13) else 3
        expanded = 224 + 32 * i - (32 * (i // 2) if kernel == 5 else 0)
        kind: Attention = attention if i in (5, 8, 12, 13, 14) else "none"
        blocks.append(BlockSpec(expanded=expanded, kernel=kernel, attention=kind, path_dropout=path_dropout * i / 14))
    return Rise(_shape(observation_shape), head_spec(num_actions, heads), channels=256, blocks=blocks)


ALPHAVILE = {
    "tiny": (192, "35533355555333T"),
    "small": (192, "533355533355353535335T"),
    "normal": (224, "53335535335353355T3355555T"),
    "large": (224, "353333553553335333553335T55555333555T"),
}
"""Channels, and per block its kernel or T for a transformer (Czech et al. 2024, Table 6, and CrazyAra's code)."""


def alphavile(
    observation_shape: Shape,
    num_actions: int,
    *,
    size: str = "normal",
    path_dropout: float = 0.05,
    **heads: Unpack[HeadOptions],
) -> Module:
    """AlphaVile: mobile blocks with 3x3 and 5x5 kernels and one or two transformer blocks, four sizes."""
    from moemcts.learn.networks.rise import BlockSpec, Rise

    if size not in ALPHAVILE:
        raise ValueError(f"expected size {', '.join(ALPHAVILE)}, got {size!r}")
    channels, pattern = ALPHAVILE[size]
    # Blocks with 5x5 kernels expand to 0.68 of the others' channels, rounded to 32.
    narrow = int(2 * channels * 0.68 / 32 + 0.5) * 32
    blocks = [
        BlockSpec(
            expanded=narrow if kind == "5" else 2 * channels,
            kernel=5 if kind == "5" else 3,
            path_dropout=path_dropout * i / (len(pattern) - 1),
            is_transformer=kind == "T",
        )
        for i, kind in enumerate(pattern)
    ]
    spec = head_spec(num_actions, heads, value_hidden=channels)
    return Rise(_shape(observation_shape), spec, channels=channels, blocks=blocks)


def resnet(
    observation_shape: Shape,
    num_actions: int,
    *,
    channels: int = 64,
    blocks: int = 4,
    **heads: Unpack[HeadOptions],
) -> Module:
    """AlphaZero's residual network (Silver et al. 2017): 3x3 convolutions, ReLU after the sum.

    With `pooled` heads it sees means and maxima over the board, which learns from fewer samples where what matters
    moves about.
    """
    from moemcts.learn.networks.resnet import ResNet

    spec = head_spec(num_actions, heads, policy_channels=2, value_channels=1)
    return ResNet(_shape(observation_shape), spec, channels=channels, blocks=blocks)


def _shape(observation_shape: Shape) -> tuple[int, int, int]:
    if len(observation_shape) != 3 or min(observation_shape) < 1:
        raise ValueError(f"expected planes, rows and columns, got an observation of shape {observation_shape}")
    return observation_shape[0], observation_shape[1], observation_shape[2]
