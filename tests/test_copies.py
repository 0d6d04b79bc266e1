"""Games, positions, views and players can be copied, pickled and sent to other processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from typing import Any

import numpy as np
import pytest
from games_for_tests import NativeConnectFour, NativeTicTacToe, play_in_a_process

from moemcts.agents import Decision, Seat
from moemcts.evaluation import CachedEvaluator, RolloutEvaluator
from moemcts.game import Game, State
from moemcts.native import core
from moemcts.plugins import plugins
from moemcts.search import SearchAgent, SearchConfig

NAMES = (
    *("chess", "chess960", "crazyhouse", "threecheck", "pommerman", "pommerman-team", "pommerman-1v1", "tictactoe"),
    *("connect-four", "othello-6x6", "breakthrough", "hex", "tic-tac-toe"),
)


def played(game: Game, num_plies: int, seed: int = 0) -> State:
    """Returns the position after random moves."""
    rng = np.random.default_rng(seed)
    state: State = game.initial_state(seed)
    for _ in range(num_plies):
        if not state.active_players:
            break
        state = state.play([int(rng.choice(state.legal_actions(player))) for player in state.active_players])
    return state


def looks(game: Game, state: State) -> tuple[Any, ...]:
    """Returns what can be seen of a position."""
    actions = [list(state.legal_actions(player)) for player in state.active_players]
    planes = [state.observation(player).tobytes() for player in range(game.spec.num_players)]
    return state.ply, state.key(), actions, planes, state.returns().tolist()


def copies(what: Any) -> list[Any]:
    return [copy.copy(what), copy.deepcopy(what), *(pickle.loads(pickle.dumps(what, number)) for number in (2, 5))]


@pytest.mark.parametrize("name", NAMES)
def test_copies_of_a_game_play_the_same_game(name: str) -> None:
    game = plugins().game(name)
    state = played(game, 12)
    for other in copies(game):
        assert other.spec == game.spec
        assert looks(other, played(other, 12)) == looks(game, state)


@pytest.mark.parametrize(
    "game", [*map(plugins().game, NAMES), NativeTicTacToe(), NativeConnectFour()], ids=lambda game: game.spec.name
)
def test_copies_of_positions_and_views_look_the_same(game: Game) -> None:
    for num_plies in (0, 3, 9, 40):
        state = played(game, num_plies, seed=num_plies)
        for other in copies(state):
            assert looks(game, other) == looks(game, state)
        views = game.views([(state, player) for player in range(game.spec.num_players)])
        for others in copies(views):
            assert len(others) == len(views)
            assert np.array_equal(others.observations(), views.observations())
            assert np.array_equal(others.players(), views.players())


def test_the_options_of_rules_survive() -> None:
    rules = core.ChessRules("chess", planes="v1", policy="multi", max_plies=77)
    for other in copies(rules):
        assert (other.variant, other.planes, other.policy, other.max_plies) == ("chess", "v1", "multi", 77)
    changed = core.PommermanRules("PommeTeamCompetition-v1", first_collapse=100, max_steps=300)
    assert all(other == changed for other in copies(changed))
    strict = core.PommermanRules("OneVsOne-v0", timeout_is_loss=True)
    assert all(other == strict and other.timeout_is_loss for other in copies(strict))


def test_a_repetition_survives() -> None:
    game = plugins().game("chess")
    state = game.parse_state("startpos; moves g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1")
    for other in copies(state):
        assert other.play([other.action("f6g8")]).termination == state.play([state.action("f6g8")]).termination


def test_a_scripted_player_remembers_in_its_copy() -> None:
    game = plugins().game("pommerman")
    state = game.initial_state(3)
    player = core.PommermanPlayer("simple", 5)
    rng = np.random.default_rng(0)
    for _ in range(20):
        others = [int(rng.integers(6)) for _ in state.active_players[1:]]
        state = state.play([player.choose(state, 0), *others])
        if 0 not in state.active_players:
            break
    twins = copies(player)
    expected = [player.choose(state, 0) for _ in range(10)]
    assert all([twin.choose(state, 0) for _ in range(10)] == expected for twin in twins)
    assert [type(twin) for twin in copies(core.PommermanScripted("simple"))] == [core.PommermanScripted] * 4


def test_an_agent_that_remembers_evaluations_begins_anew_in_its_copy() -> None:
    game = NativeConnectFour()
    evaluator = RolloutEvaluator(game.spec)
    agent = SearchAgent(game, evaluator, SearchConfig(simulations=50, cache_size=20))
    views = game.views([(game.initial_state(), 0)])

    def decided(agent: SearchAgent) -> tuple[Decision, int]:
        before = agent.num_evaluations
        (decision,) = agent.act(views, [Seat(0, np.random.default_rng(0))])
        return decision, agent.num_evaluations - before

    expected = decided(agent)
    for twin in (copy.deepcopy(agent), *(pickle.loads(pickle.dumps(agent, number)) for number in (2, 5))):
        assert decided(twin) == expected
    cache = CachedEvaluator(evaluator, size=3)
    told = cache.evaluate(views).value
    for other in copies(cache):
        assert (other.hits, other.misses) == (0, 0)
        assert all(np.array_equal(other.evaluate(views).value, told) for _ in range(2))
        assert (other.hits, other.misses) == (1, 1)
    assert (cache.hits, cache.misses) == (0, 1)


@pytest.mark.parametrize("name", ["chess", "pommerman"])
def test_a_spawned_process_gets_a_game_and_sends_positions_back(name: str) -> None:
    game = plugins().game(name)
    state = played(game, 4)
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=play_in_a_process, args=(game, state, there))
    process.start()
    assert here.poll(60)
    spec, child = here.recv()
    process.join(60)
    expected = state.play([int(state.legal_actions(player)[0]) for player in state.active_players])
    assert spec == game.spec
    assert looks(game, child) == looks(game, expected)
