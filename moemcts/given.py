"""What games give, read as what it has to be; what is something else breaks the laws of games."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from moemcts.errors import UnlawfulGame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from moemcts.game import Action, GameSpec, Player, State

T = TypeVar("T")

MOST_SHOWN = 100
"""Characters of what a game gave that an error shows."""
_NEAR = 1e-3
"""How far returns may be from what they have to be: some games compute in single precision."""
_ROUNDED = 1e-4
"""How far chances may be from summing to one, as in the core (`chance.rs`)."""
_CHANCE: Player = -1
"""`moemcts.game.CHANCE`, whose module reads by this one."""


def read(given: Any, into: Callable[[Any], T], wanted: str, game: str = "the game") -> T:
    """Returns what `into` makes of what a game gave; raises UnlawfulGame where it cannot."""
    try:
        return into(given)
    except (TypeError, ValueError, LookupError, OverflowError):
        raise unlawful(given, wanted, game) from None


def unlawful(given: Any, wanted: str, game: str = "the game") -> UnlawfulGame:
    """Returns the error for what a game gave and must not, on one line."""
    shown = " ".join(repr(given).split())[:MOST_SHOWN]
    return UnlawfulGame(f"expected {wanted}, the game gave {shown}", game)


def whole_key(key: int, game: str = "the game") -> int:
    """Returns a position's key from 0 on and below 2^64; of one below 0 the same 64 bits."""

    def whole(given: Any) -> int:
        number = index(given)
        if not -(2**63) <= number < 2**64:
            raise ValueError
        return number % 2**64

    return read(key, whole, "a key, a whole number of 64 bits", game)


def ply_of(spec: GameSpec, state: State) -> int:
    """Returns how many plies were played to a position."""
    return read(state.ply, _count, "a ply, a number from 0 on", spec.name)


def check_length(spec: GameSpec, state: State) -> None:
    """Raises UnlawfulGame for a position in which a game goes on that is as long as none may be."""
    if ply_of(spec, state) > spec.max_plies:
        raise UnlawfulGame(f"expected an end within max_plies, {spec.max_plies}, and it goes on", spec.name)


def check_players(spec: GameSpec, players: tuple[Player, ...]) -> None:
    """Raises UnlawfulGame for what does not say who moves; laws go further, see `moemcts check`."""
    is_one = isinstance(players, tuple) and all(isinstance(player, Integral) for player in players)
    if not is_one or (players and players != (_CHANCE,) and not 0 <= min(players) <= max(players) < spec.num_players):
        told = (
            f"expected active_players, a tuple of players from 0 to {spec.num_players - 1}, the game gave {players!r}"
        )
        raise UnlawfulGame(told, spec.name)


def actions_of(state: State, player: Player, game: str = "the game") -> list[Action]:
    """Returns the legal actions of a player that moves, or the outcomes of chance, one or more."""
    actions = read(state.legal_actions(player), _counts, "legal actions, numbers from 0 on", game)
    if not actions:
        raise UnlawfulGame(f"expected a legal action for active player {player}, the game gave none", game)
    return actions


def legal_actions(spec: GameSpec, state: State, player: Player) -> list[Action]:
    """Returns what `actions_of` does; raises UnlawfulGame for a player's action that the game does not have."""
    actions = actions_of(state, player, spec.name)
    if player != _CHANCE and max(actions) >= spec.num_actions:
        told = f"expected legal actions from 0 on and below {spec.num_actions}, got {actions}"
        raise UnlawfulGame(f"{told} of player {player} at ply {state.ply}", spec.name)
    return actions


def shares_of(state: State, num_outcomes: int) -> NDArray[np.float64]:
    """Returns the probabilities of so many outcomes of chance, `[num_outcomes]`, as near to one in sum as can be."""

    def shares(given: Any) -> NDArray[np.float64]:
        chances = np.asarray(given, dtype=np.float64)
        if chances.shape != (num_outcomes,) or not (chances >= 0).all() or abs(chances.sum() - 1) > _ROUNDED:
            raise ValueError
        # In float32 they need not sum to one closely enough to draw from.
        return np.asarray(chances / chances.sum())

    return read(state.chances(), shares, f"the chances of {num_outcomes} outcomes, from 0 and summing to one")


def per_player(spec: GameSpec, what: str, given: Any) -> NDArray[Any]:
    """Returns numbers that a game gave, `[P]`; `what` names them."""

    def numbers(given: Any) -> NDArray[Any]:
        found = np.asarray(given)
        if found.shape != (spec.num_players,) or not np.isfinite(found).all():
            raise ValueError
        return found

    return read(given, numbers, f"{what} of {spec.num_players} players, all numbers", spec.name)


def returns_of(spec: GameSpec, state: State) -> NDArray[Any]:
    """Returns what is decided in a position, `[P]`, in [-1, 1] as nearly as games compute."""
    returns = per_player(spec, "returns", state.returns())
    if np.abs(returns).max() > 1 + _NEAR:
        raise UnlawfulGame(f"expected returns in [-1, 1], the game gave {returns.tolist()}", spec.name)
    return returns


def check_final(spec: GameSpec, state: State) -> None:
    """Raises UnlawfulGame for an end that the game cannot have."""
    returns = returns_of(spec, state)
    if spec.utility_sum is not None and abs(float(returns.sum()) - spec.utility_sum) > _NEAR:
        told = f"expected final returns that sum to utility_sum, {spec.utility_sum:g}, the game gave {returns.tolist()}"
        raise UnlawfulGame(told, spec.name)


def packed(spec: GameSpec, text: Any) -> bytes:
    """Returns a position that was written as text in bytes."""

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
