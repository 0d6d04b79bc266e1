"""The classic games on a page: what is legal can be clicked, and stones are where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from moemcts_classics.pageboard import BOARDS
from moemcts_classics.plugin import register_games

GAMES = {entry.name: entry.make for entry in register_games()}


@pytest.mark.parametrize("name", GAMES)
def test_what_is_legal_can_be_clicked(name: str) -> None:
    game: Any = GAMES[name]()
    board, state, rng = BOARDS[name](game), game.initial_state(), np.random.default_rng(0)
    while state.active_players:
        (player,) = state.active_players
        drawing, legal = board.draw(state, 0), list(map(int, state.legal_actions(player)))
        names = {game.format_action(state, player, action) for action in legal if action not in drawing.spots}
        assert names <= {"pass"}
        spots = [drawing.spots[action] for action in legal if action in drawing.spots]
        assert len(set(spots)) == len(spots)
        for x, y, width, height in (spot for row in spots for spot in row):
            assert 0 <= x <= drawing.width - width
            assert 0 <= y <= drawing.height - height
        stones = sum(letter != "." for row in state.drawn() for letter in row)
        assert sum(drawing.svg.count(f'fill="{colour}"') for colour in board.colours) == stones
        state = state.play([int(rng.choice(legal))])


def test_every_game_has_a_board() -> None:
    assert set(BOARDS) == set(GAMES)
