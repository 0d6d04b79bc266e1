"""Networks by name, created without importing torch before one is needed.

Most take the options of `HeadOptions` besides their own; the defaults of those differ from network to network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Unpack

from moemcts.learn.networks.options import Activation, HeadOptions, ValueKind, head_spec, require_planes, require_sizes

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
    `attention` precedes the blocks listed in `attention_blocks`, counted from 0, or all. With `downsampling` the block
    after the first half of them halves the board and doubles the channels.
    """
    from moemcts.learn.networks.rise import BlockSpec, Rise

    _require_blocks(blocks)
    require_sizes(channels=channels, expanded=expanded, kernels=min(kernels, default=0))
    if any(kernel % 2 == 0 for kernel in kernels):
        raise ValueError(f"expected kernels of odd sizes, got {list(kernels)}")
    # The last block is the narrowest if growth is below 0.
    require_sizes(expanded=expanded + max(blocks - 1, 0) * growth)
    if downsampling and blocks < 2:
        raise ValueError(f"expected at least 2 blocks with downsampling, which begins after half of them, got {blocks}")
    if attention_blocks and attention == "none":
        raise ValueError("expected attention with attention_blocks, got none")
    if any(block not in range(blocks) for block in attention_blocks):
        raise ValueError(f"expected attention_blocks from 0 to {blocks - 1}, got {list(attention_blocks)}")
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

    Blocks 7, 11, 12 and 13 have 5x5 kernels and fewer channels; attention precedes 5, 8, 12, 13 and 14. `eca` is what
    the papers describe, `eca_dense` what their code runs: a full matrix over channels, 327,936 parameters per block of
    which 65,792 have an effect, instead of 5. The papers name a path dropout of 0.05, their code has none. Their
    5,886,933 parameters also count 131,585 of an `mse` value head that `value_head=wdlp` leaves unused; here 4,444,628
    have an effect with `eca_dense`, and 4,115,693 with `eca`.
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
"""Channels, and for each block its kernel size or T for a transformer (Czech et al. 2024, Table 6, and CrazyAra's
code)."""


def alphavile(
    observation_shape: Shape,
    num_actions: int,
    *,
    size: str = "normal",
    path_dropout: float = 0.05,
    **heads: Unpack[HeadOptions],
) -> Module:
    """AlphaVile: mobile blocks with 3x3 and 5x5 kernels and one or two transformer blocks, in four sizes."""
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

    With `pooled`, its heads see means and maxima over the board, which takes fewer samples to learn from if what
    matters may be anywhere on the board.
    """
    from moemcts.learn.networks.resnet import ResNet

    _require_blocks(blocks)
    require_sizes(channels=channels)
    spec = head_spec(num_actions, heads, policy_channels=2, value_channels=1)
    return ResNet(_shape(observation_shape), spec, channels=channels, blocks=blocks)


def densenet(
    observation_shape: Shape,
    num_actions: int,
    *,
    growth: int = 32,
    blocks: int = 4,
    layers: int = 4,
    expansion: int = 4,
    **heads: Unpack[HeadOptions],
) -> Module:
    """The Antichess thesis' DenseNet (section 3.2): four blocks of four layers, each of which adds 32 channels.

    As there, a layer's 1x1 convolution has `expansion` times its inputs' channels (not `expansion` times `growth`, as
    in Huang et al. 2017), and 3x3 convolutions between blocks reduce them to `growth`. The heads differ: the thesis'
    policy is cut out of 66 planes.
    """
    from moemcts.learn.networks.densenet import DenseNet

    require_sizes(growth=growth, blocks=blocks, layers=layers, expansion=expansion)
    return DenseNet(
        _shape(observation_shape),
        head_spec(num_actions, heads, policy_channels=2, value_channels=1),
        growth=growth,
        blocks=blocks,
        layers=layers,
        expansion=expansion,
    )


def nextvit(
    observation_shape: Shape,
    num_actions: int,
    *,
    channels: int = 256,
    blocks: int = 4,
    repeats: int = 1,
    **heads: Unpack[HeadOptions],
) -> Module:
    """NextViT as in the AlphaVile paper: convolution blocks, then `repeats` times more of them and a transformer block.

    The board is never downsampled; channels have to be a multiple of 32, at least 96.
    """
    from moemcts.learn.networks.transformer import NextViT

    require_sizes(channels=channels, blocks=blocks, repeats=repeats)
    spec = head_spec(num_actions, heads)
    return NextViT(_shape(observation_shape), spec, channels=channels, blocks=blocks, repeats=repeats)


def levit(
    observation_shape: Shape,
    num_actions: int,
    *,
    channels: int = 256,
    blocks: int = 9,
    attention_heads: int = 4,
    key_channels: int = 32,
    **heads: Unpack[HeadOptions],
) -> Module:
    """LeViT without downsampling of the board: stem and residual block of 3x3 convolutions, then attention.

    Widths are those of LeViT-256's first stage (Graham et al. 2021). The AlphaVile paper gives no depth, only 0.413 G
    multiply-adds, to which nine blocks come closest; its number of parameters is not published.
    """
    from moemcts.learn.networks.levit import LeViT

    require_sizes(channels=channels, attention_heads=attention_heads, key_channels=key_channels)
    _require_blocks(blocks)
    return LeViT(
        _shape(observation_shape),
        head_spec(num_actions, heads, activation="hardswish"),
        channels=channels,
        blocks=blocks,
        attention_heads=attention_heads,
        key_channels=key_channels,
    )


def vit(
    observation_shape: Shape,
    num_actions: int,
    *,
    patch: int = 8,
    channels: int = 256,
    blocks: int = 12,
    attention_heads: int = 8,
    hidden: int = 1024,
    **heads: Unpack[HeadOptions],
) -> Module:
    """The Vision Transformer that the AlphaVile paper compares with, where it does poorly.

    Its patches of 8x8 make a single token of a board of 8x8, beside the class token: attention has nothing to compare,
    and all 4864 logits come from one linear layer on 256 numbers. The paper reports a loss of 1.69 against 1.13 to 1.17
    of the others, at 21 million multiply-adds. With `patch=1` or 2 every cell or 2x2 block of the board is a token, and
    the heads are those of the other networks.
    """
    from moemcts.learn.networks.vit import VisionTransformer

    require_sizes(patch=patch, channels=channels, attention_heads=attention_heads, hidden=hidden)
    _require_blocks(blocks)
    _, rows, columns = shape = _shape(observation_shape)
    if patch >= max(rows, columns):
        if idle := [name for name in ("policy_channels", "value_channels", "pooled", "norm_momentum") if name in heads]:
            raise ValueError(
                f"expected no {idle[0]}: with a patch of {patch}, the whole board, heads see a single token"
            )
        if heads.get("policy_planes", 0) not in (0, num_actions / (rows * columns)):
            raise ValueError(
                f"expected planes of {rows} x {columns} for {num_actions} actions, got {heads['policy_planes']}"
            )
    return VisionTransformer(
        shape,
        head_spec(num_actions, heads),
        patch=patch,
        channels=channels,
        blocks=blocks,
        attention_heads=attention_heads,
        hidden=hidden,
    )


def cnn(
    observation_shape: Shape,
    num_actions: int,
    *,
    dropout: float = 0.1,
    num_values: int = 1,
    value_head: ValueKind = "mse",
    norm_momentum: float = 0.1,
) -> Module:
    """The Prague thesis' network (code listing 7): five convolutions without skip connections, dropout, dense heads.

    Its 5x5 convolution without padding loses the border of the board, which the thesis regrets.
    """
    from moemcts.learn.networks.cnn import PlainCNN

    options: HeadOptions = {"num_values": num_values, "value_head": value_head, "norm_momentum": norm_momentum}
    return PlainCNN(_shape(observation_shape), head_spec(num_actions, options, value_hidden=64), dropout=dropout)


def mlp(
    observation_shape: Shape,
    num_actions: int,
    *,
    width: int = 256,
    layers: int = 3,
    activation: Activation = "relu",
    num_values: int = 1,
    value_head: ValueKind = "mse",
) -> Module:
    """Dense layers on observations of any shape, for games without a board."""
    from moemcts.learn.networks.mlp import MLP

    if min(observation_shape, default=0) < 1 or width < 1 or layers < 1:
        raise ValueError(f"expected sizes of at least 1, got {width=}, {layers=}, observations {observation_shape}")
    options: HeadOptions = {"num_values": num_values, "value_head": value_head, "activation": activation}
    spec = head_spec(num_actions, options, value_hidden=width)
    return MLP(tuple(observation_shape), spec, width=width, layers=layers)


def _require_blocks(blocks: int) -> None:
    """Raises ValueError for a number of blocks below 0; with none a network is its stem and heads."""
    if blocks < 0:
        raise ValueError(f"expected blocks of at least 0, got {blocks}")


def _shape(observation_shape: Shape) -> tuple[int, int, int]:
    return require_planes(observation_shape, "a network of convolutions (network 'mlp' takes any shape)")
