"""The interface of games: rules, positions, and views of positions by players."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypeVar

from moemcts._core import PythonSearch
from moemcts.errors import UnlawfulGame, listed
from moemcts.ragged import gather_rows
from moemcts.validation import CHANCE as CHANCE
from moemcts.validation import actions_of, convert, encode_text, shares_of, unlawful_value
from moemcts.views import ViewList

Player = int
Action = int
JointAction = Sequence[Action]
FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

MAX_PLAYERS = 31
"""The largest number of players: the core stores a set of players and chance in 32 bits (`Players::MAX`)."""


@dataclass(frozen=True, kw_only=True)
class GameSpec:
    """Constants of a game that all parts of the framework use."""

    name: str
    num_players: int
    """1 to 31, `MAX_PLAYERS`."""
    num_actions: int
    """Actions of all players in all positions are indices below this number, which is the size of a policy."""
    observation_shape: tuple[int, ...]
    """Shape of a network's input: planes, rows, columns, or an array of any other rank."""
    max_plies: int
    """Upper bound of a game's length."""
    utility_sum: float | None = 0.0
    """Sum of the returns of a finished game; None if it differs from game to game.

    If it is a number, rewards sum to zero; with a discount it must be 0 or None.
    """
    discount: float = 1.0
    """Factor of a position's value one step earlier, in (0, 1]; a step into a chance node is not discounted. In
    datasets, the value of a player whose return is decided is not discounted any further."""
    teams: tuple[tuple[Player, ...], ...] = ()
    """Players who win and lose together: members of a team always have the same returns. Empty if each plays alone."""
    score_unit: float = 1.0
    """A value of 1 in units of the game's own score, for display: rewards and returns are scores divided by it."""
    plane_names: tuple[str, ...] = ()
    """What each plane shows, for display; may be empty."""
    rows_upward: bool = False
    """Whether row 0 of the planes is at the bottom of a drawn board, as in games with a first rank."""
    policy_planes: int = 0
    """Number of policy planes that networks output if actions are cells of planes over the board of the observations,
    `action = (plane * rows + row) * columns + column`; 0 for other actions."""

    def __post_init__(self) -> None:
        sizes = {"num_players": self.num_players, "num_actions": self.num_actions, "max_plies": self.max_plies}
        for name, size in sizes.items():
            if not isinstance(size, Integral) or size < 1:
                raise ValueError(f"expected {name} to be at least 1, got {size!r}")
        if self.num_players > MAX_PLAYERS:
            raise ValueError(f"expected num_players to be at most {MAX_PLAYERS}, got {self.num_players!r}")
        shape = self.observation_shape
        if not isinstance(shape, tuple) or not shape or not all(isinstance(n, Integral) and n > 0 for n in shape):
            raise ValueError(f"expected observation_shape to be a tuple of sizes of at least 1, got {shape!r}")
        if not 0 < self.discount <= 1:
            raise ValueError(f"expected discount to be in (0, 1], got {self.discount!r}")
        if self.discount < 1 and self.utility_sum not in (0, None):
            raise ValueError(f"expected utility_sum to be 0 or None with a discount below 1, got {self.utility_sum!r}")
        if not 0 < self.score_unit < float("inf"):
            raise ValueError(f"expected score_unit to be above 0 and finite, got {self.score_unit!r}")
        if self.teams and sorted(player for team in self.teams for player in team) != list(range(self.num_players)):
            raise ValueError(f"expected each of the {self.num_players} players in exactly one team, got {self.teams!r}")

    @property
    def plane_shape(self) -> tuple[int, int, int]:
        """Planes, rows and columns of an observation; n numbers of any other shape are n planes of one cell."""
        shape = self.observation_shape
        return (shape[0], shape[1], shape[2]) if len(shape) == 3 else (math.prod(shape), 1, 1)

    @property
    def plane_labels(self) -> tuple[str, ...]:
        """The names of the planes; `plane <i>` if there are none."""
        return self.plane_names or tuple(f"plane {i}" for i in range(self.plane_shape[0]))

    @property
    def sides(self) -> tuple[tuple[Player, ...], ...]:
        """The opposing sides: the teams, or else every player alone."""
        return self.teams or tuple((player,) for player in range(self.num_players))


class State(ABC):
    """A position, an immutable value.

    Positions written in Python inherit from this class; native ones are registered with it by `moemcts.native`. The
    value of a position for a player consists of `rewards` along the way and of `returns` at the end: `v(parent) =
    rewards(child) + discount * v(child)`, `v(end) = returns()`, both scaled such that values stay in [-1, 1].
    """

    __slots__ = ()

    @property
    @abstractmethod
    def ply(self) -> int:
        """The number of moves (or simultaneous steps, or chance draws) since the start of the game."""

    @property
    @abstractmethod
    def active_players(self) -> tuple[Player, ...]:
        """The players to move, ascending; empty exactly if the game is over, `(CHANCE,)` at a chance node."""

    @abstractmethod
    def legal_actions(self, player: Player) -> Sequence[Action]:
        """Returns the legal actions of an active player, ascending; for `CHANCE`, the outcomes."""

    def search_actions(self, player: Player) -> Sequence[Action]:
        """Returns the legal actions worth searching, a non-empty subset, ascending."""
        return self.legal_actions(player)

    def chances(self) -> FloatArray:
        """Returns the probabilities of `legal_actions(CHANCE)`, summing to one; raises ValueError at other nodes."""
        if self.active_players == (CHANCE,):
            raise ValueError(f"expected {type(self).__name__} to define chances(), as chance moves in this position")
        raise ValueError("expected a position in which chance moves")

    @abstractmethod
    def play(self, actions: JointAction) -> Self:
        """Returns the position after one action per active player, in ascending order of players."""

    def rewards(self) -> FloatArray:
        """Returns the reward of each player for the step into this position, `[P]`."""
        return np.zeros_like(self.returns())

    @abstractmethod
    def returns(self) -> FloatArray:
        """Returns the returns decided so far, `[P]` in [-1, 1]; 0 for players whose return is not decided."""

    def is_decided(self, player: Player) -> bool:
        """Returns whether the return of `player` is final: it is never active again and gets no more rewards."""
        if not self.active_players:
            return True
        return convert(self.returns(), lambda returns: bool(returns[player] != 0), "returns, one number per player")

    @abstractmethod
    def observation(self, player: Player) -> FloatArray:
        """Returns the network input for `player`, of shape `GameSpec.observation_shape`.

        It is called for every player in every position, including players who are not to move, chance nodes and final
        positions.
        """

    @abstractmethod
    def key(self) -> int:
        """Returns a 64-bit hash of everything that the rest of the game depends on."""

    def position_key(self) -> int:
        """Returns a 64-bit hash of the position without its history, by which openings are told apart.

        Defaults to `key`; differs in games whose key includes the history, as rules about repetitions require.
        """
        return self.key()


def discounts(before: State, after: State, discount: float, num_players: int) -> NDArray[np.float64]:
    """Returns the discount factor of each player's value over a step, `[P]`.

    It is 1 for players decided before the step, and for all players if the step leads to a chance node: the draw is
    part of that step.
    """
    if discount == 1 or after.active_players == (CHANCE,):
        return np.ones(num_players)
    return np.array([1.0 if before.is_decided(player) else discount for player in range(num_players)])


NO_REWARDS = State.rewards
"""The method of states without rewards; the native search calls `rewards` only where it is overridden."""

S = TypeVar("S", bound=State, default=Any)
F = TypeVar("F", bound=np.floating[Any])


def first_state(game: Game[S], seed: int = 0) -> S:
    """Returns the start position for a seed; raises UnlawfulGame if it is not a `State`."""
    return lawful_state(game.initial_state(seed), game.spec)


def lawful_state(state: S, spec: GameSpec) -> S:
    """Returns a position that a game returned; raises UnlawfulGame if it is not a `State`."""
    if not isinstance(state, State):
        raise unlawful_value(state, "a position derived from moemcts.State", spec.name)
    return state


def after_step(spec: GameSpec, state: S, joint: JointAction) -> S:
    """Returns the position after a step; raises UnlawfulGame if the game returns anything else, or `state` itself."""
    after: S = state.play(joint)
    if after is state:
        raise UnlawfulGame(
            "expected play to return a new position and to leave its own unchanged, the game gave its own",
            spec.name,
        )
    # The type of the previous position was checked already.
    return after if type(after) is type(state) else lawful_state(after, spec)


def random_action(state: State, player: Player, rng: np.random.Generator) -> Action:
    """Returns a legal action of a player, uniformly at random; for chance, an outcome by its probability."""
    actions = actions_of(state, player)
    if player == CHANCE:
        return int(rng.choice(actions, p=shares_of(state, len(actions))))
    return any_of(actions, rng)


def any_of(actions: Sequence[Action] | IntArray, rng: np.random.Generator) -> Action:
    """Returns one of the actions, `[n]`, drawn uniformly."""
    # Draws the same action as `rng.choice(actions)`, in a third of the time.
    return int(actions[int(rng.integers(len(actions)))])


class View(NamedTuple):
    """A position from the point of view of one player: the unit that is gated, evaluated, stored and learned from."""

    state: Any
    player: Player


class Views(Protocol):
    """A batch of N views of one game. If N is 0, other axes of its arrays may be of length 0, too."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int) -> View: ...

    if TYPE_CHECKING:
        # Python iterates over anything with __getitem__; native views have no __iter__.
        def __iter__(self) -> Iterator[View]: ...

    def take(self, rows: Sequence[int] | IntArray) -> Self:
        """Returns the views of the given rows, in that order."""

    def observations(self) -> FloatArray:
        """Returns the observation of every view, `[N, *observation_shape]`."""

    def players(self) -> IntArray:
        """Returns the viewing players, `[N]`."""

    def plies(self) -> IntArray:
        """Returns the ply of each view's position, `[N]`."""

    def legal_mask(self) -> BoolArray:
        """Returns which actions are legal for the viewing player, `[N, A]`; none if it is not active."""


def seats_from(players: IntArray, num_players: int) -> IntArray:
    """Returns the players `k` seats after each of `players`, `[N, num_players]`."""
    return (players.astype(np.int64, copy=False)[:, None] + np.arange(num_players)) % num_players


def from_own_seats(table: NDArray[F], players: IntArray) -> NDArray[F]:
    """Rotates a table `[N, P]` by player such that column `k` is for the player `k` seats after the row's own."""
    return np.take_along_axis(table, seats_from(players, table.shape[1]), axis=1)


@dataclass(frozen=True)
class Packed:
    """Positions as bytes: row `i` is `data[offsets[i]:offsets[i + 1]]`."""

    data: NDArray[np.uint8]
    offsets: IntArray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, rows: IntArray) -> Packed:
        """Returns the given rows, in that order."""
        offsets, index = gather_rows(self.offsets, rows)
        return Packed(self.data[index], offsets)

    @classmethod
    def of(cls, rows: Sequence[bytes]) -> Packed:
        """Returns the given rows, concatenated."""
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(rows), dtype=np.uint8), offsets)


class Start(NamedTuple):
    """One entry of a file of openings: a start position, or the reason why it is not one."""

    place: str
    """Where it is in the file: `line 12`, `game 3`."""
    state: State | None
    name: str = ""
    fault: str = ""


@dataclass(frozen=True)
class Symmetry:
    """A relabelling of a game that preserves its rules, for data augmentation."""

    name: str
    planes: Callable[[FloatArray], FloatArray]
    """Maps observations `[N, *observation_shape]` to those of the transformed positions."""
    actions: IntArray
    """`actions[a]` is the action that `a` maps to, `[A]`."""


class Game(ABC, Generic[S]):
    """The rules of one game, whose positions are of type `S`.

    Laws, asserted by `moemcts.testing.check_game`:

    - every active player has legal actions: ascending indices below `num_actions`, all of which can be played;
    - observations, returns and rewards are finite numbers, as float32, in arrays that are not written to afterwards;
    - `play` and all other methods of a state leave it unchanged and always return the same;
    - a game starts with a player to move, for any seed below 2^63, and equal seeds give equal games;
    - chance moves alone, and its chances are a distribution over its outcomes;
    - the return of a decided player is final, and that player is never active again and gets no more rewards;
    - the returns of a finished game lie in [-1, 1] and sum to `utility_sum`; rewards are finite, and the sum of future
      rewards and returns lies in [-1, 1]; members of a team get the same;
    - `parse(format(x))` restores states and actions, and `unpack(pack(x))` restores states; actions are written on one
      line without surrounding blanks; unreadable text raises ValueError;
    - positions that differ in the active players, in legal actions or in the observations of active players differ in
      `key`, which is the same in every process;
    - in a determinization the player is active, with the same legal actions and the same observation;
    - symmetries permute actions, and if a symmetry leaves the observation of the start unchanged, it maps games to
      games: legal actions to legal actions, and observations to those of the resulting positions, in which the same
      players move, get rewards and win.
    """

    spec: GameSpec

    @abstractmethod
    def initial_state(self, seed: int = 0) -> S:
        """Returns a start position, with a player to move; the seed determines everything that is random about it."""

    @abstractmethod
    def parse_state(self, text: str) -> S:
        """Returns the position written as `text`; raises ValueError that says what was expected."""

    @abstractmethod
    def format_state(self, state: S) -> str:
        """Returns the position as one line of text, the inverse of `parse_state`."""

    def read_starts(self, path: Path, *, plies: int | None = None) -> Iterator[Start] | None:
        """Yields the openings in a file of a format that is common for the game; None if the file is in no such format.

        `plies` truncates lines of moves. Raises OSError or UnicodeDecodeError if the file cannot be read.
        """
        return None

    def parse_action(self, state: S, player: Player, text: str) -> Action:
        """Returns the action written as `text`; raises ValueError that names legal ones."""
        names = {self.format_action(state, player, action): action for action in state.legal_actions(player)}
        if text not in names:
            raise ValueError(f"expected one of {listed(list(names))}, got {text!r}")
        return names[text]

    def format_action(self, state: S, player: Player, action: Action) -> str:
        """Returns an action in the game's usual notation; for `CHANCE`, an outcome."""
        return str(action)

    def render(self, state: S) -> str:
        """Returns the position drawn as text, for humans."""
        return self.format_state(state)

    def symmetries(self) -> Sequence[Symmetry]:
        """Returns all symmetries except the identity."""
        return ()

    def determinize(self, state: S, player: Player, seed: int = 0) -> S:
        """Returns a determinization for `player`: a position that it cannot tell from the true one.

        Its searches start there. The player is active in it, with the same legal actions and the same observation. In
        games of perfect information it is the position itself; elsewhere, what is hidden is drawn by `seed`.
        """
        return state

    def views(self, pairs: Sequence[tuple[S, Player]]) -> Views:
        """Returns the views as one batch; may raise ValueError for positions that are not of this game."""
        return ViewList(self.spec, [View(state, player) for state, player in pairs])

    def pack(self, states: Sequence[S]) -> Packed:
        """Returns the positions as bytes, compact enough for millions of them."""
        return Packed.of([encode_text(self.spec, self.format_state(state)) for state in states])

    def unpack(self, packed: Packed, players: IntArray) -> Views:
        """Returns views of packed positions for `players`, `[N]`."""
        rows = [bytes(packed.data[a:b]).decode() for a, b in zip(packed.offsets, packed.offsets[1:], strict=False)]
        return self.views([(self.parse_state(row), int(player)) for row, player in zip(rows, players, strict=True)])

    def search_type(self) -> Any:
        """Returns the native search class for this game's states; games written in Python share one."""
        return PythonSearch


def determinize_views(game: Game[Any], views: Views, seeds: Sequence[int]) -> Views:
    """Returns the views with their positions determinized, each by its own seed; `seeds` `[N]`."""
    return game.views(
        [(game.determinize(state, player, seed), player) for (state, player), seed in zip(views, seeds, strict=True)]
    )
