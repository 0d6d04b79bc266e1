"""Native games refuse what cannot be asked of them in words, and end no process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from moemcts.evaluation import UniformEvaluator
from moemcts.game import State, random_action
from moemcts.plugins import plugins
from moemcts.search import Search, SearchConfig

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


def packed(name: str) -> Any:
    game = plugins().game(name)
    return game.unpack(game.pack([game.initial_state(0)] * 2), np.zeros(2, dtype=np.int64))


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("number", [-1, -2, 2, 2**62])
@pytest.mark.parametrize(
    "look",
    [
        lambda views, number: views[number],
        lambda views, number: views.take([0, number]),
        lambda views, number: views.take(np.array([0, number])),
    ],
    ids=["one", "list", "array"],
)
def test_rows_that_there_are_none_of_are_told_as_they_were_given(
    name: str, number: int, look: Callable[[Any, int], Any]
) -> None:
    game = plugins().game(name)
    for views in (game.views([(game.initial_state(0), 0)] * 2), packed(name)):
        with pytest.raises(IndexError, match=f"^expected a row of at least 0 and below 2, got {number}$"):
            look(views, number)


@pytest.mark.parametrize("rows", [[-1], np.array([-1])], ids=["list", "array"])
def test_rows_that_wait_for_no_evaluation_are_told_as_they_were_given(rows: Any) -> None:
    game = plugins().game("tic-tac-toe")
    search = Search(game, SearchConfig(simulations=10))
    search.reset(game.views([(game.initial_state(), 0)]), [0])
    evaluation = UniformEvaluator(game.spec).evaluate(search.select())
    with pytest.raises(ValueError, match="row -1 waits for no evaluation"):
        search.backup(evaluation, rows)
