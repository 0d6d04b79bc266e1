"""The public interface of the native core, for games and plugins.

A game with native positions takes its classes from `core`, which has type stubs; only the framework imports the
compiled module itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from moemcts import _core as core
from moemcts.errors import UnlawfulGame
from moemcts.game import FloatArray, GameSpec, IntArray, State, Views
from moemcts.validation import unsigned_key

__all__ = [
    "Arms",
    "Ends",
    "Identities",
    "Lawful",
    "NativeViews",
    "ObservationBuffer",
    "RollsOut",
    "are_native",
    "can_roll_out",
    "core",
    "identities",
    "playout_search",
    "playouts",
]

for _state in core.STATE_TYPES:
    State.register(_state)

Arms = tuple[IntArray, IntArray, NDArray[np.float64]]
"""Actions, visits and sums of values at one root."""


@runtime_checkable
class NativeViews(Views, Protocol):
    """Views that play random games and encode themselves without the Python interpreter."""

    def observations(self, out: FloatArray | None = None) -> FloatArray:
        """Returns the observations as `Views` does: in the first rows of `out`, which has their row shape and type."""

    def keys(self) -> NDArray[np.uint64]:
        """Returns the key of each view's position, `[N]`."""

    def playouts(self, num: int, seed: int, *, discount: float = 1.0) -> FloatArray: ...

    def playout_search(
        self,
        seeds: Sequence[int],
        *,
        playouts: int | None = None,
        seconds: float | None = None,
        exploration: float | None = None,
        depth: int | None = None,
        discount: float = 1.0,
    ) -> list[Arms]: ...


class Ends(NamedTuple):
    """End points of rollouts from N views."""

    views: Views
    paid: FloatArray
    """Sum of rewards on the way, plus the returns of players with nothing left to evaluate, `[N, P]`."""
    scales: FloatArray
    """Discount of each player's value at the end point, `[N, P]`; 0 if nothing is left to evaluate."""


@runtime_checkable
class RollsOut(Views, Protocol):
    """Views that native agents can continue to play without the Python interpreter."""

    def roll_out(
        self, plies: int, agents: Sequence[Any], seed: int, *, discount: float = 1.0
    ) -> tuple[Views, FloatArray, FloatArray]:
        """Plays this many plies and on until the viewing player moves, with one agent per player; returns `Ends`.

        None as an agent plays at random. A row depends only on its position, its player and the seed.
        """


def are_native(views: Views) -> TypeGuard[NativeViews]:
    """Returns whether views can be encoded and played out natively."""
    return _has_methods_of(type(views), NativeViews)


def can_roll_out(views: Views) -> TypeGuard[RollsOut]:
    """Returns whether views can be played on natively by native agents."""
    return _has_methods_of(type(views), RollsOut)


class Lawful:
    """A context that adds the game's name to an UnlawfulGame raised by the core, which does not know it."""

    def __init__(self, spec: GameSpec) -> None:
        self._game = spec.name

    def __enter__(self) -> None:
        """Does nothing on entry."""

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        if isinstance(error, UnlawfulGame):
            raise UnlawfulGame(error.reason, self._game) from None


@cache
def _has_methods_of(kind: type, protocol: type) -> bool:
    # Cached, as the check takes as long as a small batch.
    return issubclass(kind, protocol)


class ObservationBuffer:
    """A reusable buffer for the observations of successive batches.

    Allocating memory for every batch costs as much as encoding it. A result is valid until the next call. Intended for
    loops that encode positions in one thread. Evaluators of networks do not use it: several threads may call one,
    copies would share or carry the buffer, and a network takes far longer than an allocation.
    """

    def __init__(self) -> None:
        self._room: FloatArray | None = None

    def observations(self, views: Views) -> FloatArray:
        """Returns the observation of every view, `[N, *observation_shape]`, as `views.observations()` does."""
        if self._room is not None and len(self._room) >= len(views) and are_native(views):
            return views.observations(self._room)
        self._room = views.observations()
        return self._room


Identities = tuple[NDArray[np.uint64], IntArray, IntArray]
"""Cache keys of views: keys of their positions, their plies, the viewing players, `[N]` each."""


def identities(views: Views) -> Identities:
    """Returns the identity of each view, including the ply, since gates may depend on it."""
    if are_native(views):
        return views.keys(), views.plies(), views.players()
    return np.array([unsigned_key(state.key()) for state, _ in views], np.uint64), views.plies(), views.players()


def playouts(views: Views, spec: GameSpec, num: int, seed: int) -> FloatArray:
    """Returns the mean returns of `num` random playouts from each view, by player, `[N, P]`.

    A row depends only on its position, its player and the seed. Rewards on the way and the discount are included.
    """
    if are_native(views):
        return views.playouts(num, seed, discount=spec.discount)
    with Lawful(spec):
        return core.python_playouts(views, spec.num_players, spec.max_plies, num, seed, discount=spec.discount)


def playout_search(
    views: Views,
    spec: GameSpec,
    seeds: Sequence[int],
    *,
    playouts: int | None = None,
    seconds: float | None = None,
    exploration: float | None = None,
    depth: int | None = None,
) -> list[Arms]:
    """Returns actions, visits and sums of values of each view's root, searched by random playouts.

    Limits are per view. `exploration` is UCB1's constant, None for equally many playouts of each action; `depth` is the
    number of plies for which statistics are kept, None for all: 1 is a flat search, None with a constant is UCT.
    """
    if are_native(views):
        return views.playout_search(
            seeds, playouts=playouts, seconds=seconds, exploration=exploration, depth=depth, discount=spec.discount
        )
    with Lawful(spec):
        return core.python_playout_search(
            views,
            spec.num_players,
            spec.max_plies,
            seeds,
            playouts=playouts,
            seconds=seconds,
            exploration=exploration,
            depth=depth,
            discount=spec.discount,
        )
