"""The environments pass the checkers of gymnasium and PettingZoo and play the reference's games."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import moemcts
from moemcts.agents import Decision
from moemcts.errors import UsageError
from moemcts.evaluation import UniformEvaluator
from moemcts.search import SearchAgent, SearchConfig
from moemcts_pommerman import native
from moemcts_pommerman.agents import ScriptedAgent
from moemcts_pommerman.environments import IDS, PommermanEnv, register
from moemcts_pommerman.game import variant
from moemcts_pommerman.spaces import ObservationForm

register()


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_accepts_the_environment(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mode in ("ansi", "rgb_array"):
            for observation in ("planes", "dictionary"):
                env = gymnasium.make(name, opponents="simple", render_mode=mode, observation=observation)
                check_env(env.unwrapped)


@pytest.mark.parametrize("observation", ["planes", "dictionary"])
@pytest.mark.parametrize("name", IDS)
def test_pettingzoo_accepts_the_environment(name: str, observation: ObservationForm) -> None:
    pettingzoo = pytest.importorskip("pettingzoo.test")
    from moemcts_pommerman.parallel import PommermanParallelEnv

    pettingzoo.parallel_api_test(PommermanParallelEnv(IDS[name], observation=observation), num_cycles=500)
    pettingzoo.parallel_seed_test(lambda: PommermanParallelEnv(IDS[name], observation=observation))


def test_planes_are_what_is_observed_unless_dictionaries_are_wanted() -> None:
    from moemcts_pommerman.parallel import PommermanParallelEnv

    env = gymnasium.make("moemcts/PommermanFFA-v0", opponents="stop")
    assert isinstance(env.observation_space, gymnasium.spaces.Box)
    observation, _ = env.reset(seed=1)
    assert observation.shape == (23, 11, 11)
    observations, _ = PommermanParallelEnv("OneVsOne-v0").reset(seed=1)
    assert {each.shape for each in observations.values()} == {(23, 8, 8)}
    wanted, _ = gymnasium.make("moemcts/PommermanFFA-v0", opponents="stop", observation="dictionary").reset(seed=1)
    assert wanted["board"].shape == (11, 11)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_of_an_environment_plays_on_as_the_original(copied: Any) -> None:
    env = PommermanEnv(opponents=["simple", "random", "stop"])
    env.reset(seed=3)
    env.step(0)
    twin = copied(env)
    for action in (1, 5, 2, 3, 4, 0) * 5:
        (seen, *rest), (seen_by_twin, *rest_of_twin) = env.step(action), twin.step(action)
        assert np.array_equal(seen, seen_by_twin)
        assert rest == rest_of_twin
        if rest[1]:
            break
    (seen, _), (seen_by_twin, _) = env.reset(), twin.reset()
    assert np.array_equal(seen, seen_by_twin)


def searching(**options: Any) -> SearchAgent:
    game = variant("OneVsOne-v0")
    config = SearchConfig(simulations=8, **options)
    return SearchAgent(game, UniformEvaluator(game.spec), config, opponents=ScriptedAgent("simple"))


def test_a_copy_with_opponents_that_search_plays_on_as_the_original() -> None:
    env = PommermanEnv("OneVsOne-v0", opponents=searching())
    env.reset(seed=3)
    env.step(0)
    twin = copy.deepcopy(env)
    for action in (1, 2, 3, 0):
        assert np.array_equal(env.step(action)[0], twin.step(action)[0])


def test_what_opponents_have_that_cannot_be_copied_is_told() -> None:
    env = PommermanEnv("OneVsOne-v0", opponents=searching(reuse=True))
    env.reset(seed=3)
    assert copy.deepcopy(env).step(0)
    env.step(0)
    with pytest.raises(TypeError, match=r"expected opponents whose memory can be copied, got 'search': .*KeptTree"):
        copy.deepcopy(env)
    agent = ScriptedAgent("stop")
    agent.native = lambda: None  # type: ignore[assignment]
    with pytest.raises(TypeError, match=r"expected opponents that can be pickled, got .stop.: .*; pickle the env"):
        pickle.dumps(PommermanEnv(opponents=agent))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_of_all_seats_plays_on_as_the_original(copied: Any) -> None:
    from moemcts_pommerman.parallel import PommermanParallelEnv

    env = PommermanParallelEnv("PommeRadioCompetition-v2")
    env.reset(seed=3)
    env.step({"agent_0": [1, 2, 3]})
    twin = copied(env)
    for _ in range(20):
        found, found_by_twin = env.step({"agent_1": 2})[0], twin.step({"agent_1": 2})[0]
        assert all(np.array_equal(found[name], found_by_twin[name]) for name in env.agents)


def test_environments_run_in_processes_of_their_own() -> None:
    env = gymnasium.vector.AsyncVectorEnv(
        [partial(PommermanEnv, "OneVsOne-v0", opponents="random") for _ in range(2)], context="spawn"
    )
    try:
        observations, _ = env.reset(seed=0)
        assert observations.shape == (2, 23, 8, 8)
        assert env.step(np.array([0, 1]))[0].shape == (2, 23, 8, 8)
    finally:
        env.close()


def test_the_seat_rotates_unless_it_is_given() -> None:
    env = PommermanEnv(opponents="stop")
    assert [env.reset(seed=0 if i == 0 else None)[1]["seat"] for i in range(6)] == [0, 1, 2, 3, 0, 1]
    assert env.reset(options={"seat": 2})[1]["seat"] == 2
    assert all(PommermanEnv(seat=3).reset()[1]["seat"] == 3 for _ in range(3))


def test_an_episode_of_random_moves_ends_with_the_rewards_of_the_reference() -> None:
    ends = []
    for seed in range(20):
        env = gymnasium.make("moemcts/PommermanFFA-v0", opponents=["simple", ScriptedAgent("random"), "stop"])
        env.reset(seed=seed)
        env.action_space.seed(seed)
        rewards, terminated = [], False
        while not terminated:
            _, reward, terminated, truncated, info = env.step(env.action_space.sample())
            rewards.append(reward)
            assert not truncated
        assert set(rewards[:-1]) <= {0.0}
        ends.append(rewards[-1])
        assert (info["seat"] in info["winners"]) == (rewards[-1] > 0)
    assert -1.0 in ends


@pytest.mark.parametrize(
    ("name", "last"), [("PommeFFA-v1", -1.0), ("OneVsOne-v0", 0.0), ("PommeTeamCompetition-v1", -1.0)]
)
def test_a_death_by_walls_that_close_in_is_paid_one_step_later(name: str, last: float) -> None:
    from moemcts_pommerman.parallel import PommermanParallelEnv

    env = PommermanEnv(name, opponents="stop", first_collapse=4, max_steps=40)
    env.reset(seed=0)
    paid = []
    while not (paid and paid[-1][1]):
        _, reward, terminated, _, info = env.step(0)
        paid.append((reward, terminated))
    # The second ring closes at step 13, and with it everybody's game.
    assert paid == [(0.0, False)] * 13 + [(last, True)]
    assert info["rewards"] == (last,) * env.game.spec.num_players
    everyone = PommermanParallelEnv(name, first_collapse=4, max_steps=40)
    everyone.reset(seed=0)
    for step in range(1, 15):
        assert everyone.agents == everyone.possible_agents
        _, rewards, terminations, _, _ = everyone.step({})
        assert set(rewards.values()) == {last if step == 14 else 0.0}
        assert set(terminations.values()) == {step == 14}
    assert not everyone.agents


def test_who_is_walled_in_leaves_with_its_loss_while_others_play_on() -> None:
    from moemcts_pommerman.parallel import PommermanParallelEnv

    env = PommermanParallelEnv("PommeFFA-v1", first_collapse=4, max_steps=40)
    dead: dict[str, float] = {}
    for seed in range(10):
        env.reset(seed=seed)
        players = [native.Player("simple", seed), *[native.Player("random", seed)] * 3]
        while env.agents:
            state: Any = env._running.state  # type: ignore[union-attr]
            moves = {f"agent_{i}": player.choose(state, i) for i, player in enumerate(players)}
            _, rewards, terminations, _, _ = env.step(moves)
            left = {name: rewards[name] for name, is_over in terminations.items() if is_over}
            if env.agents:
                assert set(left.values()) <= {-1.0}
                dead |= left
    assert dead


def test_a_team_wins_together() -> None:
    from moemcts_pommerman.parallel import PommermanParallelEnv

    env = PommermanParallelEnv("PommeTeam-v0", max_steps=300)
    wins = 0
    for seed in range(30):
        env.reset(seed=seed)
        players = [native.Player(name, seed) for name in ("simple", "random", "simple", "random")]
        rewards: dict[str, float] = {}
        while env.agents:
            assert len(env.agents) == 4
            state: Any = env._running.state  # type: ignore[union-attr]
            moves = {f"agent_{i}": player.choose(state, i) for i, player in enumerate(players)}
            _, rewards, _, _, infos = env.step(moves)
        if infos["agent_0"]["winners"]:
            wins += 1
            assert rewards["agent_0"] == rewards["agent_2"] == -rewards["agent_1"] == -rewards["agent_3"]
    assert wins > 10


def test_messages_reach_the_team_mate_one_step_later() -> None:
    from moemcts_pommerman.parallel import PommermanParallelEnv

    env = PommermanParallelEnv("PommeRadioCompetition-v2", observation="dictionary")
    observations, _ = env.reset(seed=0)
    assert observations["agent_0"]["message"] == (0, 0)
    moves: dict[str, Any] = {"agent_0": np.array([0, 3, 7]), "agent_1": 0, "agent_2": [0, 1, 2], "agent_3": 0}
    observations = env.step(moves)[0]
    messages = [observations[f"agent_{player}"]["message"] for player in range(4)]
    assert messages == [(1, 2), (0, 0), (3, 7), (0, 0)]


@dataclass
class Still:
    """An agent that cannot be hashed, and counts how often it is asked."""

    name: str = "still"
    asked: list[int] = field(default_factory=list)

    def act(self, views: Any, seats: Any) -> list[Decision]:
        self.asked.append(len(seats))
        return [Decision(action=0)] * len(seats)


def test_opponents_need_not_be_hashable_and_one_in_several_seats_is_asked_once() -> None:
    same, other = Still(), Still()
    env = PommermanEnv(opponents=same, seat=0)
    env.reset(seed=0)
    env.step(0)
    assert same.asked == [3]
    env = PommermanEnv(opponents=[same, other, same], seat=0)
    env.reset(seed=0)
    env.step(0)
    assert (same.asked, other.asked) == ([3, 2], [1])


def test_wrong_arguments_say_what_was_expected() -> None:
    with pytest.raises(UsageError, match="did you mean 'simple'"):
        PommermanEnv(opponents="simpel")
    with pytest.raises(UsageError, match=r"are given as objects, such as moemcts\.load\('planner', 'pommerman'\)"):
        PommermanEnv(opponents="planner")
    with pytest.raises(ValueError, match="expected one agent for each of 3 other seats, got 2"):
        PommermanEnv(opponents=["simple", "stop"])
    with pytest.raises(ValueError, match="expected seat"):
        PommermanEnv(seat=4)
    with pytest.raises(ValueError, match="expected render_mode"):
        PommermanEnv(render_mode="human")
    with pytest.raises(ValueError, match="expected observation"):
        PommermanEnv(observation="pixels")  # type: ignore[arg-type]
    env = PommermanEnv()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    for action in (6, 1.5, [1, 2]):
        with pytest.raises(ValueError, match=r"expected a move of 0\.\.5"):
            env.step(action)
    radio = PommermanEnv("PommeRadio-v2")
    radio.reset(seed=0)
    for action in ([0, 8, 0], [0, 0, -1], [0, 0.5, 0]):
        with pytest.raises(ValueError, match=r"with a word of 0\.\.7 each, got "):
            radio.step(action)


@pytest.mark.parametrize("action", [None, "up", [[1]], float("nan"), [], [1, 0], True])
def test_what_is_no_action_is_told_as_the_documentation_says(action: Any) -> None:
    env = PommermanEnv("OneVsOne-v0", opponents="stop")
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"expected a move of 0\.\.5"):
        env.step(action)
    assert env.step(np.float32(2))
    assert env.step(np.int64(3))


def test_what_is_no_seat_or_opponent_is_told() -> None:
    env = PommermanEnv(opponents="stop")
    assert env.reset(seed=6, options={"seat": "rotate"})[1]["seat"] == 2
    for seat in (None, 1.7, 4, True):
        with pytest.raises(ValueError, match="expected seat 'rotate' or a number below 4"):
            env.reset(options={"seat": seat})
    with pytest.raises(ValueError, match="expected no option but 'seat', got 'sea'"):
        env.reset(options={"sea": 1})
    with pytest.raises(ValueError, match="expected seat"):
        PommermanEnv(seat=1.0)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="expected opponents to be agents or one of simple, random, stop, got None"):
        PommermanEnv(opponents=None)  # type: ignore[arg-type]


def test_fresh_environments_begin_in_all_seats() -> None:
    assert {PommermanEnv(opponents="stop").reset()[1]["seat"] for _ in range(60)} == {0, 1, 2, 3}


def test_with_planes_the_message_of_the_team_mate_is_in_the_info() -> None:
    from moemcts_pommerman.parallel import PommermanParallelEnv

    env = PommermanParallelEnv("PommeRadioCompetition-v2")
    assert env.reset(seed=0)[1]["agent_0"] == {"message": (0, 0)}
    infos = env.step({"agent_0": [0, 3, 7], "agent_2": [0, 1, 2]})[4]
    assert [infos[f"agent_{player}"]["message"] for player in range(4)] == [(1, 2), (0, 0), (3, 7), (0, 0)]
    assert "message" not in PommermanParallelEnv("PommeTeam-v0").reset(seed=0)[1]["agent_0"]
    heard = set()
    one = PommermanEnv("PommeRadioCompetition-v2", opponents=["stop", "random", "stop"], seat=0)
    one.reset(seed=1)
    for _ in range(10):
        *_, is_over, _, info = one.step(0)
        heard.add(info["message"])
        if is_over:
            break
    assert len(heard) > 3


def test_a_game_of_all_seats_that_is_over_has_to_be_begun_again() -> None:
    from moemcts_pommerman.parallel import PommermanParallelEnv

    env = PommermanParallelEnv("OneVsOne-v0", max_steps=3)
    env.reset(seed=0)
    while env.agents:
        env.step({})
    assert env.position.is_over
    with pytest.raises(gymnasium.error.ResetNeeded, match="after the last step"):
        env.step({"agent_0": 1})


def test_an_environment_of_gymnasium_whose_opponents_search_can_be_copied_on_the_way() -> None:
    env = gymnasium.make("moemcts/PommermanOneVsOne-v0", opponents=searching())
    env.reset(seed=3)
    env.step(0)
    twin = copy.deepcopy(env)
    assert twin.unwrapped.state == env.unwrapped.state  # type: ignore[attr-defined]
    assert np.array_equal(env.step(1)[0], twin.step(1)[0])
    planner = moemcts.load("planner", "pommerman-1v1")
    assert planner.play(env.unwrapped.state, 0)  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(planner)).name == "planner"


def test_an_episode_that_is_over_pays_once() -> None:
    env = PommermanEnv("PommeFFA-v1", first_collapse=4, max_steps=40)
    env.reset(seed=1)
    rewards, terminated = [], False
    while not terminated:
        _, reward, terminated, _, _ = env.step(0)
        rewards.append(reward)
    assert rewards == [0.0] * (len(rewards) - 1) + [-1.0]
    with pytest.raises(gymnasium.error.ResetNeeded, match="after the last step"):
        env.step(0)
    env.reset()
    assert env.step(0)[1] == 0


def test_opponents_that_search_another_game_are_refused() -> None:
    planner = moemcts.load("planner", "pommerman")
    assert PommermanEnv("PommeFFACompetition-v0", opponents=planner).reset(seed=0)
    with pytest.raises(UsageError, match=r"expected opponents for pommerman-1v1, got .*planner.* for pommerman"):
        PommermanEnv("OneVsOne-v0", opponents=planner)
    with pytest.raises(UsageError, match=r"such as moemcts.load\('planner', 'pommerman-1v1'\)"):
        PommermanEnv("OneVsOne-v0", opponents="planer")
