"""Small games with dice, rewards and a discount, whose values are known exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from moemcts.game import CHANCE, Action, FloatArray, Game, GameSpec, Player, State

ROLL, HOLD = 0, 1


@dataclass(frozen=True)
class PigState(State):
    """Scores of both players, points of this turn, and whether the die is being rolled."""

    target: int
    sides: int
    scores: tuple[int, int] = (0, 0)
    turn: int = 0
    points: int = 0
    is_rolling: bool = False
    ply: int = 0  # type: ignore[assignment,misc]

    @property
    def active_players(self) -> tuple[Player, ...]:
        if max(self.scores) >= self.target:
            return ()
        return (CHANCE,) if self.is_rolling else (self.turn,)

    def legal_actions(self, player: Player) -> Sequence[Action]:
        if player == CHANCE:
            return range(1, self.sides + 1)
        return (ROLL, HOLD) if self.points else (ROLL,)

    def chances(self) -> FloatArray:
        return np.full(self.sides, 1 / self.sides, dtype=np.float32)

    def play(self, actions: Sequence[Action]) -> PigState:
        (action,) = actions
        scores, turn, points = self.scores, self.turn, self.points
        is_rolling = not self.is_rolling and action == ROLL
        if self.is_rolling and action == 1:
            turn, points = 1 - turn, 0
        elif self.is_rolling:
            points += action
        if (not self.is_rolling and action == HOLD) or points + scores[turn] >= self.target:
            scores = (scores[0] + points * (turn == 0), scores[1] + points * (turn == 1))
            turn, points = 1 - turn, 0
        return PigState(self.target, self.sides, scores, turn, points, is_rolling, self.ply + 1)

    def returns(self) -> FloatArray:
        won = [score >= self.target for score in self.scores]
        return np.array([won[0] - won[1], won[1] - won[0]], dtype=np.float32) if any(won) else np.zeros(2, np.float32)

    def observation(self, player: Player) -> FloatArray:
        own, other = self.scores[player], self.scores[1 - player]
        return np.array([own, other, self.points, self.turn == player, self.is_rolling, self.ply], dtype=np.float32)

    def key(self) -> int:
        return hash((self.scores, self.turn, self.points, self.is_rolling, self.ply)) % 2**64


class Pig(Game[PigState]):
    """Roll any number of times: a 1 loses the points of this turn, holding keeps them (Neller and Presser 2004)."""

    def __init__(self, target: int, sides: int) -> None:
        self.target, self.sides = target, sides
        self.spec = GameSpec(name="pig", num_players=2, num_actions=2, observation_shape=(6,), max_plies=10_000)

    def initial_state(self, seed: int = 0) -> PigState:
        return PigState(self.target, self.sides)

    def parse_state(self, text: str) -> PigState:
        first, second, turn, points, rolling, ply = map(int, text.split())
        return PigState(self.target, self.sides, (first, second), turn, points, bool(rolling), ply)

    def format_state(self, state: PigState) -> str:
        return f"{state.scores[0]} {state.scores[1]} {state.turn} {state.points} {int(state.is_rolling)} {state.ply}"

    def wins(self, num_rounds: int = 2000) -> float:
        """Returns the first player's win probability under perfect play, by value iteration."""
        target, sides = self.target, self.sides
        states = [(i, j, k) for i in range(target) for j in range(target) for k in range(target - i)]
        win = dict.fromkeys(states, 0.5)

        def of(i: int, j: int, k: int) -> float:
            return 1.0 if i + k >= target else win[i, j, k]

        for _ in range(num_rounds):
            for i, j, k in states:
                roll = (1 - of(j, i, 0) + sum(of(i, j, k + face) for face in range(2, sides + 1))) / sides
                win[i, j, k] = max(roll, 1 - of(j, i + k, 0)) if k else roll
        return win[0, 0, 0]


MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


@dataclass(frozen=True)
class GridState(State):
    """The cell of a walker on a grid, and the number of steps."""

    size: int
    place: tuple[int, int] = (0, 0)
    ply: int = 0  # type: ignore[assignment,misc]

    @property
    def goal(self) -> tuple[int, int]:
        return self.size - 1, self.size - 1

    @property
    def active_players(self) -> tuple[Player, ...]:
        return () if self.place == self.goal or self.ply >= 4 * self.size else (0,)

    def legal_actions(self, player: Player) -> Sequence[Action]:
        return [a for a, (dy, dx) in enumerate(MOVES) if 0 <= self.place[0] + dy < self.size > self.place[1] + dx >= 0]

    def play(self, actions: Sequence[Action]) -> GridState:
        dy, dx = MOVES[actions[0]]
        return GridState(self.size, (self.place[0] + dy, self.place[1] + dx), self.ply + 1)

    def rewards(self) -> FloatArray:
        """Returns the reward of the coin's cell on every visit, that of the goal, and the cost of a step."""
        paid = 0.12 * (self.place == (0, self.size - 1)) + 0.2 * (self.place == self.goal) - 0.008 * (self.ply > 0)
        return np.array([paid], dtype=np.float32)

    def returns(self) -> FloatArray:
        return np.zeros(1, dtype=np.float32)

    def observation(self, player: Player) -> FloatArray:
        return np.array([*self.place, self.ply], dtype=np.float32)

    def key(self) -> int:
        return hash((self.place, self.ply)) % 2**64


class Grid(Game[GridState]):
    """A walker on a grid with a coin in one corner and a goal in another; every step has a small cost."""

    def __init__(self, size: int = 3, discount: float = 0.9) -> None:
        self.size = size
        self.spec = GameSpec(
            name="grid",
            num_players=1,
            num_actions=4,
            observation_shape=(3,),
            max_plies=4 * size,
            utility_sum=None,
            discount=discount,
        )

    def initial_state(self, seed: int = 0) -> GridState:
        return GridState(self.size)

    def parse_state(self, text: str) -> GridState:
        row, column, ply = map(int, text.split())
        return GridState(self.size, (row, column), ply)

    def format_state(self, state: GridState) -> str:
        return f"{state.place[0]} {state.place[1]} {state.ply}"

    def optimum(self) -> float:
        """Returns the value of the start, by dynamic programming over cells and plies."""

        @cache
        def value(state: GridState) -> float:
            if not state.active_players:
                return 0.0
            children = [state.play([action]) for action in state.legal_actions(0)]
            return max(float(child.rewards()[0]) + self.spec.discount * value(child) for child in children)

        return value(self.initial_state())


@dataclass(frozen=True)
class LeavingState(State):
    """Player 2 leaves with the first move or stays; players 0 and 1 play on for six plies without any effect."""

    ply: int = 0
    has_left: bool = False

    @property
    def active_players(self) -> tuple[Player, ...]:
        return (2,) if self.ply == 0 else (self.ply % 2,) if self.ply < 7 else ()

    def legal_actions(self, player: Player) -> Sequence[Action]:
        return (0, 1)

    def play(self, actions: Sequence[Action]) -> LeavingState:
        return LeavingState(self.ply + 1, self.has_left or (self.ply, *actions) == (0, 1))

    def returns(self) -> FloatArray:
        return np.array([0, 0, -0.5 if self.has_left else 0], dtype=np.float32)

    def observation(self, player: Player) -> FloatArray:
        return np.array([self.ply, self.has_left], dtype=np.float32)

    def key(self) -> int:
        return 2 * self.ply + self.has_left


class Leaving(Game[LeavingState]):
    """Three players, one of whom has an early result and nothing later."""

    spec = GameSpec(
        name="leaving",
        num_players=3,
        num_actions=2,
        observation_shape=(2,),
        max_plies=7,
        utility_sum=None,
        discount=0.5,
    )

    def initial_state(self, seed: int = 0) -> LeavingState:
        return LeavingState()

    def parse_state(self, text: str) -> LeavingState:
        ply, has_left = map(int, text.split())
        return LeavingState(ply, bool(has_left))

    def format_state(self, state: LeavingState) -> str:
        return f"{state.ply} {int(state.has_left)}"
