"""Environments of Gymnasium keep the laws of games, and a search plans in them."""

from __future__ import annotations

import json
import math
import pickle
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from runs_for_tests import command, experiment

from moemcts.agents import Seat
from moemcts.errors import UsageError
from moemcts.evaluation import UniformEvaluator
from moemcts.game import CHANCE
from moemcts.runs.finishing import finish
from moemcts.search import SearchAgent, SearchConfig
from moemcts.splitmix import mixed
from moemcts.testing import check_game
from moemcts.work.progress import NoProgress

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
        ("mine:CartPole-v1", "no module is imported by a name: give yours an entry point in the group 'moemcts'"),
    ],
)
def test_what_cannot_be_searched_says_why(name: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as raised:
        moemcts_gymnasium.make(name)
    assert "\n" not in str(raised.value)


class Late(gymnasium.Env[Any, int]):
    """Pays 5 on a step of its own."""

    observation_space = gymnasium.spaces.Box(0, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, *, paid_at: int) -> None:
        self._paid_at = paid_at
        self._step = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._step = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._step += 1
        return np.zeros(1, np.float32), 5.0 * (self._step == self._paid_at), False, False, {}


gymnasium.register("Early-v0", entry_point=Late, kwargs={"paid_at": 3})
gymnasium.register("Late-v0", entry_point=Late, kwargs={"paid_at": 60})


def test_a_reward_above_the_one_named_is_told_at_once_where_it_can_be_known() -> None:
    with pytest.raises(UsageError, match=r"gymnasium:Early-v0: expected rewards up to 1, got 5; .* \?reward="):
        moemcts_gymnasium.make("Early-v0")
    with pytest.raises(UsageError, match="gymnasium:CliffWalking-v1: expected rewards up to 10, got 100"):
        moemcts_gymnasium.make("CliffWalking-v1", reward=10)
    assert moemcts_gymnasium.make("Early-v0", reward=5)
    late = moemcts_gymnasium.make("Late-v0")
    with pytest.raises(UsageError, match="gymnasium:Late-v0: expected rewards up to 1, got 5"):
        late.parse_state("0:" + " 1" * 60)


class Counted(gymnasium.Env[Any, int]):
    """Sees numbers in an array that is the same one at every step; draws in its steps where it is told to."""

    observation_space = gymnasium.spaces.Box(-100, 100, (2,))

    def __init__(self, *, draw: Callable[[Any], float] | None = None) -> None:
        self.action_space = gymnasium.spaces.Discrete(2)
        self.dice = np.random.default_rng(0)
        self.other_dice = random.Random(0)
        self._draw = draw
        self._seen = np.zeros(2, np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._seen[:] = 0
        return self._seen, {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        drawn = self._draw(self) if self._draw is not None else 0.0
        self._seen += (1, drawn)
        return self._seen, 1.0, False, False, {}


DRAWS: dict[str, Callable[[Any], float]] = {
    "Seeded-v0": lambda env: float(env.np_random.random()),
    "Dice-v0": lambda env: float(env.dice.random()),
    "OtherDice-v0": lambda env: env.other_dice.random(),
    "Sampled-v0": lambda env: float(env.action_space.sample()),
    "Everybodys-v0": lambda env: float(np.random.random()),  # noqa: NPY002
    "EverybodysOther-v0": lambda env: random.random(),
    "Unseeded-v0": lambda env: float(np.random.default_rng().random()),
}
for name, draw in DRAWS.items():
    gymnasium.register(name, entry_point=Counted, kwargs={"draw": draw})
gymnasium.register("Counted-v0", entry_point=Counted)
HALVED = (gymnasium.wrappers.ClipReward.wrapper_spec(max_reward=0.5),)
gymnasium.register("Halved-v0", entry_point=Counted, additional_wrappers=HALVED)
LAKE = "gymnasium.envs.toy_text.frozen_lake:FrozenLakeEnv"
gymnasium.register("HalvedLake-v0", entry_point=LAKE, additional_wrappers=HALVED)


@pytest.mark.parametrize("name", DRAWS)
def test_steps_that_draw_are_refused_whatever_they_draw_from(name: str) -> None:
    with pytest.raises(UsageError, match="its steps draw random numbers"):
        moemcts_gymnasium.make(name)


class Odd(Counted):
    """Is in some way what the search cannot use, or only seems to be."""

    def __init__(self, *, oddity: str) -> None:
        super().__init__()
        self._steps = 0
        if oddity == "lock":
            self.lock = threading.Lock()
        elif oddity == "sequence":
            self.observation_space = gymnasium.spaces.Sequence(gymnasium.spaces.Discrete(3))  # type: ignore[assignment]
        elif oddity == "number":
            self.P = 3
        self._oddity = oddity

    def step(self, action: int) -> Any:
        self._steps += 1
        if self._steps > 60 and self._oddity in LATE:
            LATE[self._oddity](self)
        seen, paid, *rest = super().step(action)
        return (seen, paid, False, {}) if self._oddity == "old" else (seen, paid, *rest)


LATE: dict[str, Callable[[Any], object]] = {
    "draws late": lambda env: env.np_random.random(),
    "rolls late": lambda env: env.dice.random(),
    "samples late": lambda env: env.action_space.sample(),
    "shares late": lambda env: random.random(),
}
for oddity in ("lock", "sequence", "number", "old", *LATE):
    gymnasium.register(f"{oddity.title().replace(' ', '')}-v0", entry_point=Odd, kwargs={"oddity": oddity})


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Lock-v0", "cannot be searched here: copying and resetting it failed: cannot pickle"),
        ("Old-v0", r"cannot be searched here: calling step\(\) failed: not enough values to unpack"),
        ("Sequence-v0", r"cannot be searched here: expected observations of one size, got Sequence"),
    ],
)
def test_what_cannot_be_used_says_why(name: str, reason: str) -> None:
    with pytest.raises(UsageError, match=f"gymnasium:{name} {reason}"):
        moemcts_gymnasium.make(name)


class FromOne(gymnasium.Env[Any, int]):
    """Has actions 1 and 2, by which its table names them; the second pays."""

    action_space = gymnasium.spaces.Discrete(2, start=1)
    observation_space = gymnasium.spaces.Discrete(2)

    def __init__(self, known: tuple[int, ...] = (1, 2)) -> None:
        self.P = {0: {action: [(1.0, 1, float(action == 2), True)] for action in known}, 1: {1: [], 2: []}}

    def reset(self, **options: Any) -> tuple[int, dict[str, Any]]:
        super().reset(**options)
        return 0, {}

    def step(self, action: int) -> Any:
        return 1, float(action == 2), True, False, {}


gymnasium.register("FromOne-v0", entry_point=FromOne, max_episode_steps=5)
gymnasium.register("Lacking-v0", entry_point=FromOne, kwargs={"known": (1,)}, max_episode_steps=5)


def test_a_table_is_asked_for_actions_as_the_environment_counts_them() -> None:
    state = moemcts_gymnasium.make("FromOne-v0").initial_state()
    assert [bool(state.play([action]).rewards()[0]) for action in state.legal_actions(0)] == [False, True]
    with pytest.raises(UsageError, match=r"its transition table .* has no action 2 in state 0"):
        moemcts_gymnasium.make("Lacking-v0")


class Hidden(FromOne):
    """Has a table, and shows its state by a picture."""

    observation_space = gymnasium.spaces.Box(0, 1, (2,))  # type: ignore[assignment]

    def reset(self, **options: Any) -> Any:
        super().reset(**options)
        return np.zeros(2, np.float32), {}

    def step(self, action: int) -> Any:
        return np.ones(2, np.float32), 1.0, True, False, {}


class Leading(FromOne):
    def __init__(self) -> None:
        super().__init__()
        self.P[1] = {1: [(1.0, 7, 0.0, False)], 2: [(1.0, 7, 0.0, True)]}


gymnasium.register("Hidden-v0", entry_point=Hidden)
gymnasium.register("Leading-v0", entry_point=Leading)


FAULTS: dict[str, tuple[list[tuple[float, int, float, bool]], str]] = {
    "Short": (
        [(0.5, 1, 0.0, True), (0.2, 1, 0.0, True)],
        r"has chances \[0.5, 0.2\] of what comes of action 1 in state 0",
    ),
    "Below": ([(1.5, 1, 0.0, True), (-0.5, 1, 0.0, True)], r"has chances \[1.5, -0.5\]"),
    "Beyond": ([(1.0, 7, 0.0, True)], "leads from 0 to 7, no state of it"),
    "Nan": ([(1.0, 1, math.nan, True)], "pays nan for action 1 in state 0"),
    "Dead": ([(1.0, 1, 0.0, False)], r"has chances \[\] of what comes of action 1 in state 1"),
    "Other": ([(1.0, 1, 1.0, True)], r"lacks what came of action 1 in state 0: state, reward and end \(1, 0.0, True\)"),
}


class Faulty(FromOne):
    def __init__(self, ways: list[tuple[float, int, float, bool]]) -> None:
        super().__init__()
        self.P[0][1] = ways


for fault, (ways, _) in FAULTS.items():
    gymnasium.register(f"{fault}-v0", entry_point=Faulty, kwargs={"ways": ways}, max_episode_steps=5)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_table_that_cannot_be_searched_says_why(fault: str) -> None:
    with pytest.raises(UsageError, match=rf"its transition table \(`P`\) {FAULTS[fault][1]}"):
        moemcts_gymnasium.make(f"{fault}-v0")


def test_what_is_called_as_a_table_is_need_not_be_one() -> None:
    assert moemcts_gymnasium.make("Number-v0", steps=5).initial_state(0).play([1]).ply == 1
    assert moemcts_gymnasium.make("Hidden-v0", steps=5).initial_state(0).play([1]).observation(0).tolist() == [1, 1]
    with pytest.raises(UsageError, match=r"\(`P`\) leads from 1 to 7, no state of it"):
        moemcts_gymnasium.make("Leading-v0")


class Told(Counted):
    """Shows a word; pays what is no number."""

    observation_space = gymnasium.spaces.Text(4, min_length=4)  # type: ignore[assignment]

    def __init__(self, *, paid: float = 0.0) -> None:
        super().__init__()
        self._paid = paid

    def reset(self, **options: Any) -> Any:
        super().reset(**options)
        return "left", {}

    def step(self, action: int) -> Any:
        return "gone", self._paid, False, False, {}


gymnasium.register("Told-v0", entry_point=Told)
gymnasium.register("Unpaid-v0", entry_point=Told, kwargs={"paid": float("nan")})


def test_words_that_are_observed_are_drawn_as_words() -> None:
    game = moemcts_gymnasium.make("Told-v0", steps=3)
    assert game.render(game.initial_state(0).play([1])) == "step 1: gone"


def test_numbers_that_are_none_are_told() -> None:
    with pytest.raises(UsageError, match="Unpaid-v0 cannot be searched here: a step gave the reward nan"):
        moemcts_gymnasium.make("Unpaid-v0")
    for wrong in ({"reward": float("inf")}, {"discount": float("nan")}, {"steps": -1}):
        ((name, number),) = wrong.items()
        with pytest.raises(UsageError, match=f"expected reward > 0 and finite, .* got .*{name}={number}"):
            moemcts_gymnasium.make("CartPole-v1", **wrong)


@pytest.mark.parametrize("name", [oddity.title().replace(" ", "") for oddity in LATE])
def test_numbers_that_are_drawn_late_are_told_when_they_are(name: str) -> None:
    game = moemcts_gymnasium.make(f"{name}-v0")
    state = game.parse_state("0:" + " 1" * 60)
    with pytest.raises(UsageError, match=f"gymnasium:{name}-v0 cannot be searched here: its steps draw random"):
        state.play([1])


def test_what_was_seen_stays_though_the_environment_writes_over_it() -> None:
    game = moemcts_gymnasium.make("Counted-v0", steps=5)
    state = game.initial_state(0)
    after = state.play([0])
    on_the_way = state.after(1, state.env, [])
    assert [one.observation(0).tolist() for one in (state, after, on_the_way)] == [[0, 0], [1, 0], [1, 0]]


def test_the_wrappers_that_an_environment_is_registered_with_belong_to_it() -> None:
    game = moemcts_gymnasium.make("Halved-v0", discount=1.0, steps=4)
    assert game.initial_state(0).play([0]).rewards() == pytest.approx([0.5 / 4])
    with pytest.raises(UsageError, match="or wrappers of which the table knows not"):
        moemcts_gymnasium.make("HalvedLake-v0")


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


@pytest.mark.parametrize("name", ["CartPole-v1", "CliffWalking-v1"])
def test_positions_are_equal_that_the_same_steps_led_to(name: str) -> None:
    game, other = moemcts_gymnasium.make(name), moemcts_gymnasium.make(name)
    state = game.initial_state(7).play([1])
    assert state == other.initial_state(7).play([1]) == pickle.loads(pickle.dumps(state))
    assert len({state, other.initial_state(7).play([1]), state.play([1])}) == 2
    assert state != moemcts_gymnasium.make(name, discount=0.5).initial_state(7).play([1])


def test_the_key_of_a_long_episode_takes_no_longer_than_that_of_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    game = moemcts_gymnasium.make("MountainCar-v0", steps=50)
    counts: list[int] = []

    def counted(numbers: Any, start: int = 0) -> int:
        counts.append(len(numbers))
        return mixed(numbers, start)

    monkeypatch.setattr(moemcts_gymnasium, "mixed", counted)
    state = game.initial_state(7)
    for _ in range(50):
        state = state.play([1])
        state.key()
    assert sum(counts) <= 2 * 50
    assert state.key() == mixed([7, *[1] * 50])


def test_a_packed_episode_is_played_again_only_where_a_step_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    game = moemcts_gymnasium.make("Acrobot-v1", steps=4)
    states = [game.initial_state(7)]
    while states[-1].active_players:
        states.append(states[-1].play([len(states) % 3]))
    players = np.zeros(len(states), np.int64)
    with monkeypatch.context() as patched:
        patched.setattr(game, "env", None)
        views = game.unpack(game.pack(states), players)
        assert np.array_equal(views.observations(), game.views([(state, 0) for state in states]).observations())
        assert np.array_equal(views.plies(), range(5))
        assert views.legal_mask().all(axis=1).tolist() == [True] * 4 + [False]
    for state, (again, _) in zip(states, views, strict=True):
        assert (again.key(), again.rewards()) == (state.key(), state.rewards())
    assert np.array_equal(views[1].state.play([2]).observed, states[1].play([2]).observed)
    assert game.render(views[2].state) == game.render(states[2])


def test_positions_that_no_game_comes_to_are_refused() -> None:
    episode = moemcts_gymnasium.make("CartPole-v1")
    assert episode.parse_state("3:" + " 0" * 9).active_players == ()
    with pytest.raises(ValueError, match="the episode has ended after 9 steps"):
        episode.parse_state("3:" + " 0" * 10)
    table = moemcts_gymnasium.make("CliffWalking-v1")
    assert table.parse_state("0 3 5 - 0.0 0").step == 3
    for text in ("0 3 5 - nan 0", "0 -3 5 - 0.0 0", "0 3 2 - 0.0 0", "0 3 5 - 0.0 7"):
        with pytest.raises(ValueError, match="expected six numbers such as"):
            table.parse_state(text)


def test_rows_that_are_texts_alone_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    game = moemcts_gymnasium.make("CartPole-v1", steps=9)
    state = game.initial_state(3).play([0]).play([1])
    # As datasets held them at first, and do where observations are large.
    monkeypatch.setattr(moemcts_gymnasium, "MAX_STORED_SIZE", 3)
    packed = game.pack([state])
    assert bytes(packed.data) == b"3: 0 1"
    assert np.array_equal(game.unpack(packed, np.zeros(1, np.int64)).observations()[0], state.observed)


def test_a_search_that_knows_rewards_alone_balances_the_pole_for_a_while() -> None:
    game = moemcts_gymnasium.make("CartPole-v1", steps=60)
    config = SearchConfig(simulations=64, first_play_urgency="parent", c_init=0.5, virtual_loss=0)
    agent = SearchAgent(game, UniformEvaluator(game.spec), config)
    state, seat = game.initial_state(3), Seat(0, np.random.default_rng(0))
    while state.active_players:
        (decision,) = agent.act(game.views([(state, 0)]), [seat])
        state = state.play([decision.action])
    assert state.ply == 60


def test_a_match_says_who_gets_more(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    game = "gymnasium:CliffWalking-v1?steps=12"
    agents = ["--agent", "random", "--agent", "uct?simulations=16"]
    assert command("match", "--game", game, *agents, "--games", 6, "--json", monkeypatch=monkeypatch) == 0
    numbers = json.loads(capsys.readouterr().out)
    random_walk, planned = (arm["returns"]["mean"] for arm in numbers["arms"])
    # A step costs 1, the cliff 100; the first four steps are random and lead to the start.
    assert random_walk < planned <= -8
    assert command("match", "--game", game, *agents, "--games", 2, monkeypatch=monkeypatch) == 0
    assert "in return, 95 % interval" in capsys.readouterr().out
    assert command("match", "--game", game, *agents, "--against", "random", monkeypatch=monkeypatch) == 2
    assert "each alone" in capsys.readouterr().err


def test_an_experiment_compares_returns(tmp_path: Path) -> None:
    small = {"game": "gymnasium:CliffWalking-v1?steps=8", "network": "mlp", "data": {"samples": 100}}
    made = experiment(tmp_path / "run", **small, training={"epochs": 1.0, "batch_size": 32})
    finish(made, NoProgress())
    report = (tmp_path / "run" / "report" / "report.md").read_text()
    assert "The single network gets -" in report
    assert "in return, 95 % interval" in report
    with pytest.raises(UsageError, match=r"expected no match\.field, as .* has one player"):
        experiment(tmp_path / "other", **small, match={"games": 4, "field": "random"})


def test_generations_of_self_play_are_measured_by_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    options = ["--game", "gymnasium:CliffWalking-v1?steps=8", "--gate", "plies", "--preset", "smoke", "--out", folder]
    sizes = ["--generations", 1, "--set", "games.games=8", "--set", "gauntlet.games=2", "--set", "training.epochs=1"]
    sizes += ["--set", "promotion.rule=score", "--set", "promotion.games=2"]
    assert command("selfplay", *options, *sizes, monkeypatch=monkeypatch) == 0
    assert "Each alone from the same starts" in (folder / "report" / "report.md").read_text()
    capsys.readouterr()
    test = ["--set", "promotion.rule=sprt"]
    assert command("selfplay", *options[:-1], tmp_path / "sprt", *test, monkeypatch=monkeypatch) == 2
    assert "expected rule none or score in a game of one player" in capsys.readouterr().err
