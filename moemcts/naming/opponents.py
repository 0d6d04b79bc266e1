"""Default agents, and the opponents that a search assumes."""

from __future__ import annotations

from moemcts import weights
from moemcts.game import Game
from moemcts.plugins import plugins
from moemcts.references import parse_reference
from moemcts.search.opponents import Opponents

SELF = "self"
"""In place of an assumed opponent: the search plays all seats itself."""


def best_available_agent(game: Game) -> str:
    """Returns the reference of the agent that plays a game if the user names none.

    It is the experts that come with the game, or else its default agent, or else `random`.
    """
    return weights.default_weights(game) or plugins().player(game)


def resolve_opponents(name: str, game: Game) -> Opponents:
    """Returns the opponents that the search assumes; None for `self`, which searches for every seat."""
    if name == SELF:
        return None
    agents = plugins().agents.for_game(game.spec.name)
    if not agents.knows(agent_name := parse_reference(name)[0]):
        raise agents.unknown(agent_name, (SELF,))
    return plugins().agent(name, game)


def default_opponents(game: Game) -> str:
    """Returns the opponent that the search assumes by default: the game's default agent, or `self`."""
    return plugins().default_agent(game) or SELF
