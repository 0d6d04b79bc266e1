"""References to agents: registered names and experts, with options."""

from moemcts.naming.agents import (
    TIMES,
    Contestant,
    check_backend,
    contestants,
    is_more_specific,
    is_timed,
    resolve_agent,
    resolve_reference,
    with_options,
)
from moemcts.naming.experts import AUTO, CHOSEN, LIMITS
from moemcts.naming.folders import (
    experts_in,
    experts_of,
    folder_of,
    game_of,
    identity_of,
    names_experts,
    phases_of,
)
from moemcts.naming.gates import default_gate
from moemcts.naming.limits import check_limits, with_limits
from moemcts.naming.opponents import SELF, best_available_agent, default_opponents, resolve_opponents

__all__ = [
    "AUTO",
    "CHOSEN",
    "LIMITS",
    "SELF",
    "TIMES",
    "Contestant",
    "best_available_agent",
    "check_backend",
    "check_limits",
    "contestants",
    "default_gate",
    "default_opponents",
    "experts_in",
    "experts_of",
    "folder_of",
    "game_of",
    "identity_of",
    "is_more_specific",
    "is_timed",
    "names_experts",
    "phases_of",
    "resolve_agent",
    "resolve_opponents",
    "resolve_reference",
    "with_limits",
    "with_options",
]
