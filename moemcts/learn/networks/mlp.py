"""Dense layers, for observations that are not boards."""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict

from torch import nn

from moemcts.learn.networks.heads import TwoHeads, make_value_head
from moemcts.learn.networks.layers import ACTIVATIONS
from moemcts.learn.networks.options import HeadSpec


class MLP(TwoHeads):
    """Linear layers on a flattened observation of any rank, and two heads."""

    def __init__(self, observation_shape: tuple[int, ...], heads: HeadSpec, *, width: int, layers: int) -> None:
        sizes = [math.prod(observation_shape), *[width] * layers]
        body: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
        for i, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
            body[f"linear{i}"] = nn.Linear(inputs, outputs)
            body[f"activation{i}"] = ACTIVATIONS[heads.activation]()
        policy = nn.Linear(width, heads.num_actions)
        super().__init__(nn.Sequential(body), policy, make_value_head(nn.Identity(), width, heads))
