"""The public face of the native core: what games and plugins take from it.

A game with native positions takes its own classes from `core`, which is typed; nothing outside the framework imports
the compiled module itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from moemcts import _core as core
from moemcts.errors import UnlawfulGame
from moemcts.game import FloatArray, GameSpec, IntArray, State, Views
from moemcts.given import whole_key

__all__ = [
    "Arms",
    "Ends",
    "Identities",
    "NativeViews",
    "ObservationBuffer",
    "RollsOut",
    "are_native",
    "can_roll_out",
    "core",
    "identities",
    "lawful",
    "playout_search",
    "playouts",
]

for _state in core.STATE_TYPES:
    State.register(_state)

Arms = tuple[IntArray, IntArray, NDArray[np.float64]]
"""Actions, visits and sums of values of one root."""


@runtime_checkable
class NativeViews(Views, Protocol):
    """Views that play random games and encode themselves without the interpreter."""

    def observations(self, out: FloatArray | None = None) -> FloatArray:
        """Returns the observations as `Views` do: in the first rows of `out`, which has their shape and type."""

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
    """Where rollouts from N views led."""

    views: Views
    paid: FloatArray
    """What each player was paid on the way, and for whom nothing is left to be valued what is decided, `[N, P]`."""
    scales: FloatArray
    """What each player's value at the end is worth at the beginning, `[N, P]`; 0 where nothing is left to be valued."""


@runtime_checkable
class RollsOut(Views, Protocol):
    """Views that are played on by native agents without the interpreter."""

    def roll_out(
        self, plies: int, agents: Sequence[Any], seed: int, *, discount: float = 1.0
    ) -> tuple[Views, FloatArray, FloatArray]:
        """Plays on for so many plies, and to where the viewing player moves, by one agent per player; returns `Ends`.

        None plays at random. A row depends on its position, its player and the seed.
        """


def are_native(views: Views) -> TypeGuard[NativeViews]:
    """Returns whether views encode themselves and play random games natively."""
    return _has_methods_of(type(views), NativeViews)


def can_roll_out(views: Views) -> TypeGuard[RollsOut]:
    """Returns whether views are played on natively by native agents."""
    return _has_methods_of(type(views), RollsOut)


@contextmanager
def lawful(spec: GameSpec) -> Iterator[None]:
    """Names the game where the core raises UnlawfulGame: it knows the games' values, not their names."""
    try:
        yield
    except UnlawfulGame as error:
        raise UnlawfulGame(error.reason, spec.name) from None


@cache
def _has_methods_of(kind: type, protocol: type) -> bool:
    # Remembered: to find out takes as long as a small batch.
    return issubclass(kind, protocol)


class ObservationBuffer:
    """Memory that the observations of one batch after the other are written into.

    Fresh memory for every batch costs as much as the planes in it. What a call returns holds until the next one. It is
    for who encodes positions in a loop of one thread. Evaluators of networks do without: several threads may ask one of
    them, copies of them would share or carry the room, and a network takes far longer than its memory.
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
"""What tells views from others: the keys of their positions, their plies, the viewing players, `[N]` each."""


def identities(views: Views) -> Identities:
    """Returns the identity of each view; a position may come up at several plies, which gates may tell apart."""
    if are_native(views):
        return views.keys(), views.plies(), views.players()
    return np.array([whole_key(state.key()) for state, _ in views], np.uint64), views.plies(), views.players()


def playouts(views: Views, spec: GameSpec, num: int, seed: int) -> FloatArray:
    """Returns the mean returns of `num` random playouts from each view, by player, `[N, P]`.

    A row depends on its position, its player and the seed. Rewards on the way and the discount count.
    """
    if are_native(views):
        return views.playouts(num, seed, discount=spec.discount)
    with lawful(spec):
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
    """Returns actions, visits and sums of values of each view, searched by random playouts.

    Limits are per view. `exploration` is UCB1's constant, None for equally many playouts of each action; `depth` is how
    many plies keep statistics, None for all: 1 is a flat search, None with a constant is UCT.
    """
    if are_native(views):
        return views.playout_search(
            seeds, playouts=playouts, seconds=seconds, exploration=exploration, depth=depth, discount=spec.discount
        )
    with lawful(spec):
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
