"""The small network that weights phases."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from moemcts.learn.networks.heads import MeanAndMax
from moemcts.learn.networks.layers import ConvNorm, as_planes


class GateNetwork(nn.Module):
    """A 3x3 convolution, mean and maximum over the board, and a linear layer give the probability of each phase.

    The last layer is initialised with zeros, so that all phases are equally likely before training.
    """

    def __init__(self, num_planes: int, num_phases: int, *, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(ConvNorm(num_planes, channels, 3, activation="relu"), MeanAndMax())
        self.last = nn.Linear(2 * channels, num_phases)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def forward(self, observations: Tensor) -> Tensor:
        """Returns the weight of each phase, `[N, K]`, rows summing to one, of observations `[N, ...]`."""
        return torch.softmax(self.last(self.body(as_planes(observations))), dim=1)
