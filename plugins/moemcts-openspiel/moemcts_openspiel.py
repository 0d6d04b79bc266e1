"""OpenSpiel's perfect-information games for moemcts: `openspiel:breakthrough(rows=6,columns=6)`."""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyspiel

from moemcts.errors import UsageError, unknown_name
from moemcts.game import (
    CHANCE,
    Action,
    FloatArray,
    Game,
    GameSpec,
    IntArray,
    Packed,
    Player,
    State,
    Views,
    random_action,
)
from moemcts.hookspecs import Registration, hookimpl
from moemcts.splitmix import mixed

MAX_ACTIONS = 100_000
"""Maximum number of actions; a policy has an entry for each action of a game."""
_SPIEL_ERRORS = (pyspiel.SpielError, IndexError, RuntimeError, ValueError, MemoryError)
"""Exceptions of OpenSpiel for parameters, including those of its libraries for cases that its C++ does not check."""
_TYPE_NAMES = {int: "a whole number", float: "a number such as 2.0", bool: "True or False", str: "text", dict: "a game"}

Information, Dynamics, Chance, Rewards, Utility = (
    pyspiel.GameType.Information,
    pyspiel.GameType.Dynamics,
    pyspiel.GameType.ChanceMode,
    pyspiel.GameType.RewardModel,
    pyspiel.GameType.Utility,
)


@dataclass(frozen=True, eq=False)
class Position(State):
    """A position of OpenSpiel, which is cloned for every move.

    Positions of one game reached by the same actions are equal.
    """

    game: OpenSpielGame
    spiel_state: Any
    """The `pyspiel.State`."""
    ply: int = 0
    history_hash: int = 0
    """A hash of all actions played: OpenSpiel's positions may depend on any of them."""
    step_rewards: FloatArray | None = None
    """The rewards of the step into this position by player, in units of value; None if the game has only final returns.
    """
    _names: dict[Player, dict[Action, str]] = field(default_factory=dict, repr=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Position):
            return NotImplemented
        return (self.ply, self.history_hash, self.game.spec) == (other.ply, other.history_hash, other.game.spec)

    def __hash__(self) -> int:
        return hash((self.ply, self.history_hash))

    @property
    def active_players(self) -> tuple[Player, ...]:
        spiel_state = self.spiel_state
        if spiel_state.is_terminal():
            return ()
        if spiel_state.is_chance_node():
            return (CHANCE,)
        if spiel_state.is_simultaneous_node():
            return tuple(player for player in range(self.game.spec.num_players) if spiel_state.legal_actions(player))
        return (int(spiel_state.current_player()),)

    def legal_actions(self, player: Player) -> Sequence[Action]:
        if player == CHANCE:
            return sorted(outcome for outcome, _ in self.spiel_state.chance_outcomes())
        legal: list[Action] = self.spiel_state.legal_actions(player)
        return legal

    def chances(self) -> FloatArray:
        if not self.spiel_state.is_chance_node():
            raise ValueError("expected a position in which chance moves")
        return np.array([chance for _, chance in sorted(self.spiel_state.chance_outcomes())], dtype=np.float32)

    def play(self, actions: Sequence[Action]) -> Position:
        """Returns the position after one action per active player; raises ValueError for an illegal one."""
        players = self.active_players
        if len(actions) != len(players):
            raise ValueError(f"expected one action for each of the players {players}, got {list(actions)}")
        for player, action in zip(players, actions, strict=True):
            if action not in self.legal_actions(player):
                raise ValueError(f"expected one of {self.legal_actions(player)} from player {player}, got {action}")
        spiel_state = self.spiel_state.clone()
        if spiel_state.is_simultaneous_node():
            joint = dict(zip(players, actions, strict=True))
            spiel_state.apply_actions([joint.get(player, 0) for player in range(self.game.spec.num_players)])
        else:
            spiel_state.apply_action(actions[0])
        step_rewards = None
        if self.step_rewards is not None:
            step_rewards = self.game.in_units(np.subtract(spiel_state.returns(), self.spiel_state.returns()))
        return Position(self.game, spiel_state, self.ply + 1, mixed(actions, self.history_hash), step_rewards)

    def rewards(self) -> FloatArray:
        if self.step_rewards is None:
            return np.zeros(self.game.spec.num_players, dtype=np.float32)
        return self.step_rewards

    def returns(self) -> FloatArray:
        """Returns the result of a finished game, `[P]`; zeros if all of it was paid as rewards."""
        if self.step_rewards is not None or not self.spiel_state.is_terminal():
            return np.zeros(self.game.spec.num_players, dtype=np.float32)
        return self.game.in_units(self.spiel_state.returns())

    def names(self, player: Player) -> dict[Action, str]:
        """Returns OpenSpiel's names of the legal actions, with their numbers if names are ambiguous."""
        if player not in self._names:
            spiel_player = self.spiel_state.current_player() if player == CHANCE else player
            names = {}
            for action in self.legal_actions(player):
                name = self.spiel_state.action_to_string(spiel_player, action)
                names[action] = " ".join(name.split())
            counts = Counter(names.values())
            self._names[player] = {
                action: name if counts[name] == 1 else f"{name} #{action}" for action, name in names.items()
            }
        return self._names[player]

    def observation(self, player: Player) -> FloatArray:
        spiel_state = self.spiel_state
        tensor = spiel_state.observation_tensor if self.game.has_observations else spiel_state.information_state_tensor
        return np.array(tensor(player), dtype=np.float32).reshape(self.game.spec.observation_shape)

    def key(self) -> int:
        return self.history_hash


class OpenSpielGame(Game[Position]):
    """A game of OpenSpiel, named with its parameters.

    Returns are scaled by the game's bounds: `score_unit` is a value of 1 in OpenSpiel's own numbers. In games with
    rewards these are `rewards()`, and the final returns are zero.
    """

    def __init__(self, name: str) -> None:
        """Raises UsageError with the reason if the game does not exist or cannot be searched."""
        try:
            self.spiel_game = _load_game(name)
            game_type = self.spiel_game.get_type()
            _check_game_type(self.spiel_game, game_type)
            # Some games detect unsupported board sizes only here.
            self.spiel_game.new_initial_state()
        except _SPIEL_ERRORS as error:
            raise UsageError(f"openspiel:{name}: OpenSpiel cannot make it: {_format_error(error)}") from None
        self.has_observations = bool(game_type.provides_observation_tensor)
        self.has_step_rewards = game_type.reward_model == Rewards.REWARDS
        low, high = self.spiel_game.min_utility(), self.spiel_game.max_utility()
        # The remaining return is a difference between two sums of rewards.
        self._unit = (high - low if self.has_step_rewards else max(abs(low), abs(high))) or 1.0
        if self.has_observations:
            shape = self.spiel_game.observation_tensor_shape()
        else:
            shape = self.spiel_game.information_state_tensor_shape()
        if 0 in shape or not self.spiel_game.num_distinct_actions():
            raise UsageError(f"openspiel:{name}: expected a larger board, got an empty one")
        # Some single-player games declare themselves zero-sum.
        has_sum = game_type.utility in (Utility.ZERO_SUM, Utility.CONSTANT_SUM) and self.spiel_game.num_players() > 1
        utility_sum = self.spiel_game.utility_sum() / self._unit if has_sum else None
        if utility_sum and self.has_step_rewards:
            # The sum of the remaining returns changes with every reward.
            utility_sum = None
        try:
            self.spec = GameSpec(
                name=f"openspiel:{self.spiel_game}",
                num_players=self.spiel_game.num_players(),
                num_actions=self.spiel_game.num_distinct_actions(),
                observation_shape=tuple(shape),
                max_plies=self.spiel_game.max_history_length(),
                utility_sum=utility_sum,
                score_unit=self._unit,
            )
        except ValueError as error:
            raise UsageError(f"openspiel:{name} cannot be searched here: {error}") from None

    def __reduce__(self) -> tuple[type[OpenSpielGame], tuple[str]]:
        return type(self), (str(self.spiel_game),)

    def in_units(self, scores: Any) -> FloatArray:
        """Returns OpenSpiel's scores in units of value, `[P]`."""
        return (np.asarray(scores) / self._unit).astype(np.float32)

    def initial_state(self, seed: int = 0) -> Position:
        """Returns the first position with a player to move; preceding chance outcomes are sampled from the seed."""
        rng = np.random.default_rng(seed)
        position = self._root()
        while position.active_players == (CHANCE,):
            position = position.play([random_action(position, CHANCE, rng)])
        return position

    def parse_state(self, text: str) -> Position:
        """Returns the position after the actions in `text`, with commas in joint actions, starting at the root."""
        position = self._root()
        for number, word in enumerate(text.split(), start=1):
            try:
                position = position.play([int(action) for action in word.split(",")])
            except ValueError as error:
                raise ValueError(
                    f"expected actions such as '3 1,2', got {word!r} as number {number}: {error}"
                ) from None
        if not text.split() and text != "":
            raise ValueError(f"expected actions such as '3 1,2', got {text!r}")
        return position

    def format_state(self, state: Position) -> str:
        return " ".join(",".join(map(str, joint)) for joint in self._actions_played(state))

    def format_action(self, state: Position, player: Player, action: Action) -> str:
        """Returns OpenSpiel's name of the action, with its number if the name is ambiguous."""
        return state.names(player)[action]

    def render(self, state: Position) -> str:
        return str(state.spiel_state)

    def pack(self, states: Sequence[Position]) -> Packed:
        return Packed.of([np.array(state.spiel_state.history(), dtype="<i4").tobytes() for state in states])

    def unpack(self, packed: Packed, players: IntArray) -> Views:
        rows = [
            np.frombuffer(packed.data[a:b].tobytes(), dtype="<i4").tolist()
            for a, b in zip(packed.offsets, packed.offsets[1:], strict=False)
        ]
        return self.views([(self._position_after(row), int(player)) for row, player in zip(rows, players, strict=True)])

    def _root(self) -> Position:
        step_rewards = np.zeros(self.spiel_game.num_players(), dtype=np.float32) if self.has_step_rewards else None
        return Position(self, self.spiel_game.new_initial_state(), step_rewards=step_rewards)

    def _position_after(self, history: Sequence[int]) -> Position:
        """Returns the position after OpenSpiel's action history, in which joint actions cover all players.

        Raises ValueError if an action is illegal.
        """
        spiel_state = self.spiel_game.new_initial_state()
        ply = history_hash = 0
        returns_before = returns = np.array(spiel_state.returns())
        try:
            for joint in _replay_history(spiel_state, history):
                ply, history_hash = ply + 1, mixed(joint, history_hash)
                if self.has_step_rewards:
                    returns_before, returns = returns, np.array(spiel_state.returns())
        except pyspiel.SpielError:
            raise ValueError(
                f"expected legal actions of {self.spec.name}, got {history}; the one at step {ply} is illegal"
            ) from None
        step_rewards = self.in_units(returns - returns_before) if self.has_step_rewards else None
        return Position(self, spiel_state, ply, history_hash, step_rewards)

    def _actions_played(self, state: Position) -> list[list[int]]:
        return list(_replay_history(self.spiel_game.new_initial_state(), state.spiel_state.history()))


def _replay_history(spiel_state: Any, history: Sequence[int]) -> Iterator[list[int]]:
    """Plays OpenSpiel's action history; yields the actions of the active players after each step."""
    index, num_players = 0, spiel_state.num_players()
    while index < len(history):
        if spiel_state.is_simultaneous_node():
            all_actions = history[index : index + num_players]
            joint = [action for player, action in enumerate(all_actions) if spiel_state.legal_actions(player)]
            spiel_state.apply_actions_with_legality_checks(all_actions)
            index += num_players
        else:
            joint = [history[index]]
            spiel_state.apply_action_with_legality_check(history[index])
            index += 1
        yield joint


def make(name: str, **options: Any) -> OpenSpielGame:
    """Returns a game; raises UsageError for options, as OpenSpiel's parameters are part of the name."""
    if options:
        parameters = ",".join(f"{option}={value}" for option, value in options.items())
        short_name = name.partition("(")[0]
        raise UsageError(
            f"expected OpenSpiel's parameters in brackets, openspiel:{short_name}({parameters}), got ?{parameters}"
        )
    return OpenSpielGame(name)


@hookimpl
def register_games() -> Sequence[Registration]:
    return [
        Registration(
            "openspiel:",
            make,
            "any game of OpenSpiel with perfect information: openspiel:breakthrough(rows=6,columns=6)",
            settings={"network": "mlp"},
        )
    ]


def why_not(name: str) -> str:
    """Returns why a game of OpenSpiel cannot be searched, in one line; empty if it can."""
    try:
        OpenSpielGame(name)
    except UsageError as error:
        return str(error)
    return ""


def _load_game(name: str) -> Any:
    """Returns OpenSpiel's game, after checking the name as far as possible.

    OpenSpiel prints the errors that it raises, and aborts on some invalid numbers.
    """
    known = {game_type.short_name: game_type for game_type in pyspiel.registered_games()}
    short_name, bracket, rest = name.partition("(")
    if short_name not in known:
        matches = difflib.get_close_matches(short_name, known, n=1, cutoff=0.5)
        hint = f"; did you mean {matches[0]!r}?" if matches else ""
        raise UsageError(f"OpenSpiel has no game named {short_name!r}{hint}")
    is_balanced = rest.endswith(")") and name.count("(") == name.count(")")
    if bracket and not (is_balanced and ("=" in rest or rest == ")")):
        raise UsageError(f"openspiel:{name}: expected parameters in brackets, as in {_example(short_name)}")
    _check_parameters(name, pyspiel.game_parameters_from_string(name), known)
    return pyspiel.load_game(name)


def _check_parameters(name: str, given: dict[str, Any], known: dict[str, Any]) -> None:
    """Raises UsageError for an unknown parameter, or for a value of another type or below 0.

    Sizes and numbers may be negative only if their defaults are.
    """
    game = given.pop("name")
    if game not in known:
        raise UsageError(f"openspiel:{name}: OpenSpiel has no game named {game!r}")
    declared = known[game].parameter_specification
    for parameter, value in given.items():
        if parameter not in declared:
            reason = unknown_name(f"parameter of {game}", parameter, sorted(declared))
            raise UsageError(f"openspiel:{name}: {reason}")
        default = declared[parameter]
        if isinstance(value, dict) and isinstance(default, dict):
            _check_parameters(name, value, known)
            continue
        if type(value) is not type(default):
            raise UsageError(f"openspiel:{name}: expected {parameter} as {_TYPE_NAMES[type(default)]}, got {value!r}")
        if type(value) is int and type(default) is int and value < 0 <= default:
            raise UsageError(f"openspiel:{name}: expected {parameter} of at least 0, got {value}")


def _example(game: str) -> str:
    """Returns an example of a game's name with a parameter."""
    for game_type in pyspiel.registered_games():
        if game_type.short_name == game:
            for parameter, default in sorted(game_type.parameter_specification.items()):
                if type(default) is int:
                    return f"openspiel:{game}({parameter}={default})"
    return "openspiel:breakthrough(rows=6,columns=6)"


def _format_error(error: Exception) -> str:
    """Returns OpenSpiel's error message in one line."""
    if isinstance(error, IndexError):
        return "it needs parameters, of which one is missing"
    return " ".join(str(error).split()) or type(error).__name__


def _check_game_type(spiel_game: Any, game_type: Any) -> None:
    """Raises UsageError with the reason if a game cannot be searched."""
    if reason := _reason_not_searchable(spiel_game, game_type):
        raise UsageError(f"openspiel:{spiel_game} cannot be searched here: {reason}")


def _reason_not_searchable(spiel_game: Any, game_type: Any) -> str:
    if game_type.information == Information.ONE_SHOT:
        return (
            "it is over after one move of all, so there is nothing to look ahead to; name it as the stage of a game "
            f"that goes on: openspiel:repeated_game(stage_game={spiel_game},num_repetitions=10)"
        )
    if game_type.information != Information.PERFECT_INFORMATION:
        return "it hides information from players"
    if game_type.dynamics == Dynamics.MEAN_FIELD:
        return "it is a mean-field game"
    if game_type.chance_mode == Chance.SAMPLED_STOCHASTIC:
        return "its chance is sampled inside, without probabilities"
    if not (game_type.provides_observation_tensor or game_type.provides_information_state_tensor):
        return "it has no observation tensor"
    if spiel_game.num_distinct_actions() > MAX_ACTIONS:
        return f"it has more than {MAX_ACTIONS:,} actions"
    if not math.isfinite(spiel_game.max_utility() - spiel_game.min_utility()):
        return "its results have no bounds"
    return ""
