"""Native games refuse what cannot be asked of them in words, and end no process."""

from __future__ import annotations

import numpy as np
import pytest

from moemcts.game import State, random_action
from moemcts.plugins import plugins

GAMES = [
    "breakthrough?rows=4&columns=4",
    "chess?max_plies=4",
    "connect-four",
    "hex?size=4",
    "othello",
    "pommerman?max_steps=2",
    "tic-tac-toe",
]


def finished(state: State) -> State:
    """Returns the end of a random game."""
    rng = np.random.default_rng(0)
    while state.active_players:
        state = state.play([random_action(state, player, rng) for player in state.active_players])
    return state


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("actions", [[], [0]])
def test_no_game_goes_on_after_its_end(name: str, actions: list[int]) -> None:
    over = finished(plugins().game(name).initial_state(0))
    with pytest.raises(ValueError, match="expected a position in which the game goes on, got one where it is over"):
        over.play(actions)
