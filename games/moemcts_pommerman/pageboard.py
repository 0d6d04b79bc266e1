"""Pommerman on a web page: its tiles, and keys for the actions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from moemcts.drawing import Drawing
from moemcts.game import Game, Player
from moemcts_pommerman.drawing import svg_body
from moemcts_pommerman.game import ACTION_NAMES
from moemcts_pommerman.glyphs import PLAYER_COLOURS
from moemcts_pommerman.scene import make_scene

KEYS = {"stop": ".", "up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft", "right": "ArrowRight", "bomb": " "}


class PommermanBoard:
    """The whole board, including what a player in fog does not see."""

    page: Path | None = None

    def __init__(self, game: Game) -> None:
        num_players = game.spec.num_players
        self.seats = tuple(f"player {player}" for player in range(num_players))
        self.colours = tuple(PLAYER_COLOURS[:num_players])

    def draw(self, state: Any, player: Player) -> Drawing:
        scene = make_scene(state)
        keys = {action: KEYS[name] for action, name in enumerate(ACTION_NAMES)}
        return Drawing(width=scene.width, height=scene.height, svg=svg_body(scene), keys=keys)
