"""The gate that is used by default."""

from __future__ import annotations

from moemcts.game import Game
from moemcts.plugins import plugins

NEUTRAL_GATE = "plies"
"""The gate of games that declare no default."""


def default_gate(game: Game) -> str:
    """Returns the game's default gate, or one that is available for all games."""
    entries = plugins().gates.for_game(game.spec.name)
    return next((name for name, entry in entries.items() if entry.default), NEUTRAL_GATE)
