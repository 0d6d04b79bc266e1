"""Small games for tests of the framework, written in Python as by a plugin author."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from moemcts.game import CHANCE, Action, FloatArray, Game, GameSpec, Player, State
from moemcts.native import core


@dataclass(frozen=True)
class TreeGame:
    """Rules defined by a hash: who is active, what is legal, and what the returns are."""

    seed: int
    num_players: int
    branching: int
    depth: int
    simultaneous: bool
    has_chance: bool = field(default=False, repr=False)
    has_rewards: bool = field(default=False, repr=False)
    has_outs: bool = field(default=False, repr=False)
    """Whether players drop out, with a return of 0."""
    discount: float = field(default=1.0, repr=False)


@dataclass(frozen=True)
class TreeState(State):
    rules: TreeGame
    path: tuple[tuple[int, ...], ...] = ()

    def _draw(self, *what: object) -> int:
        text = repr((self.rules, self.path, what)).encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")

    @property
    def ply(self) -> int:
        return len(self.path)

    @property
    def active_players(self) -> tuple[Player, ...]:
        if len(self.path) >= self.rules.depth or (self.path and self._draw("over") % 5 == 0):
            return ()
        players = [player for player in range(self.rules.num_players) if not self._is_out(player)]
        if not players:
            return ()
        if self.rules.has_chance and self.path and self._draw("chance") % 3 == 0:
            return (CHANCE,)
        if not self.rules.simultaneous:
            return (players[len(self.path) % len(players)],)
        count = 1 + self._draw("count") % self.rules.num_players
        order = sorted(players, key=lambda player: self._draw("order", player))
        return tuple(sorted(order[:count]))

    def _is_out(self, player: Player) -> bool:
        """Returns whether the player has dropped out earlier."""
        befores = (TreeState(self.rules, self.path[:i]) for i in range(1, len(self.path) + 1))
        return self.rules.has_outs and any(before._draw("out", player) % 8 == 0 for before in befores)

    def is_decided(self, player: Player) -> bool:
        return self._is_out(player) or super().is_decided(player)

    def legal_actions(self, player: Player) -> Sequence[Action]:
        count = 1 + self._draw("legal", player) % self.rules.branching
        order = sorted(range(self.rules.branching), key=lambda action: self._draw("action", player, action))
        return sorted(order[:count])

    def chances(self) -> FloatArray:
        weights = [1 + self._draw("weight", outcome) % 9 for outcome in self.legal_actions(CHANCE)]
        return (np.array(weights) / sum(weights)).astype(np.float32)

    def rewards(self) -> FloatArray:
        num_players = self.rules.num_players
        if not self.rules.has_rewards or not self.path or self._draw("paid") % 2:
            return np.zeros(num_players, dtype=np.float32)
        before = TreeState(self.rules, self.path[:-1])
        paid = [self._draw("reward", player) % 201 / 1000 - 0.1 for player in range(num_players)]
        if num_players > 1 and not self.rules.has_outs:
            paid = list(np.array(paid) - np.mean(paid))
        return np.array([0 if before._is_out(player) else value for player, value in enumerate(paid)], dtype=np.float32)

    def play(self, actions: Sequence[Action]) -> Self:
        assert len(actions) == len(self.active_players)
        return type(self)(self.rules, (*self.path, tuple(actions)))

    def returns(self) -> FloatArray:
        returns = np.zeros(self.rules.num_players, dtype=np.float32)
        if not self.active_players:
            draws = [self._draw("return", player) % 2001 / 1000 - 1 for player in range(self.rules.num_players)]
            returns[:] = np.array(draws) - np.mean(draws)
            returns /= max(1.0, float(np.abs(returns).max()))
            returns[[self._is_out(player) for player in range(self.rules.num_players)]] = 0
        return returns

    def observation(self, player: Player) -> FloatArray:
        rng = np.random.default_rng(self._draw("planes", player))
        return rng.standard_normal((1, 1, 4)).astype(np.float32)

    def key(self) -> int:
        return self._draw("key")


class HashedTree(Game[TreeState]):
    """A random game of any number of players, with turns or simultaneous moves."""

    def __init__(self, rules: TreeGame) -> None:
        self.rules = rules
        self.spec = GameSpec(
            name="hashed-tree",
            num_players=rules.num_players,
            num_actions=rules.branching,
            observation_shape=(1, 1, 4),
            max_plies=rules.depth,
            utility_sum=None if rules.has_outs or (rules.has_rewards and rules.num_players == 1) else 0.0,
            discount=rules.discount,
        )

    def initial_state(self, seed: int = 0) -> TreeState:
        return TreeState(self.rules)

    def parse_state(self, text: str) -> TreeState:
        moves = [tuple(map(int, move.split(","))) for move in text.split()]
        return TreeState(self.rules, tuple(moves))

    def format_state(self, state: TreeState) -> str:
        return " ".join(",".join(map(str, move)) for move in state.path)


@dataclass(frozen=True)
class Saving(State):
    """Four steps, each with a reward that is `bonus` higher for 1 than for 0; starts differ in their bonus."""

    bonus: int
    ply: int = 0
    paid: float = 0.0

    @property
    def active_players(self) -> tuple[Player, ...]:
        return (0,) if self.ply < 4 else ()

    def legal_actions(self, player: Player) -> Sequence[Action]:
        return (0, 1)

    def play(self, actions: Sequence[Action]) -> Self:
        return type(self)(self.bonus, self.ply + 1, (1 + actions[0] * self.bonus) / 20)

    def rewards(self) -> FloatArray:
        return np.array([self.paid], dtype=np.float32)

    def returns(self) -> FloatArray:
        return np.zeros(1, dtype=np.float32)

    def observation(self, player: Player) -> FloatArray:
        return np.full(1, self.ply, dtype=np.float32)

    def key(self) -> int:
        return hash((self.bonus, self.ply, self.paid))


class Savings(Game[Saving]):
    """A single-player game with a reward of at least one in every step."""

    spec = GameSpec(
        name="savings",
        num_players=1,
        num_actions=2,
        observation_shape=(1,),
        max_plies=4,
        utility_sum=None,
        score_unit=20.0,
    )

    def initial_state(self, seed: int = 0) -> Saving:
        return Saving(seed % 4)

    def parse_state(self, text: str) -> Saving:
        return Saving(int(text))

    def format_state(self, state: Saving) -> str:
        return str(state.bonus)


@dataclass(frozen=True)
class Heap(State):
    """Nine stones, of which players take one to three."""

    stones: int = 9
    ply: int = 0  # type: ignore[assignment,misc]
    taken: Any = field(default_factory=list, compare=False)
    """A list shared by positions."""

    @property
    def active_players(self) -> tuple[int, ...]:
        return (self.ply % 2,) if self.stones else ()

    def legal_actions(self, player: int) -> Sequence[int]:
        return range(min(3, self.stones))

    def play(self, actions: Sequence[int]) -> Any:
        self.taken.append(int(actions[0]))
        return type(self)(self.stones - 1 - int(actions[0]), self.ply + 1, self.taken)

    def returns(self) -> Any:
        winner = 1 - self.ply % 2
        return np.array([1 - 2 * winner, 2 * winner - 1], np.float32) * (not self.stones)

    def observation(self, player: int) -> Any:
        return np.eye(10, dtype=np.float32)[self.stones]

    def key(self) -> int:
        return self.ply * 10 + self.stones


class Heaps(Game[Heap]):
    """A game whose positions share an unused list."""

    spec = GameSpec(name="heap", num_players=2, num_actions=3, observation_shape=(10,), max_plies=9)
    state_type: type[Heap] = Heap

    def initial_state(self, seed: int = 0) -> Heap:
        return self.state_type()

    def parse_state(self, text: str) -> Heap:
        stones, ply = map(int, text.split(","))
        return self.state_type(stones, ply)

    def format_state(self, state: Heap) -> str:
        return f"{state.stones},{state.ply}"


class Hashed(Heap):
    """A heap whose key differs between processes."""

    def key(self) -> int:
        return hash(f"{self.stones},{self.ply}") % 2**64


class HashedHeaps(Heaps):
    state_type = Hashed


@dataclass(frozen=True)
class Walk(State):
    """A pawn on a ring of four cells: it returns to cells at other plies, which its key does not contain."""

    place: int = 0
    ply: int = 0

    @property
    def active_players(self) -> tuple[Player, ...]:
        return (self.ply % 2,)

    def legal_actions(self, player: Player) -> Sequence[Action]:
        return range(2)

    def play(self, actions: Sequence[Action]) -> Walk:
        return Walk((self.place + 2 * actions[0] - 1) % 4, self.ply + 1)

    def returns(self) -> FloatArray:
        return np.zeros(2, dtype=np.float32)

    def observation(self, player: Player) -> FloatArray:
        return np.full((1, 1, 1), self.place, dtype=np.float32)

    def key(self) -> int:
        return 2 * self.place + self.ply % 2


class Ring(Game[Walk]):
    """An endless game."""

    spec = GameSpec(name="ring", num_players=2, num_actions=2, observation_shape=(1, 1, 1), max_plies=10_000)

    def initial_state(self, seed: int = 0) -> Walk:
        return Walk()

    def parse_state(self, text: str) -> Walk:
        return Walk(*map(int, text.split()))

    def format_state(self, state: Walk) -> str:
        return f"{state.place} {state.ply}"


class NativeTicTacToe(Game):
    """Tic-tac-toe on the native core."""

    spec = GameSpec(name="native-tictactoe", num_players=2, num_actions=9, observation_shape=(3, 3, 3), max_plies=9)
    state_type: Any = core.TicTacToeState
    views_type: Any = core.TicTacToeViews

    def initial_state(self, seed: int = 0) -> State:
        return self.state_type.initial()  # type: ignore[no-any-return]

    def parse_state(self, text: str) -> State:
        state = self.initial_state()
        for action in text.split():
            state = state.play([int(action)])
        return state

    def format_state(self, state: State) -> str:
        raise NotImplementedError

    def views(self, pairs):  # type: ignore[no-untyped-def]
        return self.views_type(pairs)

    def search_type(self):  # type: ignore[no-untyped-def]
        return core.TicTacToeSearch


class NativeConnectFour(NativeTicTacToe):
    """Connect four on the native core."""

    spec = GameSpec(name="native-connectfour", num_players=2, num_actions=7, observation_shape=(3, 6, 7), max_plies=42)
    state_type = core.ConnectFourState
    views_type = core.ConnectFourViews

    def search_type(self):  # type: ignore[no-untyped-def]
        return core.ConnectFourSearch


def play_in_a_process(game: Game[Any], state: State, pipe: Any) -> None:
    """Plays one move in a child process, as vectorised environments do."""
    child = state.play([int(state.legal_actions(player)[0]) for player in state.active_players])
    pipe.send((game.spec, child))
