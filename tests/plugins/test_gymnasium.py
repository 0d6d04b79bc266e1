"""Environments of Gymnasium keep the laws of games, and a search plans in them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from moemcts.agents import Seat
from moemcts.errors import UsageError
from moemcts.evaluation import UniformEvaluator
from moemcts.game import CHANCE
from moemcts.search import SearchAgent, SearchConfig
from moemcts.testing import check_game

moemcts_gymnasium = pytest.importorskip(
    "moemcts_gymnasium", reason="not installed: pip install ./plugins/moemcts-gymnasium"
)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("CartPole-v1", {"steps": 30}),
        ("MountainCar-v0", {"steps": 20}),
        ("FrozenLake-v1", {}),
        ("CliffWalking-v1", {"steps": 40}),
    ],
)
def test_an_environment_keeps_the_laws(name: str, options: dict[str, int]) -> None:
    assert check_game(moemcts_gymnasium.make(name, **options), num_games=2)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Pendulum-v1", "expected discrete actions"),
        ("Blackjack-v1", "its steps draw random numbers"),
        ("CartPol-v1", "no environment named 'CartPol-v1'; did you mean 'CartPole-v1'"),
    ],
)
def test_what_cannot_be_searched_says_why(name: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as raised:
        moemcts_gymnasium.make(name)
    assert "\n" not in str(raised.value)


def test_ice_is_slippery_by_chance() -> None:
    state = moemcts_gymnasium.make("FrozenLake-v1").initial_state(0).play([2])
    assert state.active_players == (CHANCE,)
    assert state.chances() == pytest.approx([1 / 3] * 3)


def test_rewards_are_scaled_by_the_horizon() -> None:
    game = moemcts_gymnasium.make("CartPole-v1", discount=0.9)
    assert game.spec.score_unit == pytest.approx(10)
    assert game.spec.max_plies == 500
    assert game.initial_state(0).play([0]).rewards() == pytest.approx([0.1])


def test_games_are_pickled() -> None:
    game = moemcts_gymnasium.make("CartPole-v1", steps=50)
    state = game.initial_state(7).play([1]).play([0])
    again = pickle.loads(pickle.dumps(game))
    assert again.parse_state(game.format_state(state)).key() == state.key()


def test_a_search_that_knows_rewards_alone_balances_the_pole_for_a_while() -> None:
    game = moemcts_gymnasium.make("CartPole-v1", steps=60)
    config = SearchConfig(simulations=64, first_play_urgency="parent", c_init=0.5, virtual_loss=0)
    agent = SearchAgent(game, UniformEvaluator(game.spec), config)
    state, seat = game.initial_state(3), Seat(0, np.random.default_rng(0))
    while state.active_players:
        (decision,) = agent.act(game.views([(state, 0)]), [seat])
        state = state.play([decision.action])
    assert state.ply == 60
