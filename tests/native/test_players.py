"""Who does not play is told by the number that was given, in whatever way a position is asked about it."""

from __future__ import annotations

from typing import Any

import pytest

from moemcts.native import core
from moemcts.plugins import plugins

NAMES = {"pommerman": 4, "othello": 2}


@pytest.mark.parametrize("number", [-7, -1, 4, 31, 32, 70])
@pytest.mark.parametrize("name", NAMES)
def test_players_who_do_not_play_are_refused_by_their_number(name: str, number: int) -> None:
    game = plugins().game(name)
    state: Any = game.initial_state()
    asked = [state.observation, state.is_decided, lambda player: game.views([(state, player)])]
    if name == "pommerman":
        scripted = core.PommermanPlayer("simple", 0)
        asked += [state.observed, state.perceived, state.nearest_opponent]
        asked.append(lambda player: scripted.choose(state, player))
    for ask in asked:
        with pytest.raises(ValueError, match=f"expected a player below {NAMES[name]}, got {number}"):
            ask(number)
