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
_REFUSALS = (pyspiel.SpielError, IndexError, RuntimeError, ValueError, MemoryError)
"""Exceptions of OpenSpiel for parameters, including those of its libraries for cases that its C++ does not check."""
_KINDS = {int: "a whole number", float: "a number such as 2.0", bool: "True or False", str: "text", dict: "a game"}

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
    spiel: Any
    """The `pyspiel.State`."""
    ply: int = 0
    course: int = 0
    """A hash of all actions played: OpenSpiel's positions may depend on any of them."""
    paid: FloatArray | None = None
    """The rewards of the step into this position by player, in units of value; None if the game has only final returns.
    """
    _names: dict[Player, dict[Action, str]] = field(default_factory=dict, repr=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Position):
            return NotImplemented
        return (self.ply, self.course, self.game.spec) == (other.ply, other.course, other.game.spec)

    def __hash__(self) -> int:
        return hash((self.ply, self.course))

    @property
    def active_players(self) -> tuple[Player, ...]:
        spiel = self.spiel
        if spiel.is_terminal():
            return ()
        if spiel.is_chance_node():
            return (CHANCE,)
        if spiel.is_simultaneous_node():
            return tuple(player for player in range(self.game.spec.num_players) if spiel.legal_actions(player))
        return (int(spiel.current_player()),)

    def legal_actions(self, player: Player) -> Sequence[Action]:
        if player == CHANCE:
            return sorted(outcome for outcome, _ in self.spiel.chance_outcomes())
        legal: list[Action] = self.spiel.legal_actions(player)
        return legal

    def chances(self) -> FloatArray:
        if not self.spiel.is_chance_node():
            raise ValueError("expected a position in which chance moves")
        return np.array([chance for _, chance in sorted(self.spiel.chance_outcomes())], dtype=np.float32)

    def play(self, actions: Sequence[Action]) -> Position:
        """Returns the position after one action per active player; raises ValueError for an illegal one."""
        players = self.active_players
        if len(actions) != len(players):
            raise ValueError(f"expected one action for each of the players {players}, got {list(actions)}")
        for player, action in zip(players, actions, strict=True):
            if action not in self.legal_actions(player):
                raise ValueError(f"expected one of {self.legal_actions(player)} from player {player}, got {action}")
        spiel = self.spiel.clone()
        if spiel.is_simultaneous_node():
            joint = dict(zip(players, actions, strict=True))
            spiel.apply_actions([joint.get(player, 0) for player in range(self.game.spec.num_players)])
        else:
            spiel.apply_action(actions[0])
        paid = None
        if self.paid is not None:
            paid = self.game.in_units(np.subtract(spiel.returns(), self.spiel.returns()))
        return Position(self.game, spiel, self.ply + 1, mixed(actions, self.course), paid)

    def rewards(self) -> FloatArray:
        return np.zeros(self.game.spec.num_players, dtype=np.float32) if self.paid is None else self.paid

    def returns(self) -> FloatArray:
        """Returns the result of a finished game, `[P]`; zeros if all of it was paid as rewards."""
        if self.paid is not None or not self.spiel.is_terminal():
            return np.zeros(self.game.spec.num_players, dtype=np.float32)
        return self.game.in_units(self.spiel.returns())

    def names(self, player: Player) -> dict[Action, str]:
        """Returns OpenSpiel's names of the legal actions, with their numbers if names are ambiguous."""
        if player not in self._names:
            who = self.spiel.current_player() if player == CHANCE else player
            plain = {a: " ".join(self.spiel.action_to_string(who, a).split()) for a in self.legal_actions(player)}
            counts = Counter(plain.values())
            self._names[player] = {a: text if counts[text] == 1 else f"{text} #{a}" for a, text in plain.items()}
        return self._names[player]

    def observation(self, player: Player) -> FloatArray:
        spiel = self.spiel
        tensor = spiel.observation_tensor if self.game.has_observations else spiel.information_state_tensor
        return np.array(tensor(player), dtype=np.float32).reshape(self.game.spec.observation_shape)

    def key(self) -> int:
        return self.course


class OpenSpielGame(Game[Position]):
    """A game of OpenSpiel, named with its parameters.

    Returns are scaled by the game's bounds: `score_unit` is a value of 1 in OpenSpiel's own numbers. In games with
    rewards these are `rewards()`, and the final returns are zero.
    """

    def __init__(self, name: str) -> None:
        """Raises UsageError with the reason if the game does not exist or cannot be searched."""
        try:
            self.spiel = _load(name)
            kind = self.spiel.get_type()
            _check(self.spiel, kind)
            # Some games detect unsupported board sizes only here.
            self.spiel.new_initial_state()
        except _REFUSALS as error:
            raise UsageError(f"openspiel:{name}: OpenSpiel cannot make it: {_line(error)}") from None
        self.has_observations = bool(kind.provides_observation_tensor)
        self.pays_on_the_way = kind.reward_model == Rewards.REWARDS
        low, high = self.spiel.min_utility(), self.spiel.max_utility()
        # The remaining return is a difference between two sums of rewards.
        self._unit = (high - low if self.pays_on_the_way else max(abs(low), abs(high))) or 1.0
        shape = self.spiel.observation_tensor_shape() if self.has_observations else _information_shape(self.spiel)
        if 0 in shape or not self.spiel.num_distinct_actions():
            raise UsageError(f"openspiel:{name}: expected a larger board, got an empty one")
        # Some single-player games declare themselves zero-sum.
        has_sum = kind.utility in (Utility.ZERO_SUM, Utility.CONSTANT_SUM) and self.spiel.num_players() > 1
        total = self.spiel.utility_sum() if has_sum else None
        try:
            self.spec = GameSpec(
                name=f"openspiel:{self.spiel}",
                num_players=self.spiel.num_players(),
                num_actions=self.spiel.num_distinct_actions(),
                observation_shape=tuple(shape),
                max_plies=self.spiel.max_history_length(),
                utility_sum=None if total is None or (total and self.pays_on_the_way) else total / self._unit,
                score_unit=self._unit,
            )
        except ValueError as error:
            raise UsageError(f"openspiel:{name} cannot be searched here: {error}") from None

    def __reduce__(self) -> tuple[type[OpenSpielGame], tuple[str]]:
        return type(self), (str(self.spiel),)

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
        return " ".join(",".join(map(str, joint)) for joint in self._course(state))

    def format_action(self, state: Position, player: Player, action: Action) -> str:
        """Returns OpenSpiel's name of the action, with its number if the name is ambiguous."""
        return state.names(player)[action]

    def render(self, state: Position) -> str:
        return str(state.spiel)

    def pack(self, states: Sequence[Position]) -> Packed:
        return Packed.of([np.array(state.spiel.history(), dtype="<i4").tobytes() for state in states])

    def unpack(self, packed: Packed, players: IntArray) -> Views:
        rows = [
            np.frombuffer(packed.data[a:b].tobytes(), dtype="<i4").tolist()
            for a, b in zip(packed.offsets, packed.offsets[1:], strict=False)
        ]
        return self.views([(self._after(row), int(player)) for row, player in zip(rows, players, strict=True)])

    def _root(self) -> Position:
        paid = np.zeros(self.spiel.num_players(), dtype=np.float32) if self.pays_on_the_way else None
        return Position(self, self.spiel.new_initial_state(), paid=paid)

    def _after(self, history: Sequence[int]) -> Position:
        """Returns the position after OpenSpiel's action history, in which joint actions cover all players.

        Raises ValueError if an action is illegal.
        """
        spiel, root = self.spiel.new_initial_state(), self._root()
        ply = course = 0
        before = after = np.array(spiel.returns())
        try:
            for joint in _played(spiel, history):
                ply, course = ply + 1, mixed(joint, course)
                if self.pays_on_the_way:
                    before, after = after, np.array(spiel.returns())
        except pyspiel.SpielError:
            raise ValueError(
                f"expected legal actions of {self.spec.name}, got {history}; the one at step {ply} is illegal"
            ) from None
        return Position(self, spiel, ply, course, None if root.paid is None else self.in_units(after - before))

    def _course(self, state: Position) -> list[list[int]]:
        return list(_played(self.spiel.new_initial_state(), state.spiel.history()))


def _played(spiel: Any, history: Sequence[int]) -> Iterator[list[int]]:
    """Plays OpenSpiel's action history; yields the actions of the active players after each step."""
    done, num_players = 0, spiel.num_players()
    while done < len(history):
        if spiel.is_simultaneous_node():
            everyone = history[done : done + num_players]
            joint = [action for player, action in enumerate(everyone) if spiel.legal_actions(player)]
            spiel.apply_actions_with_legality_checks(everyone)
            done += num_players
        else:
            joint = [history[done]]
            spiel.apply_action_with_legality_check(history[done])
            done += 1
        yield joint


def make(name: str, **options: Any) -> OpenSpielGame:
    """Returns a game; raises UsageError for options, as OpenSpiel's parameters are part of the name."""
    if options:
        given = ",".join(f"{option}={value}" for option, value in options.items())
        short = name.partition("(")[0]
        raise UsageError(f"expected OpenSpiel's parameters in brackets, openspiel:{short}({given}), got ?{given}")
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


def _load(name: str) -> Any:
    """Returns OpenSpiel's game, after checking the name as far as possible.

    OpenSpiel prints the errors that it raises, and aborts on some invalid numbers.
    """
    known = {kind.short_name: kind for kind in pyspiel.registered_games()}
    short, bracket, rest = name.partition("(")
    if short not in known:
        near = difflib.get_close_matches(short, known, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"OpenSpiel has no game named {short!r}{hint}")
    is_written = rest.endswith(")") and name.count("(") == name.count(")") and ("=" in rest or rest == ")")
    if bracket and not is_written:
        raise UsageError(f"openspiel:{name}: expected parameters in brackets, as in {_example(short)}")
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
        usual = declared[parameter]
        if isinstance(value, dict) and isinstance(usual, dict):
            _check_parameters(name, value, known)
            continue
        if type(value) is not type(usual):
            raise UsageError(f"openspiel:{name}: expected {parameter} as {_KINDS[type(usual)]}, got {value!r}")
        if type(value) is int and type(usual) is int and value < 0 <= usual:
            raise UsageError(f"openspiel:{name}: expected {parameter} of at least 0, got {value}")


def _example(game: str) -> str:
    """Returns an example of a game's name with a parameter."""
    kinds = [kind.parameter_specification for kind in pyspiel.registered_games() if kind.short_name == game]
    plain = [f"{name}={value}" for kind in kinds for name, value in sorted(kind.items()) if type(value) is int]
    return f"openspiel:{game}({plain[0]})" if plain else "openspiel:breakthrough(rows=6,columns=6)"


def _line(error: Exception) -> str:
    """Returns OpenSpiel's error message in one line."""
    if isinstance(error, IndexError):
        return "it needs parameters, of which one is missing"
    return " ".join(str(error).split()) or type(error).__name__


def _check(spiel: Any, kind: Any) -> None:
    """Raises UsageError with the reason if a game cannot be searched."""
    reasons = {
        "it is over after one move of all, so there is nothing to look ahead to; name it as the stage of a game that "
        f"goes on: openspiel:repeated_game(stage_game={spiel},num_repetitions=10)": kind.information
        == Information.ONE_SHOT,
        "it hides information from players": kind.information != Information.PERFECT_INFORMATION,
        "it is a mean-field game": kind.dynamics == Dynamics.MEAN_FIELD,
        "its chance is sampled inside, without probabilities": kind.chance_mode == Chance.SAMPLED_STOCHASTIC,
        "it has no observation tensor": not (
            kind.provides_observation_tensor or kind.provides_information_state_tensor
        ),
        f"it has more than {MAX_ACTIONS:,} actions": spiel.num_distinct_actions() > MAX_ACTIONS,
        "its results have no bounds": not math.isfinite(spiel.max_utility() - spiel.min_utility()),
    }
    for reason, holds in reasons.items():
        if holds:
            raise UsageError(f"openspiel:{spiel} cannot be searched here: {reason}")


def _information_shape(spiel: Any) -> list[int]:
    shape: list[int] = spiel.information_state_tensor_shape()
    return shape
