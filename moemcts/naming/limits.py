"""Default limits for agents that name none: in matches, at the terminal and on the page alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from moemcts.errors import UsageError
from moemcts.game import Game
from moemcts.naming.experts import LIMITS
from moemcts.naming.folders import names_experts
from moemcts.options import option_types
from moemcts.plugins import plugins
from moemcts.references import parse_reference

_LIMITS = (*LIMITS, "movetime", "playouts")
"""Options that are limits of an agent."""
_DEPTH = "depth"
"""Also a limit for agents that do not count simulations; for those that do, it is a parameter of the tree."""


def with_limits(options: Mapping[str, Any], reference: str, game: Game, limits: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an agent's options, with the limits that it takes added if it names none of its own.

    Experts take all of them, a registered agent those that it has options for; 0, the policy alone, applies to experts
    only.
    """
    if any(name in options for name in _LIMITS):
        return dict(options)
    if names_experts(reference):
        return {**options, **limits}
    available = _options_of(parse_reference(reference)[0], game)
    if _DEPTH in options and "simulations" not in available:
        return dict(options)
    return {**options, **{name: value for name, value in limits.items() if value and name in available}}


def check_limits(references: Sequence[str], game: Game, limits: Mapping[str, Any]) -> None:
    """Raises UsageError for the first limit that none of these agents takes; unknown names are reported when the agents
    are made.
    """
    if not limits:
        return
    taken: set[str] = set()
    for reference in references:
        options = parse_reference(reference)[1]
        taken |= with_limits(options, reference, game, limits).keys() - options.keys()
    for name in limits:
        if name not in taken:
            raise UsageError(
                f"--{name} has no effect here: every agent either names its own limit, as uct?simulations=100 "
                "does, or takes none of this kind; leave it out"
            )


def _options_of(name: str, game: Game) -> Collection[str]:
    entries = plugins().agents.for_game(game.spec.name)
    if not entries.knows(name):
        return ()
    num_given = 2 if entries.is_member(name) else 1
    return option_types(entries.entry(name).make, num_given=num_given)
