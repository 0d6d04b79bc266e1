"""Building blocks of networks."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "leaky_relu": functools.partial(nn.LeakyReLU, 0.2),
    "hardswish": nn.Hardswish,
}
"""By name; PommerLearn's networks use the leaky one."""


class ConvNorm(nn.Sequential):
    """A convolution and a batch norm, then an activation if one is named; keeps the board's size at stride 1."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        *,
        stride: int = 1,
        groups: int = 1,
        activation: str | None = None,
        momentum: float = 0.1,
    ) -> None:
        layers: list[nn.Module] = [
            nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(outputs, momentum=momentum),
        ]
        if activation is not None:
            layers.append(ACTIVATIONS[activation]())
        super().__init__(*layers)


class StochasticDepth(nn.Module):
    """Zeroes whole samples at random in training, and scales the others up (Huang et al. 2016)."""

    def __init__(self, probability: float) -> None:
        """Raises ValueError unless `probability` is in [0, 1)."""
        super().__init__()
        if not 0 <= probability < 1:
            raise ValueError(f"expected a path_dropout of at least 0 and below 1, got {probability:g}")
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.probability == 0:
            return x
        keep = 1 - self.probability
        return x * x.new_empty(len(x), *(1,) * (x.ndim - 1)).bernoulli_(keep) / keep


class SqueezeExcitation(nn.Module):
    """Scales channels by the output of a small network for their means (Hu et al. 2018)."""

    def __init__(self, channels: int, *, reduction: int = 2) -> None:
        super().__init__()
        hidden = max(channels // reduction, 1)
        self.body = nn.Sequential(
            nn.Linear(channels, hidden, bias=False),
            nn.ReLU(),
            nn.Linear(hidden, channels, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, x: Tensor) -> Tensor:
        gain: Tensor = self.body(x.mean(dim=(2, 3)))
        return x * gain[:, :, None, None]


class EfficientAttention(nn.Module):
    """Scales each channel by the output of a short convolution over neighbouring channels' means (Wang et al. 2020)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        kernel = attention_kernel(channels)
        self.conv = nn.Conv1d(1, 1, kernel, padding=kernel // 2, bias=False)
        self.gate = nn.Hardsigmoid()

    def forward(self, x: Tensor) -> Tensor:
        gain: Tensor = self.gate(self.conv(x.mean(dim=(2, 3))[:, None, :]))
        return x * gain[:, 0, :, None, None]


class DenseAttention(nn.Module):
    """What the authors' code runs instead of `EfficientAttention`: a full matrix over the channels.

    Their convolution uses channels as channels and the single mean as its length, so that of its `kernel` taps only the
    middle one ever sees anything but padding; the others are kept because parameter counts include them.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        kernel = attention_kernel(channels)
        self.conv = nn.Conv1d(channels, channels, kernel, padding=kernel // 2)
        self.gate = nn.Hardsigmoid()

    def forward(self, x: Tensor) -> Tensor:
        gain: Tensor = self.gate(self.conv(x.mean(dim=(2, 3))[:, :, None]))
        return x * gain[:, :, :, None]


def attention_kernel(channels: int) -> int:
    """Returns the odd kernel size of efficient channel attention for a number of channels (Wang et al. 2020)."""
    size = int(abs((math.log2(channels) + 1) / 2))
    return size if size % 2 else size + 1


def make_attention(kind: Literal["none", "se", "eca", "eca_dense"], channels: int) -> nn.Module | None:
    """Returns a module that scales channels, or None; raises ValueError for an unknown kind."""
    if kind == "none":
        return None
    kinds: dict[str, type[nn.Module]] = {
        "se": SqueezeExcitation,
        "eca": EfficientAttention,
        "eca_dense": DenseAttention,
    }
    if kind not in kinds:
        raise ValueError(f"expected attention none, {', '.join(kinds)}, got {kind!r}")
    return kinds[kind](channels)


def as_planes(observations: Tensor) -> Tensor:
    """Returns observations `[N, ...]` as planes `[N, C, H, W]`, of the sizes in `GameSpec.plane_shape`."""
    return observations if observations.ndim == 4 else observations.flatten(1)[:, :, None, None]


def count_macs(network: nn.Module, observation_shape: Sequence[int]) -> int:
    """Returns the multiply-adds of convolutions, linear layers and attention for one position."""
    from torch.utils.flop_counter import FlopCounterMode

    device = next(network.parameters()).device
    was_training = network.training
    # Attention's fused kernels for CPUs are not counted; the plain one is.
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
        network.eval()(torch.zeros(1, *observation_shape, device=device))
    network.train(was_training)
    return int(counter.get_total_flops()) // 2


def count_parameters(network: nn.Module) -> int:
    """Returns the number of trainable parameters."""
    return sum(parameter.numel() for parameter in network.parameters() if parameter.requires_grad)
