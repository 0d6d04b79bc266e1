"""Observations of one batch after the other lie in the same memory where that is asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from games_for_tests import HashedTree, NativeConnectFour, TreeGame, TreeState

from moemcts.errors import UnlawfulGame
from moemcts.game import Action, FloatArray, Game, Player, Views
from moemcts.native import ObservationBuffer, are_native
from moemcts.plugins import plugins

GAMES = [NativeConnectFour(), plugins().game("pommerman"), plugins().game("chess")]


def some_views(game: Game, plies: Sequence[int]) -> Views:
    pairs = []
    for seed, ply in enumerate(plies):
        state = game.initial_state(seed)
        for _ in range(ply):
            state = state.play([state.legal_actions(player)[-1] for player in state.active_players])
        pairs.append((state, state.active_players[0]))
    return game.views(pairs)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.spec.name)
def test_rows_of_given_memory_hold_what_new_memory_would(game: Game) -> None:
    views = some_views(game, [0, 1, 2])
    assert are_native(views)
    expected = views.observations()
    out = np.full((5, *expected.shape[1:]), 7, dtype=np.float32)
    made = views.observations(out)
    assert np.array_equal(made, expected)
    assert np.shares_memory(made, out)
    assert (out[3:] == 7).all()


def test_memory_of_another_shape_or_kind_is_refused() -> None:
    views = some_views(GAMES[0], [0, 1])
    assert are_native(views)
    shape = views.observations().shape
    with pytest.raises(ValueError, match=r"expected out \[2 or more, "):
        views.observations(np.zeros((1, *shape[1:]), dtype=np.float32))
    with pytest.raises(ValueError, match=r"expected out \[2 or more, "):
        views.observations(np.zeros((2, 1, *shape[2:]), dtype=np.float32))
    with pytest.raises(ValueError, match="contiguous"):
        views.observations(np.zeros((4, *shape[1:]), dtype=np.float32)[::2])
    with pytest.raises(TypeError):
        views.observations(np.zeros(shape, dtype=np.float64))
    locked = np.zeros(shape, dtype=np.float32)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="writeable"):
        views.observations(locked)


def test_a_buffer_grows_to_the_largest_batch_and_stays_there() -> None:
    game = GAMES[0]
    buffer = ObservationBuffer()
    batches = [some_views(game, plies) for plies in ([0], [0, 1, 2], [3, 2], [1, 1, 1])]
    for views in batches:
        assert np.array_equal(buffer.observations(views), views.observations())
    first, second = (buffer.observations(views) for views in batches[2:])
    assert np.shares_memory(first, second)


def test_a_game_written_in_python_needs_no_buffer() -> None:
    game = HashedTree(TreeGame(seed=1, num_players=2, branching=3, depth=4, simultaneous=False))
    views = some_views(game, [0, 0])
    assert np.array_equal(ObservationBuffer().observations(views), views.observations())


@pytest.mark.parametrize("given", [np.float64(3), np.zeros(4, np.float32), np.zeros((1, 4), np.float32)])
def test_an_observation_of_another_shape_is_refused(given: FloatArray) -> None:
    class Position(TreeState):
        def observation(self, player: Player) -> FloatArray:
            return given

    game = HashedTree(TreeGame(seed=1, num_players=2, branching=3, depth=4, simultaneous=False))
    views = game.views([(Position(game.rules), 1)])
    with pytest.raises(UnlawfulGame, match=r"hashed-tree .*: expected observations of shape \(1, 1, 4\), got \("):
        views.observations()


def test_what_is_no_number_or_no_action_of_the_game_is_refused() -> None:
    class Position(TreeState):
        def observation(self, player: Player) -> FloatArray:
            return super().observation(player) * np.float32("nan")

        def legal_actions(self, player: Player) -> Sequence[Action]:
            return [0, 1, 3]

    game = HashedTree(TreeGame(seed=1, num_players=2, branching=3, depth=4, simultaneous=False))
    views = game.views([(Position(game.rules), 0)])
    with pytest.raises(UnlawfulGame, match=r"observations of finite numbers, got others of player 0 at ply 0"):
        views.observations()
    with pytest.raises(UnlawfulGame, match=r"actions of at least 0 and below 3, got \[0, 1, 3\] of player 0 at ply 0"):
        views.legal_mask()
