"""Who plays where nobody is named, and who the search believes to face."""

from __future__ import annotations

from moemcts import weights
from moemcts.game import Game
from moemcts.plugins import plugins
from moemcts.references import parse_reference
from moemcts.search.opponents import Opponents

SELF = "self"
"""In place of who the search believes to face: it searches for every seat."""


def player_of(game: Game) -> str:
    """Returns the reference of who plays a game where the user names nobody.

    That are the experts that come with the game, else its default agent, else `random`.
    """
    return weights.default_weights(game) or plugins().player(game)


def opponents_named(name: str, game: Game) -> Opponents:
    """Returns who the search believes to face; `self` searches for every seat."""
    if name == SELF:
        return None
    agents = plugins().agents.for_game(game.spec.name)
    if not agents.knows(own := parse_reference(name)[0]):
        raise agents.unknown(own, (SELF,))
    return plugins().agent(name, game)


def usual_opponents(game: Game) -> str:
    """Returns who the search believes to face where nobody is named: the game's default agent, or `self`."""
    return plugins().default_agent(game) or SELF
