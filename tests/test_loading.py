"""`moemcts.make` and `moemcts.load`: games and agents in a few lines."""

from __future__ import annotations

import copy
import itertools
import pickle
import runpy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from games_of_chance import Pig
from trained_for_tests import save_team, shipped

import moemcts
from moemcts.errors import MoemctsError, UsageError
from moemcts.game import CHANCE
from moemcts.learn.inference.backends import Backend, installed_version


def test_a_game_is_played_to_its_end_by_experts_of_a_folder(tmp_path: Path) -> None:
    agent = moemcts.load(f"{save_team(tmp_path)}?simulations=8&backend=torch")
    state = agent.game.initial_state()
    phases = []
    while state.active_players:
        decision = agent.play(state)
        phases.append(decision.expert)
        state = state.play([decision.action])
    assert agent.game.spec.name == "tictactoe"
    assert phases == sorted(phases)
    assert set(phases) >= {0, 1}


def test_a_path_is_a_name_too(tmp_path: Path) -> None:
    assert moemcts.load(save_team(tmp_path)).game.spec.name == "tictactoe"
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "experts").mkdir()
    save_team(tmp_path / "run" / "experts")
    assert "tictactoe" in repr(moemcts.load(tmp_path / "run"))


def test_a_users_script_plays_five_games() -> None:
    played = runpy.run_path(str(Path(__file__).parent / "users_script.py"))["PLAYED"]
    assert {name: len(names) for name, names in played.items()} == {
        "chess": 3,
        "antichess": 3,
        "connect-four": 3,
        "pommerman": 12,
        "hex": 3,
    }


@pytest.mark.parametrize("name", ["chess", "antichess"])
def test_experts_play_positions_of_the_game_with_other_planes(name: str) -> None:
    agent = moemcts.load(f"weights:{name}?simulations=8&backend=torch")
    played = moemcts.make(name)
    assert played.spec.observation_shape != agent.game.spec.observation_shape
    mine, its = (agent.play(game.initial_state()) for game in (played, agent.game))
    assert (mine.action, mine.value) == (its.action, its.value)


def test_positions_of_another_variant_are_refused() -> None:
    agent = moemcts.load("weights:chess?simulations=8&backend=torch")
    with pytest.raises(ValueError, match="expected positions of chess with the policy map chess, got atomic"):
        agent.play(moemcts.make("atomic").initial_state())
    game, other = moemcts.make("kingofthehill"), moemcts.make("atomic")
    with pytest.raises(ValueError, match=r"expected positions of kingofthehill .*, got atomic"):
        game.views([(game.initial_state(), 0), (other.initial_state(), 0)])


@pytest.mark.parametrize(
    ("mine", "other", "message"),
    [
        ("pommerman", "pommerman-team", "expected a position of pommerman with its rules, got one with game_type 2"),
        ("pommerman", "pommerman-1v1", "board_size 8 instead of 11"),
        ("pommerman", "pommerman?max_steps=50", "max_steps 50 instead of 800"),
        ("othello", "othello-6x6", "a board of 8 rows and 8 columns, got one of 6 rows and 6 columns"),
        ("hex?size=7", "hex?size=5", "a board of 7 rows and 7 columns, got one of 5 rows and 5 columns"),
    ],
)
def test_positions_of_other_rules_or_sizes_are_refused(mine: str, other: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        moemcts.load("random", mine).play(moemcts.make(other).initial_state(), 0)


def test_equal_seeds_play_equal_games() -> None:
    game = moemcts.make("tictactoe")
    state = game.initial_state()
    first, again = (moemcts.load("random", game, seed=5) for _ in range(2))
    assert [first.play(state).action for _ in range(6)] == [again.play(state).action for _ in range(6)]


def test_an_agent_that_was_reset_plays_like_a_fresh_one() -> None:
    game = moemcts.make("pommerman")
    agent, states = moemcts.load("simple", game), [game.initial_state(1)]
    for _ in range(5):
        joint = [agent.play(states[-1], player).action for player in states[-1].active_players]
        states.append(states[-1].play(joint))
    agent.reset()
    for state, after in itertools.pairwise(states):
        assert state.play([agent.play(state, player).action for player in state.active_players]) == after


def test_nobody_plays_where_chance_moves() -> None:
    game = Pig(20, 6)
    rolling = next(state for state in map(game.initial_state().play, ([0], [1])) if CHANCE in state.active_players)
    with pytest.raises(ValueError, match="got one in which chance moves; draw its outcome"):
        moemcts.load("random", game).play(rolling)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
@pytest.mark.parametrize("backend", ["torch", "onnxruntime", "openvino"])
def test_a_copy_of_an_agent_plays_on_as_the_agent_does(backend: Backend, copied: Callable[[Any], Any]) -> None:
    if installed_version(backend) is None:
        pytest.skip(f"{backend} is not installed")
    agent = moemcts.load(f"weights:connect-four?simulations=4&temperature=1&temperature_plies=9&backend={backend}")
    state = agent.game.initial_state()
    for _ in range(3):
        state = state.play([agent.play(state).action])
    clone = copied(agent)
    for _ in range(4):
        mine, its = agent.play(state), clone.play(state)
        assert (mine.action, mine.value) == (its.action, its.value)
        state = state.play([mine.action])


def test_agents_are_loaded_by_several_threads_at_once() -> None:
    pytest.importorskip("onnxruntime")
    with ThreadPoolExecutor(4) as threads:
        agents = list(threads.map(moemcts.load, ["weights:connect-four?simulations=2&backend=onnxruntime"] * 4))
    assert len({agent.play(agent.game.initial_state()).value for agent in agents}) == 1


def test_an_agent_is_told_its_game() -> None:
    assert moemcts.load("uct?simulations=20", "tictactoe").play(moemcts.make("tictactoe").initial_state()).simulations
    with pytest.raises(
        UsageError, match="expected a folder of experts, got 'uct'; to load an agent, name its game too"
    ):
        moemcts.load("uct")
    with pytest.raises(UsageError, match="did you mean 'tictactoe'"):
        moemcts.make("tictactoo")


def test_what_is_no_game_is_told_from_the_name_of_one() -> None:
    with pytest.raises(TypeError, match=r"expected the name of a game, got <class 'games_of_chance.Pig'>"):
        moemcts.make(Pig)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected a game or the name of one, got <class 'games_of_chance.Pig'>"):
        moemcts.load("random", Pig)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected the name of an agent or a folder of experts, got None"):
        moemcts.load(None, "hex")  # type: ignore[arg-type]


def test_players_who_move_at_once_are_named() -> None:
    game = moemcts.make("pommerman")
    agent, state = moemcts.load("simple", game), game.initial_state(1)
    with pytest.raises(ValueError, match=r"expected player to be one of \[0, 1, 2, 3\]"):
        agent.play(state)
    with pytest.raises(ValueError, match=r"expected player to be one of \[0, 1, 2, 3\], who move here, got 4"):
        agent.play(state, 4)
    with pytest.raises(ValueError, match="who move here, got '0'"):
        agent.play(state, "0")  # type: ignore[arg-type]
    assert len(state.play([agent.play(state, player).action for player in state.active_players]).active_players) == 4


def test_weights_that_come_with_a_plugin_are_named(tmp_path: Path) -> None:
    with shipped(save_team(tmp_path)):
        agent = moemcts.load("weights:noughts?simulations=4&backend=torch")
        assert agent.play(agent.game.initial_state()).simulations == 4
    with pytest.raises(MoemctsError, match="expected a folder of experts"):
        moemcts.load(tmp_path / "nothing")
    team = save_team(tmp_path / "selfplay" / "generations" / "0002" / "experts")
    with pytest.raises(MoemctsError, match=f"got .*selfplay; it holds {team}"):
        moemcts.load(tmp_path / "selfplay")
