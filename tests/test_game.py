"""What the vocabulary of games refuses: specs that no search can hold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from games_for_tests import Savings

from moemcts.game import MOST_PLAYERS
from moemcts.native import core


def test_a_game_has_as_many_players_as_the_core_holds_and_no_more() -> None:
    views = Savings().views([])
    spec = replace(Savings().spec, num_players=MOST_PLAYERS)
    assert core.python_playouts(views, spec.num_players, 1, 0).shape == (0, MOST_PLAYERS)
    with pytest.raises(ValueError, match=f"expected a num_players of {MOST_PLAYERS} or fewer, got {MOST_PLAYERS + 1}"):
        replace(spec, num_players=MOST_PLAYERS + 1)
    with pytest.raises(ValueError, match=f"expected 1 to {MOST_PLAYERS} players, got {MOST_PLAYERS + 1}"):
        core.python_playouts(views, MOST_PLAYERS + 1, 1, 0)
