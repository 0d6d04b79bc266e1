"""The vocabulary of games: what a game is, what a position is, and how a player looks at it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Player = int
Action = int
JointAction = Sequence[Action]
FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class GameSpec:
    """The numbers that every part of the framework needs of a game."""

    name: str
    num_players: int
    num_actions: int
    """Actions of all players in all positions are indices below this number, the size of a policy."""
    observation_shape: tuple[int, int, int]
    """Planes, rows, columns."""
    max_plies: int
    """No game is longer than this."""
    utility_sum: float | None = 0.0
    """What the returns of a finished game sum to; None if that differs from game to game."""
    plane_names: tuple[str, ...] = ()
    """What each plane shows, for people; empty where the game does not say."""
    rows_upward: bool = False
    """Whether row 0 of the planes is the lowest of a drawn board, as in games with a first rank."""
    policy_planes: int = 0
    """Where actions are the cells of so many planes, `action = (plane * rows + row) * columns + column` on the board of
    the observations, networks end in such planes; 0 where actions are of another kind."""


@runtime_checkable
class State(Protocol):
    """A position: a value that nothing changes.

    Native and Python-written states look the same. A Python-written one may inherit from this class to get
    `search_actions`.
    """

    @property
    def ply(self) -> int:
        """How many moves (or simultaneous steps) were played since the start of the game."""

    @property
    def active_players(self) -> tuple[Player, ...]:
        """Who moves now, ascending; empty exactly when the game is over."""

    def legal_actions(self, player: Player) -> Sequence[Action]:
        """Returns the legal actions of an active player, ascending."""

    def search_actions(self, player: Player) -> Sequence[Action]:
        """Returns the legal actions worth searching, a non-empty part of the legal ones, ascending."""
        return self.legal_actions(player)

    def play(self, actions: JointAction) -> Self:
        """Returns the position after one action per active player, in ascending order of players."""

    def returns(self) -> FloatArray:
        """Returns what is decided so far, `[P]` in [-1, 1]; 0 for whom nothing is decided."""

    def observation(self, player: Player) -> FloatArray:
        """Returns the planes `[C, H, W]` that a network sees when it plays for `player`."""

    def key(self) -> int:
        """Returns 64 bits over all that the rest of the game depends on."""


class View(NamedTuple):
    """A position through the eyes of one player: the unit that is gated, evaluated, stored and learned from."""

    state: Any
    player: Player


class Views(Protocol):
    """N views of one game, encoded together."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int) -> View: ...

    def take(self, rows: Sequence[int] | IntArray) -> Self:
        """Returns the views of the given rows, in that order."""

    def observations(self) -> FloatArray:
        """Returns the planes of every view, `[N, C, H, W]`."""

    def players(self) -> IntArray:
        """Returns whose view each row is, `[N]`."""

    def plies(self) -> IntArray:
        """Returns the ply of each view's position, `[N]`."""

    def legal_mask(self) -> BoolArray:
        """Returns which actions are legal for the viewing player, `[N, A]`; no action where it is not active."""

    def playouts(self, num: int, seed: int) -> FloatArray:
        """Returns the mean returns of `num` random playouts from each view, by player, `[N, P]`.

        A row depends on its position, its player and the seed.
        """

    def playout_search(
        self,
        seeds: Sequence[int],
        *,
        playouts: int | None = None,
        seconds: float | None = None,
        exploration: float | None = None,
        depth: int | None = None,
    ) -> Sequence[tuple[IntArray, IntArray, NDArray[np.float64]]]:
        """Returns actions, visits and sums of values of each view, searched by random playouts.

        Limits are per view. `exploration` is UCB1's constant, None for equally many playouts of each action; `depth`
        is how many plies keep statistics, None for all: 1 is a flat search, None with a constant is UCT.
        """


@dataclass(frozen=True)
class Packed:
    """Positions as bytes: row `i` is `data[offsets[i]:offsets[i + 1]]`."""

    data: NDArray[np.uint8]
    offsets: IntArray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, rows: IntArray) -> Packed:
        """Returns the given rows, in that order."""
        starts, lengths = self.offsets[rows], self.offsets[rows + 1] - self.offsets[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        index = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - starts, lengths)
        return Packed(self.data[index], offsets)

    @classmethod
    def of(cls, rows: Sequence[bytes]) -> Packed:
        """Returns the rows one behind the other."""
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(rows), dtype=np.uint8), offsets)


class Start(NamedTuple):
    """An entry of a file of openings: a start position, or why it is none."""

    place: str
    """Where in the file it is: `line 12`, `game 3`."""
    state: State | None
    name: str = ""
    fault: str = ""


@dataclass(frozen=True)
class Symmetry:
    """A relabelling of a game that leaves its rules as they are, for augmentation."""

    name: str
    planes: Callable[[FloatArray], FloatArray]
    """Maps observations `[N, C, H, W]` to those of the transformed positions."""
    actions: IntArray
    """`actions[a]` is the action that `a` becomes, `[A]`."""


class Game(ABC):
    """The rules of one game.

    Laws, asserted by `moemcts.testing.check_game`:

    - every active player has a legal action, and legal actions are ascending indices below `num_actions`;
    - `play` and all other methods of a state change nothing on it;
    - a return that is not zero before the end of the game is final, and its player is never active again;
    - the returns of a finished game lie in [-1, 1] and sum to `utility_sum`;
    - equal seeds give equal games;
    - states and actions survive `parse(format(x))`, and states survive `unpack(pack(x))`;
    - positions that differ in legal actions or observations differ in `key`;
    - symmetries permute actions, and where the start looks the same to a symmetry, it maps games to games: legal
      actions to legal ones, observations to those of the positions reached.
    """

    spec: GameSpec

    @abstractmethod
    def initial_state(self, seed: int = 0) -> State:
        """Returns a start position; the seed decides everything that is random about it."""

    @abstractmethod
    def parse_state(self, text: str) -> State:
        """Returns the position written as `text`; raises ValueError saying what was expected."""

    @abstractmethod
    def format_state(self, state: State) -> str:
        """Returns one line that `parse_state` reads back."""

    def read_starts(self, path: Path, *, plies: int | None = None) -> Iterator[Start] | None:
        """Yields the openings in a file of a format that the game's players use; None where the file is of no such.

        `plies` cuts lines of moves short. Raises OSError or UnicodeDecodeError where the file cannot be read.
        """
        return None

    def parse_action(self, state: State, player: Player, text: str) -> Action:
        """Returns the action written as `text`; raises ValueError naming the legal ones."""
        names = {self.format_action(state, player, action): action for action in state.legal_actions(player)}
        if text not in names:
            raise ValueError(f"expected one of {', '.join(names)}, got {text!r}")
        return names[text]

    def format_action(self, state: State, player: Player, action: Action) -> str:
        """Returns the action as the game's players write it."""
        return str(action)

    def render(self, state: State) -> str:
        """Returns the position drawn as text, for people."""
        return self.format_state(state)

    def symmetries(self) -> Sequence[Symmetry]:
        """Returns all symmetries but the identity."""
        return ()

    def perceived(self, state: State, player: Player, seed: int = 0) -> State:
        """Returns a position as `player` may believe it to be, in which its search is rooted.

        With perfect information that is the position itself.
        """
        return state

    def views(self, pairs: Sequence[tuple[State, Player]]) -> Views:
        """Returns the views as one batch."""
        return ViewList(self.spec, pairs)

    def pack(self, states: Sequence[State]) -> Packed:
        """Returns the positions as bytes, small enough for millions of them."""
        return Packed.of([self.format_state(state).encode() for state in states])

    def unpack(self, packed: Packed, players: IntArray) -> Views:
        """Returns views of packed positions through the eyes of `players`, `[N]`."""
        rows = [bytes(packed.data[a:b]).decode() for a, b in zip(packed.offsets, packed.offsets[1:], strict=False)]
        return self.views([(self.parse_state(row), int(player)) for row, player in zip(rows, players, strict=True)])

    def search_type(self) -> Any:
        """Returns the native search class for this game's states; games written in Python share one."""
        from moemcts._core import PythonSearch

        return PythonSearch


class ViewList:
    """Views of a game whose states are Python objects."""

    def __init__(self, spec: GameSpec, pairs: Sequence[tuple[State, Player]]) -> None:
        self._spec = spec
        self._views = [View(state, player) for state, player in pairs]

    def __len__(self) -> int:
        return len(self._views)

    def __getitem__(self, row: int) -> View:
        return self._views[row]

    def __iter__(self) -> Iterator[View]:
        return iter(self._views)

    def take(self, rows: Sequence[int] | IntArray) -> ViewList:
        return ViewList(self._spec, [self._views[int(row)] for row in rows])

    def observations(self) -> FloatArray:
        planes = np.empty((len(self._views), *self._spec.observation_shape), dtype=np.float32)
        for row, (state, player) in enumerate(self._views):
            planes[row] = state.observation(player)
        return planes

    def players(self) -> IntArray:
        return np.array([player for _, player in self._views], dtype=np.int64)

    def plies(self) -> IntArray:
        return np.array([state.ply for state, _ in self._views], dtype=np.int64)

    def legal_mask(self) -> BoolArray:
        mask = np.zeros((len(self._views), self._spec.num_actions), dtype=np.bool_)
        for row, (state, player) in enumerate(self._views):
            if player in state.active_players:
                mask[row, list(state.legal_actions(player))] = True
        return mask

    def playouts(self, num: int, seed: int) -> FloatArray:
        from moemcts._core import python_playouts

        means: FloatArray = python_playouts(self._views, self._spec.num_players, num, seed)
        return means

    def playout_search(
        self,
        seeds: Sequence[int],
        *,
        playouts: int | None = None,
        seconds: float | None = None,
        exploration: float | None = None,
        depth: int | None = None,
    ) -> Sequence[tuple[IntArray, IntArray, NDArray[np.float64]]]:
        from moemcts._core import python_playout_search

        options = {"playouts": playouts, "seconds": seconds, "exploration": exploration, "depth": depth}
        arms: Sequence[tuple[IntArray, IntArray, NDArray[np.float64]]] = python_playout_search(
            self._views, self._spec.num_players, seeds, **options
        )
        return arms
