"""What the vocabulary of games refuses: specs that no search can hold, rows that there are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from games_for_tests import Savings

from moemcts.game import MAX_PLAYERS, any_of
from moemcts.native import core


def test_a_game_has_as_many_players_as_the_core_holds_and_no_more() -> None:
    views = Savings().views([])
    spec = replace(Savings().spec, num_players=MAX_PLAYERS)
    assert core.python_playouts(views, spec.num_players, 9, 1, 0).shape == (0, MAX_PLAYERS)
    with pytest.raises(ValueError, match=f"expected num_players to be at most {MAX_PLAYERS}, got {MAX_PLAYERS + 1}"):
        replace(spec, num_players=MAX_PLAYERS + 1)
    with pytest.raises(ValueError, match=f"expected 1 to {MAX_PLAYERS} players, got {MAX_PLAYERS + 1}"):
        core.python_playouts(views, MAX_PLAYERS + 1, 9, 1, 0)


def test_views_have_no_rows_below_0_and_none_behind_their_last() -> None:
    game = Savings()
    views = game.views([(game.initial_state(seed), 0) for seed in range(2)])
    for row in (-1, 2):
        for rows in ([0, row], np.array([0, row])):
            with pytest.raises(IndexError, match=f"expected a row of at least 0 and below 2, got {row}"):
                views.take(rows)
        with pytest.raises(IndexError, match=f"got {row}"):
            views[row]
    assert [view.state for view in views.take(np.array([1, 0, 1]))] == [views[row].state for row in (1, 0, 1)]


@pytest.mark.parametrize("number", [1, 2, 3, 7, 64, 4672])
def test_an_action_at_random_is_the_one_that_numpy_draws(number: int) -> None:
    """Games at random stay those of datasets and openings that were made before."""
    drawing, numpy = np.random.default_rng(number), np.random.default_rng(number)
    actions = np.arange(number) * 3
    for given in [actions, actions.tolist()] * 50:
        assert any_of(given, drawing) == numpy.choice(actions)
