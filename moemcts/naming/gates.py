"""Which gate tells a game's phases where nobody is asked which."""

from __future__ import annotations

from moemcts.game import Game
from moemcts.plugins import plugins

NEUTRAL_GATE = "plies"
"""The gate of games that have none of their own."""


def usual_gate(game: Game) -> str:
    """Returns the gate that a game declares to be its default, else one that any game has."""
    entries = plugins().gates.for_game(game.spec.name)
    return next((name for name, entry in entries.items() if entry.default), NEUTRAL_GATE)
