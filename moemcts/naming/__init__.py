"""References to agents: registered names and experts, with options."""

from moemcts.naming.agents import (
    TIMES,
    Contestant,
    check_backend,
    contestants,
    is_timed,
    resolve_agent,
    says_more,
    settled,
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
from moemcts.naming.gates import usual_gate
from moemcts.naming.limits import check_limits, with_limits
from moemcts.naming.opponents import SELF, opponents_named, player_of, usual_opponents

__all__ = [
    "AUTO",
    "CHOSEN",
    "LIMITS",
    "SELF",
    "TIMES",
    "Contestant",
    "check_backend",
    "check_limits",
    "contestants",
    "experts_in",
    "experts_of",
    "folder_of",
    "game_of",
    "identity_of",
    "is_timed",
    "names_experts",
    "opponents_named",
    "phases_of",
    "player_of",
    "resolve_agent",
    "says_more",
    "settled",
    "usual_gate",
    "usual_opponents",
    "with_limits",
    "with_options",
]
