"""Random playouts, flat Monte Carlo and UCT, on native games and on games written in Python."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from games_for_tests import HashedTree, NativeConnectFour, NativeTicTacToe, TreeGame, TreeState
from matches_for_tests import duel

from moemcts.agents import RandomAgent
from moemcts.errors import UnlawfulGame, UsageError
from moemcts.evaluation import RolloutEvaluator
from moemcts.game import FloatArray, Game, Views
from moemcts.native import playout_search, playouts
from moemcts.plugins import plugins
from moemcts.search.playouts import PlayoutAgent
from moemcts.testing import check_agent


def test_playouts_give_the_known_result_of_random_tic_tac_toe() -> None:
    """212,256 / 362,880 and 104,544 / 362,880 of the orders of nine moves are won by X and O."""
    game = NativeTicTacToe()
    views = game.views([(game.initial_state(), 0)])
    num = 40_000
    expected = (212_256 - 104_544) / 362_880
    # Four standard errors of a result in [-1, 1].
    error = 4 / math.sqrt(num)
    assert views.playouts(num, 3)[0] == pytest.approx([expected, -expected], abs=error)


@pytest.mark.parametrize("name", ["tictactoe", "pommerman", "chess"])
def test_a_row_of_playouts_depends_on_its_position_alone(name: str) -> None:
    game = plugins().game(name)
    state = game.initial_state(1)
    player = state.active_players[0]
    after = state.play([state.legal_actions(player)[0] for player in state.active_players])
    views = game.views([(state, player), (after, after.active_players[0])])
    both = playouts(views, game.spec, 5, 7)
    assert both.shape == (2, game.spec.num_players)
    assert np.array_equal(both[::-1], playouts(views.take([1, 0]), game.spec, 5, 7))
    assert np.array_equal(both, playouts(views, game.spec, 5, 7))


def test_a_game_in_python_is_searched_like_the_native_one() -> None:
    native, python = NativeTicTacToe(), plugins().game("tictactoe")
    for options in ({"depth": 1}, {"exploration": 1.4}, {"exploration": 0.5, "depth": 2}):
        found = [
            playout_search(game.views([(game.initial_state(), 0)] * 2), game.spec, [5, 6], playouts=300, **options)
            for game in (native, python)
        ]
        for first, second in zip(*found, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    "play",
    [
        lambda game, views: playouts(views, game.spec, 200, 1),
        lambda game, views: playout_search(views, game.spec, [1], playouts=200, exploration=1.4),
        lambda game, views: playout_search(views, game.spec, [1], playouts=200, depth=1),
        lambda game, views: RolloutEvaluator(game.spec, num_rollouts=200).evaluate(views),
    ],
    ids=["playouts", "uct", "flat", "evaluator"],
)
def test_playouts_of_a_game_in_python_go_on_beside_a_busy_thread(play: Callable[[Game, Views], object]) -> None:
    game = plugins().game("tictactoe")
    is_over = threading.Event()

    def count() -> None:
        while not is_over.is_set():
            pass

    busy = threading.Thread(target=count)
    busy.start()
    try:
        started = time.monotonic()
        play(game, game.views([(game.initial_state(), 0)]))
        elapsed = time.monotonic() - started
    finally:
        is_over.set()
        busy.join()
    # Some hundredths of a second of work. If each call of a state's methods waited for the lock, five milliseconds a
    # time, it would be minutes.
    assert elapsed < 30


class Endless(TreeState):
    """Somebody always moves, by turns."""

    @property
    def active_players(self) -> tuple[int, ...]:
        return (len(self.path) % 2,)

    def returns(self) -> FloatArray:
        return np.zeros(2, dtype=np.float32)

    def observation(self, player: int) -> FloatArray:
        return np.zeros(1, dtype=np.float32)


@pytest.mark.parametrize(
    "play",
    [
        lambda game, views: playouts(views, game.spec, 2, 1),
        lambda game, views: playout_search(views, game.spec, [1], playouts=2, exploration=1.4),
        lambda game, views: playout_search(views, game.spec, [1], seconds=5, depth=1),
    ],
    ids=["playouts", "uct", "flat"],
)
def test_playouts_of_a_game_without_an_end_have_one(play: Callable[[Game, Views], object]) -> None:
    game = HashedTree(TreeGame(seed=1, num_players=2, branching=2, depth=9, simultaneous=False))
    game.spec = replace(game.spec, max_plies=30)
    told = "hashed-tree breaks the laws of games, .*: expected the game to end within max_plies, 30, but it goes on"
    with pytest.raises(UnlawfulGame, match=told):
        play(game, game.views([(Endless(game.rules), 0)]))
    # A rule of the whole game, however far it has gone: what is that long and ends is lawful.
    game.spec = replace(game.spec, max_plies=9)
    assert playouts(game.views([(game.initial_state(), 0)]), game.spec, 20, 1).shape == (1, 2)


def test_a_flat_search_tries_all_actions_equally_often() -> None:
    game = NativeConnectFour()
    ((actions, visits, sums),) = game.views([(game.initial_state(), 0)]).playout_search([1], playouts=703, depth=1)
    assert actions.tolist() == list(range(7))
    assert visits.sum() == 703
    assert visits.max() - visits.min() == 1
    assert (np.abs(sums) <= visits).all()


def test_uct_tries_good_actions_more_often_and_finds_the_draw() -> None:
    game = NativeTicTacToe()
    # X on 0 and 1, O on 3 and 8: 2 wins at once.
    state = game.parse_state("0 3 1 8")
    ((actions, visits, sums),) = game.views([(state, 0)]).playout_search([1], playouts=2000, exploration=1.0)
    best = visits.argmax()
    assert (actions[best], sums[best]) == (2, visits[best])
    agents = {name: PlayoutAgent(game, playouts=3000, exploration=1.0, name=name) for name in ("a", "b")}
    assert duel(game, agents, num_games=4).counts("a") == (0, 4, 0)


@pytest.mark.parametrize("simultaneous", [True, False])
def test_every_seat_of_any_game_is_searched(simultaneous: bool) -> None:
    game = HashedTree(TreeGame(3, 3, 3, 6, simultaneous))
    state = game.initial_state()
    for player in state.active_players:
        for exploration in (None, 1.0):
            depth = 1 if exploration is None else None
            views = game.views([(state, player)])
            arms = playout_search(views, game.spec, [9], playouts=50, exploration=exploration, depth=depth)
            assert arms[0][0].tolist() == list(state.legal_actions(player))
            assert arms[0][1].sum() == 50
    check_agent(PlayoutAgent(game, playouts=20, depth=1), game, num_games=2)
    check_agent(PlayoutAgent(game, playouts=20, exploration=1.0), game, num_games=2)


def test_flat_search_in_antichess_beats_random_moves() -> None:
    game = plugins().game("antichess")
    agents = {"flat": plugins().agent("flat?playouts=60", game), "random": RandomAgent()}
    losses, _, wins = duel(game, agents, num_games=20).counts("flat")
    # Equal agents win 17 of 20 decided games once in 776 times.
    assert wins >= 17
    assert losses <= 3


def test_time_ends_a_search() -> None:
    game = plugins().game("chess?max_plies=6")
    started = time.monotonic()
    check_agent(plugins().agent("uct?seconds=0.05", game), game, num_games=1)
    assert time.monotonic() - started < 60


def test_names_say_the_options() -> None:
    game = plugins().game("tictactoe")
    names = ("flat", "flat?seconds=0.5", "flat?playouts=7&c=1.0", "uct?simulations=9&c=1.4")
    found = [plugins().agent(name, game).name for name in names]
    assert found == ["flat?playouts=512", *names[1:]]


@pytest.mark.parametrize(
    ("reference", "line"),
    [
        ("flat?playouts=0", "expected playouts above 0, got 0"),
        ("flat?seconds=0", "expected seconds above 0, got 0"),
        ("uct?c=-1", "expected an exploration constant of at least 0, got -1"),
        ("uct?depth=0", "expected depth above 0, got 0"),
        ("flat?playouts=10000000000", "expected playouts of at most 4294967295, got 10000000000"),
        ("uct?depth=1099511627776", "expected depth of at most 4294967295, got 1099511627776"),
        ("uct?playouts=4", "no option of agent 'uct' named 'playouts'"),
    ],
)
def test_bad_options_are_named(reference: str, line: str) -> None:
    with pytest.raises(UsageError, match=line):
        plugins().agent(reference, plugins().game("tictactoe"))


def test_the_native_search_refuses_what_it_cannot_do() -> None:
    game = NativeTicTacToe()
    views = game.views([(game.initial_state(), 0)])
    for bad in ({}, {"playouts": 0}, {"seconds": float("nan")}, {"playouts": 3, "depth": 0}):
        with pytest.raises(ValueError, match="expected"):
            views.playout_search([1], **bad)
    with pytest.raises(ValueError, match="expected 1 seeds, got 2"):
        views.playout_search([1, 2], playouts=3)
    with pytest.raises(ValueError, match=r"expected a root where player 1 is active, got active players \[0\]"):
        game.views([(game.initial_state(), 1)]).playout_search([1], playouts=3, depth=1)
    with pytest.raises(ValueError, match="at least one playout"):
        views.playouts(0, 1)
    for discount in (0.0, -3.0, 1.5, float("nan")):
        with pytest.raises(ValueError, match=r"expected a discount in \(0, 1\], got"):
            views.playouts(1, 1, discount=discount)
        with pytest.raises(ValueError, match=r"expected a discount in \(0, 1\], got"):
            views.playout_search([1], playouts=3, discount=discount)
        with pytest.raises(ValueError, match=r"expected a discount in \(0, 1\], got"):
            views.roll_out(1, [None, None], 1, discount=discount)
