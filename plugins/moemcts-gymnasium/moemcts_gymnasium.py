"""Gymnasium environments that can be copied, as single-player games: `gymnasium:CartPole-v1`."""

from __future__ import annotations

import functools
import math
import struct
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium import spaces

import moemcts_gymnasium_environments as environments
from moemcts.errors import UsageError, first_line
from moemcts.game import CHANCE, Action, FloatArray, Game, GameSpec, IntArray, Packed, Player, State, Views
from moemcts.hookspecs import Registration, hookimpl
from moemcts.splitmix import mixed

DEFAULT_DISCOUNT = 0.97
"""A horizon of about 33 steps, short enough for the unit of value to leave rewards distinguishable in a search."""
DEFAULT_STEPS = 200
"""Steps of an episode if the environment has no limit."""
MAX_STORED_SIZE = 256
"""Maximum size of an observation stored in datasets; larger ones are recomputed by replaying the episode."""
_LAST_STEP = struct.Struct("<d?")
"""The reward of a packed episode's last step, and whether the episode ended with it."""

Table = Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]
"""By state and action: probability, next state, reward and whether the episode ends, of each outcome."""


@dataclass(frozen=True)
class _StepState(State):
    """The state of the only player after some steps, the last of which had a reward."""

    reward: float = field(default=0.0, kw_only=True)
    """The reward of the last step, in units of value."""
    is_over: bool = field(default=False, kw_only=True)

    def rewards(self) -> FloatArray:
        return np.array([self.reward], dtype=np.float32)

    def returns(self) -> FloatArray:
        return np.zeros(1, dtype=np.float32)


_M = TypeVar("_M", bound=_StepState)


@dataclass(frozen=True)
class Episode(_StepState):
    """An environment after some steps; further steps are made on copies."""

    game: GymnasiumGame
    env: Any = field(compare=False)
    """The environment; None in an episode from a dataset, which is replayed when a step is needed."""
    seed: int
    actions: tuple[Action, ...]
    observed: FloatArray = field(compare=False)
    history_hash: int | None = field(default=None, compare=False)
    """The key, hashed step by step, as episodes can be long; None if it is computed lazily."""

    @property
    def ply(self) -> int:
        return len(self.actions)

    @property
    def active_players(self) -> tuple[Player, ...]:
        return () if self.is_over or self.ply >= self.game.num_steps else (0,)

    def legal_actions(self, player: Player) -> Sequence[Action]:
        return range(self.game.spec.num_actions)

    def play(self, actions: Sequence[Action]) -> Episode:
        """Returns the episode after one more step; raises ValueError for an invalid action."""
        (action,) = actions
        episode = self if self.env is not None else self.game.replayed(self.seed, self.actions)
        return episode.after(int(action), *environments.copied(episode.env))

    def after(self, action: Action, env: Any, generators: Sequence[Any]) -> Episode:
        """Returns the episode after one more step, made on `env`, which is a copy in the current state; raises
        UsageError if the step draws from any of its generators.
        """
        self.game.check_action(action)
        before = environments.states_of(generators)
        observed, reward, terminated, truncated, _ = env.step(self.game.first_action + action)
        if environments.states_of(generators) != before:
            raise self.game.draws_numbers()
        reward, is_over = self.game.in_units(float(reward)), bool(terminated or truncated)
        actions, observed = (*self.actions, action), self.game.encode(observed)
        key = mixed([action], self.key())
        return Episode(self.game, env, self.seed, actions, observed, key, reward=reward, is_over=is_over)

    def observation(self, player: Player) -> FloatArray:
        return self.observed

    def key(self) -> int:
        return self.history_hash if self.history_hash is not None else mixed((self.seed, *self.actions))


@dataclass(frozen=True)
class TableState(_StepState):
    """A state of an environment with a transition table, or a chance node after an action."""

    game: TableGame
    number: int
    step: int = 0
    ply: int = 0
    action: Action | None = None
    """The action taken here, if the outcome is still to be sampled."""

    @property
    def active_players(self) -> tuple[Player, ...]:
        if self.action is not None:
            return (CHANCE,)
        return () if self.is_over or self.step >= self.game.num_steps else (0,)

    def legal_actions(self, player: Player) -> Sequence[Action]:
        return range(self.game.spec.num_actions if self.action is None else len(self.outcomes))

    @property
    def outcomes(self) -> Sequence[tuple[float, int, float, bool]]:
        """The possible outcomes of the action at a chance node."""
        return () if self.action is None else self.game.outcomes(self.number, self.action)

    def chances(self) -> FloatArray:
        if self.action is None:
            raise ValueError("expected a position in which chance moves")
        return np.array([chance for chance, *_ in self.outcomes], dtype=np.float32)

    def play(self, actions: Sequence[Action]) -> TableState:
        """Returns the state after an action or an outcome; raises ValueError if it is invalid."""
        (action,) = actions
        if self.action is not None:
            if not 0 <= action < len(self.outcomes):
                raise ValueError(f"expected an outcome below {len(self.outcomes)}, got {action}")
            return self._after(self.outcomes[action])
        self.game.check_action(action)
        outcomes = self.game.outcomes(self.number, action)
        if len(outcomes) == 1:
            return self._after(outcomes[0])
        return TableState(self.game, self.number, self.step, self.ply + 1, int(action))

    def _after(self, outcome: tuple[float, int, float, bool]) -> TableState:
        _, number, reward, is_over = outcome
        reward = self.game.in_units(float(reward))
        return TableState(self.game, int(number), self.step + 1, self.ply + 1, reward=reward, is_over=bool(is_over))

    def observation(self, player: Player) -> FloatArray:
        return self.game.encode(self.number)

    def key(self) -> int:
        action = -1 if self.action is None else self.action
        return mixed((self.number, self.step, self.ply, action, int(self.is_over), hash(self.reward)))


class _EnvironmentGame(Game[_M]):
    """An environment with discrete actions as a single-player game.

    Rewards are in units that no discounted sum of an episode exceeds, so that values stay in [-1, 1]. Observations are
    those of the environment: boxes as they are, other spaces flattened. The wrappers that an environment is registered
    with are part of it.
    """

    def __init__(self, name: str, *, discount: float = DEFAULT_DISCOUNT, reward: float = 1.0, steps: int = 0) -> None:
        """Takes the largest absolute reward of a step and the maximum steps of an episode, 0 for the environment's
        limit.

        Raises UsageError with the reason if the environment does not exist or cannot be searched.
        """
        self._options: dict[str, Any] = {"discount": discount, "reward": reward, "steps": steps}
        self._name = name
        self.env = environments.make_environment(name)
        space, observations = self.env.action_space, self.env.observation_space
        if not isinstance(space, spaces.Discrete):
            raise self._refusal(f"expected discrete actions, got {space}")
        if not observations.is_np_flattenable:
            raise self._refusal(f"expected observations of one size, got {observations}")
        if not 0 < reward < math.inf or not 0 < discount <= 1 or steps < 0:
            got = f"got reward={reward:g}, discount={discount:g}, steps={steps}"
            raise UsageError(f"gymnasium:{name}: expected reward > 0 and finite, discount in (0, 1], steps >= 0, {got}")
        self.num_steps = steps or gymnasium.spec(name).max_episode_steps or DEFAULT_STEPS
        self.first_action = int(space.start)
        horizon = self.num_steps if discount == 1 else min(self.num_steps, 1 / (1 - discount))
        self._unit = reward * horizon
        self._max_reward = reward
        self.spec = GameSpec(
            name=f"gymnasium:{name}",
            num_players=1,
            num_actions=int(space.n),
            observation_shape=self.encode(observations.sample()).shape,
            max_plies=self._plies_per_step() * self.num_steps,
            utility_sum=None,
            discount=discount,
            score_unit=self._unit,
        )
        self._check_steps()

    def __eq__(self, other: object) -> bool:
        return self.spec == other.spec if isinstance(other, _EnvironmentGame) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.spec)

    def __reduce__(self) -> Any:
        return functools.partial(type(self), self._name, **self._options), ()

    def in_units(self, reward: float) -> float:
        """Returns a reward in units of value; raises UsageError if it is NaN or larger than expected."""
        if math.isnan(reward):
            raise self._refusal("a step gave the reward nan")
        if abs(reward) > self._max_reward:
            raise UsageError(
                f"gymnasium:{self._name}: expected rewards up to {self._max_reward:g}, got {reward:g}; "
                "name the largest with ?reward="
            )
        return reward / self._unit

    def encode(self, observed: Any) -> FloatArray:
        """Returns an observation as a copied array of numbers."""
        space = self.env.observation_space
        flat = observed if isinstance(space, spaces.Box) else spaces.flatten(space, observed)
        return np.atleast_1d(np.array(flat, dtype=np.float32))

    def check_action(self, action: Action) -> None:
        """Raises ValueError unless the action is one of the environment's."""
        if not 0 <= action < self.spec.num_actions:
            raise ValueError(f"expected an action below {self.spec.num_actions}, got {action}")

    def _reset(self, seed: int) -> tuple[Any, Any]:
        """Returns a freshly reset copy of the environment, and its first observation."""
        env, _ = environments.copied(self.env)
        observed, _ = env.reset(seed=int(seed) % 2**31)
        return env, observed

    @abstractmethod
    def _plies_per_step(self) -> int:
        """Returns the maximum number of plies per step."""

    @abstractmethod
    def _check_steps(self) -> None:
        """Raises UsageError if steps cannot be searched, or have larger rewards than declared."""

    def _refusal(self, reason: str) -> UsageError:
        return UsageError(f"gymnasium:{self._name} cannot be searched here: {reason}")


class GymnasiumGame(_EnvironmentGame[Episode]):
    """An environment that is copied for each step, and whose steps draw no random numbers."""

    def initial_state(self, seed: int = 0) -> Episode:
        env, observed = self._reset(seed)
        return Episode(self, env, int(seed), (), self.encode(observed))

    def parse_state(self, text: str) -> Episode:
        """Returns the episode written as seed and actions, `7: 0 1 1`."""
        seed, colon, rest = text.partition(":")
        try:
            if not colon:
                raise ValueError("no colon")
            return self.replayed(int(seed), [int(action) for action in rest.split()])
        except ValueError as error:
            raise ValueError(f"expected a seed and actions such as '7: 0 1 1', got {text!r}: {error}") from None

    def format_state(self, state: Episode) -> str:
        return f"{state.seed}: {' '.join(map(str, state.actions))}".rstrip()

    def render(self, state: Episode) -> str:
        space = self.env.observation_space
        # Some spaces can unflatten integers, but not the same numbers as floats.
        observed = state.observed.astype(spaces.flatten_space(space).dtype)
        return f"step {state.ply}: {spaces.unflatten(space, observed)}"

    def pack(self, states: Sequence[Episode]) -> Packed:
        """Returns the texts, each with its observation unless that is large, so that reading them makes no steps."""
        return Packed.of([self._row(state) for state in states])

    def unpack(self, packed: Packed, players: IntArray) -> Views:
        rows = [packed.data[a:b].tobytes() for a, b in zip(packed.offsets, packed.offsets[1:], strict=False)]
        return self.views([(self._episode(row), int(player)) for row, player in zip(rows, players, strict=True)])

    def replayed(self, seed: int, actions: Sequence[Action]) -> Episode:
        """Returns the episode after actions; raises ValueError for an invalid one."""
        state = self.initial_state(seed)
        env, generators = environments.copied(state.env)
        for action in actions:
            if not state.active_players:
                raise ValueError(f"the episode has ended after {state.ply} steps")
            # The intermediate states are not shared, so the environment is copied only once.
            state = state.after(action, env, generators)
        return state

    def _row(self, state: Episode) -> bytes:
        text = self.format_state(state).encode()
        if state.observed.size > MAX_STORED_SIZE:
            return text
        return text + b"\0" + _LAST_STEP.pack(state.reward, state.is_over) + state.observed.astype("<f4").tobytes()

    def _episode(self, row: bytes) -> Episode:
        text, is_whole, rest = row.partition(b"\0")
        if not is_whole:
            return self.parse_state(text.decode())
        seed, actions = text.split(b":")
        reward, is_over = _LAST_STEP.unpack_from(rest)
        observed = np.frombuffer(rest, dtype="<f4", offset=_LAST_STEP.size).reshape(self.spec.observation_shape)
        played = tuple(map(int, actions.split()))
        return Episode(self, None, int(seed), played, observed, reward=reward, is_over=is_over)

    def _plies_per_step(self) -> int:
        return 1

    def _check_steps(self) -> None:
        """Raises UsageError if steps draw random numbers, which a search could not account for, or have larger rewards
        than declared.
        """
        rng = np.random.default_rng(0)
        for seed in range(environments.NUM_PROBES):
            try:
                env, twin, generators = environments.probes(self.env, seed)
            except Exception as error:
                raise self._refusal(f"copying and resetting it failed: {first_line(error)}") from None
            before = environments.states_of(generators), environments.shared_state()
            for _ in range(min(self.num_steps, environments.NUM_STEPS)):
                action = self.first_action + int(rng.integers(self.spec.num_actions))
                try:
                    outcome, repeated = self._outcome(env.step(action)), self._outcome(twin.step(action))
                except Exception as error:
                    raise self._refusal(f"calling step() failed: {first_line(error)}") from None
                self.in_units(outcome[0])
                if (environments.states_of(generators), environments.shared_state()) != before or repeated != outcome:
                    raise self.draws_numbers()
                if outcome[1]:
                    break

    def draws_numbers(self) -> UsageError:
        """Returns the error for an environment whose steps draw random numbers, which a search would foresee."""
        return self._refusal(
            "its steps draw random numbers, and it has no table of transitions (`P`) with their probabilities, or "
            "wrappers of which the table knows not"
        )

    def _outcome(self, step: tuple[Any, Any, bool, bool, Any]) -> tuple[float, bool, bytes]:
        observed, reward, terminated, truncated, _ = step
        return float(reward), bool(terminated or truncated), self.encode(observed).tobytes()


class TableGame(_EnvironmentGame[TableState]):
    """An environment with a transition table `P`; actions with several outcomes lead to chance nodes."""

    def __init__(self, name: str, **options: Any) -> None:
        env = environments.make_environment(name)
        self.table: Table = environments.table_of(env)
        if fault := environments.fault_of(self.table, env):
            raise UsageError(f"gymnasium:{name} cannot be searched here: its transition table (`P`) {fault}")
        super().__init__(name, **({"reward": self._largest_reward() or 1.0} | options))

    def initial_state(self, seed: int = 0) -> TableState:
        return TableState(self, int(self._reset(seed)[1]))

    def outcomes(self, number: int, action: Action) -> Sequence[tuple[float, int, float, bool]]:
        """Returns the outcomes of an action: probability, state, reward and whether the episode ends."""
        return self.table[number][self.first_action + action]

    def parse_state(self, text: str) -> TableState:
        """Returns the position written as six fields: state, step, ply, action or -, reward, 1 if it is over."""
        try:
            number, step, ply, action, reward, over = text.split()
            if int(number) not in self.table:
                raise ValueError(f"there is no state {number}")
            chosen = None if action == "-" else int(action)
            if chosen is not None:
                self.check_action(chosen)
            if int(step) < 0 or int(ply) < int(step) or not math.isfinite(float(reward)) or over not in ("0", "1"):
                raise ValueError("expected steps from 0, at least as many plies, finite rewards, and 0 or 1 last")
            return TableState(self, int(number), int(step), int(ply), chosen, reward=float(reward), is_over=over == "1")
        except ValueError as error:
            raise ValueError(f"expected six numbers such as '0 3 5 - 0.0 0', got {text!r}: {error}") from None

    def format_state(self, state: TableState) -> str:
        action = "-" if state.action is None else state.action
        return f"{state.number} {state.step} {state.ply} {action} {state.reward!r} {int(state.is_over)}"

    def render(self, state: TableState) -> str:
        return f"step {state.step}: state {state.number}"

    def _plies_per_step(self) -> int:
        return 1 + any(len(outcomes) > 1 for row in self.table.values() for outcomes in row.values())

    def _check_steps(self) -> None:
        """Raises UsageError if the table has larger rewards than declared, or steps deviate from it."""
        self.in_units(self._largest_reward())
        if fault := environments.fault_of_steps(self.table, self.env, self.num_steps):
            raise self._refusal(f"its transition table (`P`) {fault}")

    def _largest_reward(self) -> float:
        rows = (outcomes for row in self.table.values() for outcomes in row.values())
        return max(abs(float(reward)) for outcomes in rows for _, _, reward, _ in outcomes)


def make(name: str, *, discount: float = DEFAULT_DISCOUNT, reward: float = 0.0, steps: int = 0) -> Game:
    """Returns an environment as a game; `reward` 0 means the largest in a table, or 1 without one."""
    options: dict[str, Any] = {"discount": discount, "steps": steps} | ({"reward": reward} if reward else {})
    game_type = GymnasiumGame if environments.table_of(environments.make_environment(name)) is None else TableGame
    return game_type(name, **options)


@hookimpl
def register_games() -> Sequence[Registration]:
    return [
        Registration(
            "gymnasium:",
            make,
            "an environment with discrete actions: gymnasium:CartPole-v1?discount=0.97",
            settings={"network": "mlp"},
        )
    ]
