"""The vocabulary of games: what a game is, what a position is, and how a player looks at it."""

from __future__ import annotations

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
from moemcts.errors import listed
from moemcts.given import actions_of, packed, read, shares_of, unlawful
from moemcts.ragged import gathered
from moemcts.views import ViewList

Player = int
Action = int
JointAction = Sequence[Action]
FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

CHANCE: Player = -1
"""Who moves where dice are rolled or cards are drawn: a player that draws, and is never counted in `num_players`."""
MOST_PLAYERS = 31
"""Players of a game at most: the core holds a set of them, and of chance, in 32 bits (`Players::MAX`)."""


@dataclass(frozen=True, kw_only=True)
class GameSpec:
    """The numbers that every part of the framework needs of a game."""

    name: str
    num_players: int
    """1 to 31, `MOST_PLAYERS`."""
    num_actions: int
    """Actions of all players in all positions are indices below this number, the size of a policy."""
    observation_shape: tuple[int, ...]
    """What a network sees of a position: planes, rows, columns, or an array of any other rank."""
    max_plies: int
    """No game is longer than this."""
    utility_sum: float | None = 0.0
    """What the returns of a finished game sum to; None if that differs from game to game.

    With a number, rewards sum to zero; with a discount, it is 0 or None.
    """
    discount: float = 1.0
    """What a position's value is worth one step before, in (0, 1]; the step into a chance node is not discounted. What
    datasets hold of a player whose return is decided is not discounted any further."""
    teams: tuple[tuple[Player, ...], ...] = ()
    """Who wins and loses together: the players of a team always have the same returns. Empty where each plays alone."""
    score_unit: float = 1.0
    """What a value of 1 is in the game's own score, for people: rewards and returns are scores divided by it."""
    plane_names: tuple[str, ...] = ()
    """What each plane shows, for people; empty where the game does not say."""
    rows_upward: bool = False
    """Whether row 0 of the planes is the lowest of a drawn board, as in games with a first rank."""
    policy_planes: int = 0
    """Where actions are the cells of so many planes, `action = (plane * rows + row) * columns + column` on the board of
    the observations, networks end in such planes; 0 where actions are of another kind."""

    def __post_init__(self) -> None:
        sizes = {"num_players": self.num_players, "num_actions": self.num_actions, "max_plies": self.max_plies}
        for name, size in sizes.items():
            if not isinstance(size, Integral) or size < 1:
                raise ValueError(f"expected a {name} of 1 or more, got {size!r}")
        if self.num_players > MOST_PLAYERS:
            raise ValueError(f"expected a num_players of {MOST_PLAYERS} or fewer, got {self.num_players!r}")
        shape = self.observation_shape
        if not isinstance(shape, tuple) or not shape or not all(isinstance(n, Integral) and n > 0 for n in shape):
            raise ValueError(f"expected an observation_shape of sizes of 1 or more, as a tuple, got {shape!r}")
        if not 0 < self.discount <= 1:
            raise ValueError(f"expected a discount in (0, 1], got {self.discount!r}")
        if self.discount < 1 and self.utility_sum not in (0, None):
            raise ValueError(f"expected utility_sum 0 or None with a discount, got {self.utility_sum!r}")
        if not 0 < self.score_unit < float("inf"):
            raise ValueError(f"expected a score_unit above 0, got {self.score_unit!r}")
        if self.teams and sorted(player for team in self.teams for player in team) != list(range(self.num_players)):
            raise ValueError(f"expected every one of {self.num_players} players in one team, got {self.teams!r}")

    @property
    def sides(self) -> tuple[tuple[Player, ...], ...]:
        """Who plays against whom: the teams, or else every player alone."""
        return self.teams or tuple((player,) for player in range(self.num_players))


class State(ABC):
    """A position: a value that nothing changes.

    Positions written in Python inherit from this class; native ones are registered with it by `moemcts.native`. What
    a player still gets from a position is what is paid on the way, `rewards`, and at the end `returns`:
    `v(parent) = rewards(child) + discount * v(child)`, `v(end) = returns()`, both scaled so that values stay in
    [-1, 1].
    """

    __slots__ = ()

    @property
    @abstractmethod
    def ply(self) -> int:
        """How many moves (or simultaneous steps, or draws of chance) were played since the start of the game."""

    @property
    @abstractmethod
    def active_players(self) -> tuple[Player, ...]:
        """Who moves now, ascending; empty exactly when the game is over, `(CHANCE,)` where chance moves."""

    @abstractmethod
    def legal_actions(self, player: Player) -> Sequence[Action]:
        """Returns the legal actions of an active player, ascending; those of `CHANCE` are the outcomes."""

    def search_actions(self, player: Player) -> Sequence[Action]:
        """Returns the legal actions worth searching, a non-empty part of the legal ones, ascending."""
        return self.legal_actions(player)

    def chances(self) -> FloatArray:
        """Returns the probability of each of `legal_actions(CHANCE)`, summing to one; ValueError elsewhere."""
        if self.active_players == (CHANCE,):
            raise ValueError(f"expected {type(self).__name__} to have chances(), for chance moves here")
        raise ValueError("expected a position where chance moves")

    @abstractmethod
    def play(self, actions: JointAction) -> Self:
        """Returns the position after one action per active player, in ascending order of players."""

    def rewards(self) -> FloatArray:
        """Returns what the step into this position paid each player, `[P]`."""
        return np.zeros_like(self.returns())

    @abstractmethod
    def returns(self) -> FloatArray:
        """Returns what is decided so far, `[P]` in [-1, 1]; 0 for whom nothing is decided."""

    def is_decided(self, player: Player) -> bool:
        """Returns whether the return of `player` is final: it is never active again, and nothing is paid to it."""
        if not self.active_players:
            return True
        return read(self.returns(), lambda returns: bool(returns[player] != 0), "returns, a number per player")

    @abstractmethod
    def observation(self, player: Player) -> FloatArray:
        """Returns what a network sees when it plays for `player`, as `GameSpec.observation_shape` says.

        It is asked for every player in every position: also for who does not move, where chance moves, and at the end.
        """

    @abstractmethod
    def key(self) -> int:
        """Returns 64 bits over all that the rest of the game depends on."""

    def position_key(self) -> int:
        """Returns 64 bits over what is there now, whatever led to it: by it openings are told apart.

        The key, unless a game's key knows the past as well, as rules about repetitions need it.
        """
        return self.key()


def discounts(before: State, after: State, discount: float, num_players: int) -> NDArray[np.float64]:
    """Returns what the value of each player after a step is worth before it, `[P]`.

    What was decided before is not discounted, nor anybody's value by the step to where chance moves: the draw is a
    part of that step.
    """
    if discount == 1 or after.active_players == (CHANCE,):
        return np.ones(num_players)
    return np.array([1.0 if before.is_decided(player) else discount for player in range(num_players)])


NO_REWARDS = State.rewards
"""What positions have that are paid nothing; the native search asks those of others."""

S = TypeVar("S", bound=State, default=Any)
F = TypeVar("F", bound=np.floating[Any])


def after_step(spec: GameSpec, state: S, joint: JointAction) -> S:
    """Returns the position after a step; raises UnlawfulGame where a game gives something else."""
    after: S = state.play(joint)
    if not isinstance(after, State):
        raise unlawful(after, "a position after a step", spec.name)
    return after


def random_action(state: State, player: Player, rng: np.random.Generator) -> Action:
    """Returns any legal action of a player with equal probability; of chance, an outcome by its probability."""
    actions = actions_of(state, player)
    return int(rng.choice(actions, p=shares_of(state, len(actions)) if player == CHANCE else None))


class View(NamedTuple):
    """A position through the eyes of one player: the unit that is gated, evaluated, stored and learned from."""

    state: Any
    player: Player


class Views(Protocol):
    """N views of one game, encoded together; of none, other axes than the first may be of length 0, too."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int) -> View: ...

    if TYPE_CHECKING:
        # Python goes through whatever has rows; native views have no more.
        def __iter__(self) -> Iterator[View]: ...

    def take(self, rows: Sequence[int] | IntArray) -> Self:
        """Returns the views of the given rows, in that order."""

    def observations(self) -> FloatArray:
        """Returns the observation of every view, `[N, *observation_shape]`."""

    def players(self) -> IntArray:
        """Returns whose view each row is, `[N]`."""

    def plies(self) -> IntArray:
        """Returns the ply of each view's position, `[N]`."""

    def legal_mask(self) -> BoolArray:
        """Returns which actions are legal for the viewing player, `[N, A]`; no action where it is not active."""


def seats_from(players: IntArray, num_players: int) -> IntArray:
    """Returns who sits `k` seats further on than each player, `[N, num_players]` from `[N]`."""
    return (players.astype(np.int64, copy=False)[:, None] + np.arange(num_players)) % num_players


def from_own_seats(table: NDArray[F], players: IntArray) -> NDArray[F]:
    """Returns a table `[N, P]` by player from each row's own player on: column `k` is for who sits `k` seats on."""
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
        offsets, index = gathered(self.offsets, rows)
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
    """Maps observations `[N, *observation_shape]` to those of the transformed positions."""
    actions: IntArray
    """`actions[a]` is the action that `a` becomes, `[A]`."""


class Game(ABC, Generic[S]):
    """The rules of one game, whose positions are of type `S`.

    Laws, asserted by `moemcts.testing.check_game`:

    - every active player has legal actions: ascending indices below `num_actions`, each of which can be played;
    - observations, returns and rewards are numbers, as float32, in arrays that nothing writes to any more;
    - `play` and all other methods of a state change nothing on it, and always say the same;
    - a game begins where a player moves, by any seed below 2^63, and equal seeds give equal games;
    - chance moves alone, and its chances are a distribution over its outcomes;
    - a decided player's return is final, and that player is never active or paid again;
    - the returns of a finished game lie in [-1, 1] and sum to `utility_sum`; rewards are numbers, and what is still to
      come, rewards and returns together, lies in [-1, 1]; team mates get the same;
    - states and actions survive `parse(format(x))`, and states survive `unpack(pack(x))`; actions are written in a line
      with no blanks around it; what cannot be read is a ValueError;
    - positions that differ in who moves, in legal actions or in what those who move observe differ in `key`, which is
      the same in every process;
    - who perceives a position moves in it, with the same legal actions, and observes the same;
    - symmetries permute actions, and where the start looks the same to a symmetry, it maps games to games: legal
      actions to legal ones, observations to those of the positions reached, in which the same players move, are paid
      and win.
    """

    spec: GameSpec

    @abstractmethod
    def initial_state(self, seed: int = 0) -> S:
        """Returns a start position, where a player moves; the seed decides everything that is random about it."""

    @abstractmethod
    def parse_state(self, text: str) -> S:
        """Returns the position written as `text`; raises ValueError saying what was expected."""

    @abstractmethod
    def format_state(self, state: S) -> str:
        """Returns one line that `parse_state` reads back."""

    def read_starts(self, path: Path, *, plies: int | None = None) -> Iterator[Start] | None:
        """Yields the openings in a file of a format that the game's players use; None where the file is of no such.

        `plies` cuts lines of moves short. Raises OSError or UnicodeDecodeError where the file cannot be read.
        """
        return None

    def parse_action(self, state: S, player: Player, text: str) -> Action:
        """Returns the action written as `text`; raises ValueError naming legal ones."""
        names = {self.format_action(state, player, action): action for action in state.legal_actions(player)}
        if text not in names:
            raise ValueError(f"expected one of {listed(list(names))}, got {text!r}")
        return names[text]

    def format_action(self, state: S, player: Player, action: Action) -> str:
        """Returns the action as the game's players write it; of `CHANCE`, an outcome."""
        return str(action)

    def render(self, state: S) -> str:
        """Returns the position drawn as text, for people."""
        return self.format_state(state)

    def symmetries(self) -> Sequence[Symmetry]:
        """Returns all symmetries but the identity."""
        return ()

    def perceived(self, state: S, player: Player, seed: int = 0) -> S:
        """Returns a position as `player` may believe it to be, in which its search is rooted.

        The player moves in it, what is legal for it is the same, and so is its observation. With perfect information
        that is the position itself.
        """
        return state

    def views(self, pairs: Sequence[tuple[S, Player]]) -> Views:
        """Returns the views as one batch."""
        return ViewList(self.spec, [View(state, player) for state, player in pairs])

    def pack(self, states: Sequence[S]) -> Packed:
        """Returns the positions as bytes, small enough for millions of them."""
        return Packed.of([packed(self.spec, self.format_state(state)) for state in states])

    def unpack(self, packed: Packed, players: IntArray) -> Views:
        """Returns views of packed positions through the eyes of `players`, `[N]`."""
        rows = [bytes(packed.data[a:b]).decode() for a, b in zip(packed.offsets, packed.offsets[1:], strict=False)]
        return self.views([(self.parse_state(row), int(player)) for row, player in zip(rows, players, strict=True)])

    def search_type(self) -> Any:
        """Returns the native search class for this game's states; games written in Python share one."""
        return PythonSearch


def perceived(game: Game[Any], views: Views, seeds: Sequence[int]) -> Views:
    """Returns views of the positions as their players may believe them to be, see `Game.perceived`; `seeds` `[N]`."""
    return game.views(
        [(game.perceived(state, player, seed), player) for (state, player), seed in zip(views, seeds, strict=True)]
    )
