"""Validates what games return; anything else than the laws of games require raises UnlawfulGame."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from numbers import Integral
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from moemcts.errors import UnlawfulGame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from moemcts.game import Action, GameSpec, Player, State

T = TypeVar("T")

CHANCE: Player = -1
"""The player that moves where dice are rolled or cards are drawn; not counted in `num_players`.

Defined here, as `moemcts.game`, which re-exports it, imports this module.
"""
MAX_SHOWN = 100
"""Characters shown of a wrong value in an error."""
_RETURN_TOLERANCE = 1e-3
"""Tolerance for returns, as some games compute in single precision."""
_CHANCE_TOLERANCE = 1e-4
"""Tolerance for the sum of chances, as in the core (`chance.rs`)."""


def convert(value: Any, to: Callable[[Any], T], expected: str, game: str = "the game") -> T:
    """Returns `to(value)`, for a value that a game returned; raises UnlawfulGame if the conversion fails."""
    try:
        return to(value)
    except (TypeError, ValueError, LookupError, OverflowError):
        raise unlawful_value(value, expected, game) from None


def unlawful_value(value: Any, expected: str, game: str = "the game") -> UnlawfulGame:
    """Returns the error, on one line, for a value that a game must not return."""
    shown = " ".join(repr(value).split())[:MAX_SHOWN]
    return UnlawfulGame(f"expected {expected}, the game gave {shown}", game)


def unsigned_key(key: int, game: str = "the game") -> int:
    """Returns a position's key as an unsigned 64-bit integer; a negative key keeps its bits."""
    return convert(key, _to_unsigned, "a 64-bit integer as key", game)


def ply_of(spec: GameSpec, state: State) -> int:
    """Returns the number of plies played up to a position."""
    return convert(state.ply, _to_count, "a ply, an integer of at least 0", spec.name)


def check_length(spec: GameSpec, state: State) -> None:
    """Raises UnlawfulGame for a position beyond `max_plies`, which the game has not ended at."""
    if ply_of(spec, state) > spec.max_plies:
        raise UnlawfulGame(f"expected the game to end within max_plies, {spec.max_plies}, but it goes on", spec.name)


def check_players(spec: GameSpec, players: tuple[Player, ...]) -> None:
    """Raises UnlawfulGame unless `players` are valid active players; `moemcts check` tests further laws."""
    # Checked by exact type first: `isinstance` with an abstract class takes longer than all the rest.
    is_valid = isinstance(players, tuple) and (
        {*map(type, players)} <= {int} or all(isinstance(player, Integral) for player in players)
    )
    if is_valid and players and players != (CHANCE,):
        is_valid = 0 <= min(players) <= max(players) < spec.num_players
    if not is_valid:
        message = (
            f"expected active_players to be a tuple of players from 0 to {spec.num_players - 1}, the game gave "
            f"{players!r}"
        )
        raise UnlawfulGame(message, spec.name)


def actions_of(state: State, player: Player, game: str = "the game") -> list[Action]:
    """Returns the legal actions of an active player, or the outcomes of chance; at least one."""
    actions = convert(state.legal_actions(player), _to_counts, "legal actions, integers of at least 0", game)
    if not actions:
        raise UnlawfulGame(f"expected a legal action for active player {player}, the game gave none", game)
    return actions


def legal_actions(spec: GameSpec, state: State, player: Player) -> list[Action]:
    """Returns the actions as `actions_of` does; raises UnlawfulGame for a player's action not below `num_actions`."""
    actions = actions_of(state, player, spec.name)
    if player != CHANCE and max(actions) >= spec.num_actions:
        message = (
            f"expected legal actions of at least 0 and below {spec.num_actions}, got {actions} of player {player} at "
            f"ply {state.ply}"
        )
        raise UnlawfulGame(message, spec.name)
    return actions


def shares_of(state: State, num_outcomes: int) -> NDArray[np.float64]:
    """Returns the probabilities of chance outcomes, `[num_outcomes]`, normalised in double precision."""

    def to_shares(value: Any) -> NDArray[np.float64]:
        chances = np.asarray(value, dtype=np.float64)
        if chances.shape != (num_outcomes,) or not (chances >= 0).all() or abs(chances.sum() - 1) > _CHANCE_TOLERANCE:
            raise ValueError
        # Their sum in float32 may be too far from one for sampling.
        return np.asarray(chances / chances.sum())

    expected = f"the chances of {num_outcomes} outcomes, non-negative and summing to one"
    return convert(state.chances(), to_shares, expected)


def per_player(spec: GameSpec, name: str, value: Any) -> NDArray[Any]:
    """Returns one finite number per player, `[P]`; `name` names them in errors: `"rewards"`."""

    def to_numbers(value: Any) -> NDArray[Any]:
        numbers = np.asarray(value)
        # For so few numbers Python is faster than NumPy.
        if numbers.shape != (spec.num_players,) or numbers.dtype.hasobject or not all(map(isfinite, numbers.tolist())):
            raise ValueError
        return numbers

    return convert(value, to_numbers, f"{name} of {spec.num_players} players, all finite numbers", spec.name)


def returns_of(spec: GameSpec, state: State) -> NDArray[Any]:
    """Returns the returns decided in a position, `[P]`, in [-1, 1] up to rounding."""
    returns = per_player(spec, "returns", state.returns())
    if np.abs(returns).max() > 1 + _RETURN_TOLERANCE:
        raise UnlawfulGame(f"expected returns in [-1, 1], the game gave {returns.tolist()}", spec.name)
    return returns


def check_final(spec: GameSpec, state: State) -> None:
    """Raises UnlawfulGame for invalid returns of a final position."""
    returns = returns_of(spec, state)
    if spec.utility_sum is not None and abs(float(returns.sum()) - spec.utility_sum) > _RETURN_TOLERANCE:
        message = (
            f"expected final returns that sum to utility_sum, {spec.utility_sum:g}, the game gave {returns.tolist()}"
        )
        raise UnlawfulGame(message, spec.name)


def encode_text(spec: GameSpec, text: Any) -> bytes:
    """Returns a position's text as bytes."""
    return convert(text, _to_bytes, "a position written as text", spec.name)


def _to_bytes(value: Any) -> bytes:
    if not isinstance(value, str):
        raise TypeError
    return value.encode()


def _to_unsigned(value: Any) -> int:
    number = index(value)
    if not -(2**63) <= number < 2**64:
        raise ValueError
    return number % 2**64


def _to_count(value: Any) -> int:
    number = index(value)
    if number < 0:
        raise ValueError
    return number


def _to_counts(value: Any) -> list[int]:
    numbers = list(map(index, value))
    if numbers and min(numbers) < 0:
        raise ValueError
    return numbers
