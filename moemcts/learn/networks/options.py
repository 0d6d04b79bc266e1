"""Options that all networks have in common, available without importing torch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypedDict, Unpack

from moemcts.errors import UsageError

Activation = Literal["relu", "leaky_relu", "hardswish"]
ValueKind = Literal["mse", "wdlp"]
VALUE_KINDS: tuple[ValueKind, ...] = ("mse", "wdlp")


@dataclass(frozen=True, kw_only=True)
class HeadSpec:
    """The two heads of every network."""

    num_actions: int
    policy_planes: int = 0
    """Planes whose cells are the actions, `num_actions = policy_planes * rows * columns`; 0 for a linear layer."""
    policy_channels: int = 16
    """Channels before the linear layer of the policy."""
    value_head: ValueKind = "mse"
    """`mse`: a value, trained on squared error; `wdlp`: win, draw, loss and plies to the end (Czech et al. 2024)."""
    value_channels: int = 8
    value_hidden: int = 256
    """Width of the hidden layer of an `mse` head."""
    num_values: int = 1
    """1 for the value of the viewing player, P for those of all players, the viewing player first."""
    pooled: bool = False
    """Whether linear layers see the mean and maximum of each channel over the board instead of every cell."""
    activation: Activation = "relu"
    norm_momentum: float = 0.1
    """Momentum of batch norms. The papers' code says 0.9, a leftover of another library's opposite definition: in
    torch, little but the last batch counts then."""


class HeadOptions(TypedDict, total=False):
    """The options that every network has: fields of `HeadSpec`."""

    policy_planes: int
    policy_channels: int
    value_head: ValueKind
    value_channels: int
    value_hidden: int
    num_values: int
    pooled: bool
    activation: Activation
    norm_momentum: float


def require_planes(observation_shape: tuple[int, ...], what: str) -> tuple[int, int, int]:
    """Returns the shape as planes, rows and columns; raises UsageError, naming what needs them, for any other."""
    if len(observation_shape) != 3 or min(observation_shape) < 1:
        raise UsageError(
            f"expected planes, rows and columns for {what}, got observations of shape {tuple(observation_shape)}; "
            "n numbers are n planes of one cell as (n, 1, 1)"
        )
    return observation_shape[0], observation_shape[1], observation_shape[2]


def require_sizes(**sizes: int) -> None:
    """Raises ValueError for the first size that is below 1."""
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"expected {name} of at least 1, got {size}")


def head_spec(num_actions: int, chosen: HeadOptions, **defaults: Unpack[HeadOptions]) -> HeadSpec:
    """Returns the heads of a network: the user's options, else the network's own defaults.

    Raises ValueError for an unknown kind of value head, and for invalid sizes or an invalid momentum.
    """
    spec = replace(HeadSpec(num_actions=num_actions, **defaults), **chosen)
    if spec.value_head not in VALUE_KINDS:
        raise ValueError(f"expected value_head {' or '.join(VALUE_KINDS)}, got {spec.value_head!r}")
    require_sizes(
        policy_channels=spec.policy_channels,
        value_channels=spec.value_channels,
        value_hidden=spec.value_hidden,
        num_values=spec.num_values,
    )
    if not 0 <= spec.norm_momentum <= 1:
        raise ValueError(f"expected norm_momentum from 0 to 1, got {spec.norm_momentum:g}")
    if spec.policy_planes < 0:
        raise ValueError(f"expected policy_planes of at least 1, or 0 for a linear layer, got {spec.policy_planes}")
    return spec
