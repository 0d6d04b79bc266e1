"""One body with several sets of heads: frozen while heads are trained, and recognised in trained networks."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from moemcts.errors import MoemctsError
from moemcts.learn.networks.heads import TwoHeads


def require_heads(network: nn.Module) -> TwoHeads:
    """Returns the network; raises MoemctsError unless it consists of a body and heads."""
    if isinstance(network, TwoHeads):
        return network
    raise MoemctsError(
        "expected a network with a body and heads (moemcts.learn.networks.heads.TwoHeads) to train its heads "
        f"alone, got {type(network).__name__}; use another network, or a scheme that trains all of it"
    )


def freeze_body(network: nn.Module, is_frozen: bool) -> None:
    """Makes training change the heads only, or all weights again; batch norm statistics count as weights.

    Raises MoemctsError for freezing a network that does not consist of a body and heads.
    """
    if is_frozen or isinstance(network, TwoHeads):
        require_heads(network).is_body_frozen = is_frozen


def share_a_body(networks: Sequence[nn.Module]) -> bool:
    """Returns whether there are several networks whose bodies are equal, weight by weight."""
    first, *others = networks
    return bool(others) and isinstance(first, TwoHeads) and all(_same_body(first, other) for other in others)


def _same_body(a: TwoHeads, b: nn.Module) -> bool:
    if not isinstance(b, TwoHeads):
        return False
    own, other = a.body.state_dict(), b.body.state_dict()
    return own.keys() == other.keys() and all(torch.equal(own[name], other[name]) for name in own)
