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
_NEAR = 1e-3
"""Tolerance for returns, as some games compute in single precision."""
_ROUNDED = 1e-4
"""Tolerance for the sum of chances, as in the core (`chance.rs`)."""


def read(given: Any, into: Callable[[Any], T], wanted: str, game: str = "the game") -> T:
    """Returns `into(given)`, a game's value converted; raises UnlawfulGame if the conversion fails."""
    try:
        return into(given)
    except (TypeError, ValueError, LookupError, OverflowError):
        raise unlawful(given, wanted, game) from None


def unlawful(given: Any, wanted: str, game: str = "the game") -> UnlawfulGame:
    """Returns the error, on one line, for a value that a game must not return."""
    shown = " ".join(repr(given).split())[:MAX_SHOWN]
    return UnlawfulGame(f"expected {wanted}, the game gave {shown}", game)


def whole_key(key: int, game: str = "the game") -> int:
    """Returns a position's key as an unsigned 64-bit integer; a negative key keeps its bits."""

    def whole(given: Any) -> int:
        number = index(given)
        if not -(2**63) <= number < 2**64:
            raise ValueError
        return number % 2**64

    return read(key, whole, "a 64-bit integer as key", game)


def ply_of(spec: GameSpec, state: State) -> int:
    """Returns the number of plies played up to a position."""
    return read(state.ply, _count, "a ply, an integer of at least 0", spec.name)


def check_length(spec: GameSpec, state: State) -> None:
    """Raises UnlawfulGame for a position beyond `max_plies`, which the game has not ended at."""
    if ply_of(spec, state) > spec.max_plies:
        raise UnlawfulGame(f"expected the game to end within max_plies, {spec.max_plies}, but it goes on", spec.name)


def check_players(spec: GameSpec, players: tuple[Player, ...]) -> None:
    """Raises UnlawfulGame unless `players` are valid active players; `moemcts check` tests further laws."""
    # Checked by exact type first: `isinstance` with an abstract class takes longer than all the rest.
    is_one = isinstance(players, tuple) and (
        {*map(type, players)} <= {int} or all(isinstance(player, Integral) for player in players)
    )
    if not is_one or (players and players != (CHANCE,) and not 0 <= min(players) <= max(players) < spec.num_players):
        told = (
            f"expected active_players to be a tuple of players from 0 to {spec.num_players - 1}, the game gave "
            f"{players!r}"
        )
        raise UnlawfulGame(told, spec.name)


def actions_of(state: State, player: Player, game: str = "the game") -> list[Action]:
    """Returns the legal actions of an active player, or the outcomes of chance; at least one."""
    actions = read(state.legal_actions(player), _counts, "legal actions, integers of at least 0", game)
    if not actions:
        raise UnlawfulGame(f"expected a legal action for active player {player}, the game gave none", game)
    return actions


def legal_actions(spec: GameSpec, state: State, player: Player) -> list[Action]:
    """Returns the actions as `actions_of` does; raises UnlawfulGame for a player's action not below `num_actions`."""
    actions = actions_of(state, player, spec.name)
    if player != CHANCE and max(actions) >= spec.num_actions:
        told = f"expected legal actions of at least 0 and below {spec.num_actions}, got {actions}"
        raise UnlawfulGame(f"{told} of player {player} at ply {state.ply}", spec.name)
    return actions


def shares_of(state: State, num_outcomes: int) -> NDArray[np.float64]:
    """Returns the probabilities of chance outcomes, `[num_outcomes]`, normalised in double precision."""

    def shares(given: Any) -> NDArray[np.float64]:
        chances = np.asarray(given, dtype=np.float64)
        if chances.shape != (num_outcomes,) or not (chances >= 0).all() or abs(chances.sum() - 1) > _ROUNDED:
            raise ValueError
        # Their sum in float32 may be too far from one for sampling.
        return np.asarray(chances / chances.sum())

    return read(state.chances(), shares, f"the chances of {num_outcomes} outcomes, non-negative and summing to one")


def per_player(spec: GameSpec, what: str, given: Any) -> NDArray[Any]:
    """Returns one finite number per player, `[P]`; `what` names them in errors."""

    def numbers(given: Any) -> NDArray[Any]:
        found = np.asarray(given)
        # For so few numbers Python is faster than NumPy.
        if found.shape != (spec.num_players,) or found.dtype.hasobject or not all(map(isfinite, found.tolist())):
            raise ValueError
        return found

    return read(given, numbers, f"{what} of {spec.num_players} players, all finite numbers", spec.name)


def returns_of(spec: GameSpec, state: State) -> NDArray[Any]:
    """Returns the returns decided in a position, `[P]`, in [-1, 1] up to rounding."""
    returns = per_player(spec, "returns", state.returns())
    if np.abs(returns).max() > 1 + _NEAR:
        raise UnlawfulGame(f"expected returns in [-1, 1], the game gave {returns.tolist()}", spec.name)
    return returns


def check_final(spec: GameSpec, state: State) -> None:
    """Raises UnlawfulGame for invalid returns of a final position."""
    returns = returns_of(spec, state)
    if spec.utility_sum is not None and abs(float(returns.sum()) - spec.utility_sum) > _NEAR:
        told = f"expected final returns that sum to utility_sum, {spec.utility_sum:g}, the game gave {returns.tolist()}"
        raise UnlawfulGame(told, spec.name)


def packed(spec: GameSpec, text: Any) -> bytes:
    """Returns a position's text as bytes."""

    def encoded(text: Any) -> bytes:
        if not isinstance(text, str):
            raise TypeError
        return text.encode()

    return read(text, encoded, "a position written as text", spec.name)


def _count(given: Any) -> int:
    number = index(given)
    if number < 0:
        raise ValueError
    return number


def _counts(given: Any) -> list[int]:
    numbers = list(map(index, given))
    if numbers and min(numbers) < 0:
        raise ValueError
    return numbers
