"""A plain stack of convolutions."""

from __future__ import annotations

import math

from torch import nn

from moemcts.learn.networks.heads import TwoHeads, make_value_head
from moemcts.learn.networks.options import HeadSpec


class PlainCNN(TwoHeads):
    """Four 3x3 convolutions, a 5x5 one without padding, and dense heads, without skip connections."""

    def __init__(self, observation_shape: tuple[int, int, int], heads: HeadSpec, *, dropout: float) -> None:
        """Pads the last convolution on boards with a side of five cells or less.

        Without padding one cell may be left, in which a batch of one sample has no variance.
        """
        planes, *board = observation_shape
        rim = 0 if min(board) > LAST_KERNEL else LAST_KERNEL // 2
        cells = math.prod(side + 2 * rim - (LAST_KERNEL - 1) for side in board)
        momentum = heads.norm_momentum
        body = nn.Sequential(
            nn.Conv2d(planes, 32, 3, padding=1),
            nn.ReLU(),
            *_layer(32, 64, momentum, dropout),
            *_layer(64, 128, momentum, dropout),
            *_layer(128, 128, momentum, dropout),
            nn.Conv2d(128, 256, LAST_KERNEL, padding=rim),
            nn.BatchNorm2d(256, momentum=momentum),
            nn.ReLU(),
            nn.Flatten(),
        )
        vector = nn.Sequential(nn.Linear(256 * cells, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU())
        super().__init__(body, nn.Linear(256 * cells, heads.num_actions), make_value_head(vector, 128, heads))


LAST_KERNEL = 5


def _layer(inputs: int, outputs: int, momentum: float, dropout: float) -> list[nn.Module]:
    return [
        nn.Conv2d(inputs, outputs, 3, padding=1),
        nn.BatchNorm2d(outputs, momentum=momentum),
        nn.ReLU(),
        nn.Dropout(dropout),
    ]
