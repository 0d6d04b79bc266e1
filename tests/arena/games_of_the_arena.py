"""Small games with all the endings that matches have to count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from moemcts.agents import Decision, Seat
from moemcts.game import Action, FloatArray, Game, GameSpec, Player, State, Views


@dataclass(frozen=True)
class DuelState(State):
    """Each living player stays (0) or leaves (1); the last one to stay wins, or nobody after `length` plies."""

    num_players: int
    length: int
    ply: int = 0
    alive: tuple[Player, ...] = ()

    @property
    def active_players(self) -> tuple[Player, ...]:
        return self.alive if len(self.alive) > 1 and self.ply < self.length else ()

    def legal_actions(self, player: Player) -> Sequence[Action]:
        return (0, 1)

    def search_actions(self, player: Player) -> Sequence[Action]:
        return (0, 1)

    def play(self, actions: Sequence[Action]) -> Self:
        alive = tuple(p for p, action in zip(self.alive, actions, strict=True) if action == 0)
        return type(self)(self.num_players, self.length, self.ply + 1, alive)

    def returns(self) -> FloatArray:
        returns = np.full(self.num_players, -1, dtype=np.float32)
        returns[list(self.alive)] = 0 if self.active_players else 1 if len(self.alive) == 1 else -1
        return returns

    def observation(self, player: Player) -> FloatArray:
        return np.full((1, 1, 1), self.ply, dtype=np.float32)

    def key(self) -> int:
        return hash((self.num_players, self.length, self.ply, self.alive))


class StayOrLeave(Game):
    """A free-for-all in which the last to stay wins; players left at the end, or leaving together, tie."""

    def __init__(self, num_players: int = 4, length: int = 30) -> None:
        self.spec = GameSpec(
            name="stay-or-leave",
            num_players=num_players,
            num_actions=2,
            observation_shape=(1, 1, 1),
            max_plies=length,
            utility_sum=None,
        )

    def initial_state(self, seed: int = 0) -> DuelState:
        # The seed only shortens the game, so that openings differ.
        return self.parse_state(f"{self.spec.max_plies - seed % 7} " + " ".join(map(str, range(self.spec.num_players))))

    def parse_state(self, text: str) -> DuelState:
        length, *alive = map(int, text.split())
        if any(not 0 <= player < self.spec.num_players for player in alive):
            raise ValueError(f"expected players below {self.spec.num_players}, got {alive}")
        return DuelState(self.spec.num_players, length, 0, tuple(alive))

    def format_state(self, state: State) -> str:
        assert isinstance(state, DuelState)
        return " ".join(map(str, (state.length - state.ply, *state.alive)))


class Leaver:
    """Leaves with a fixed probability per ply; counts its calls in the seat's memory."""

    def __init__(self, probability: float, name: str) -> None:
        self.name = name
        self.probability = probability
        self.num_batches = 0
        self.asked: list[int] = []

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        self.num_batches += 1
        self.asked.append(len(views))
        for row, seat in enumerate(seats):
            assert views[row].player == seat.player
            seat.memory = (seat.memory or 0) + 1
        return [Decision(action=int(seat.rng.random() < self.probability)) for seat in seats]


class LeavesAt:
    """Leaves at a fixed ply."""

    def __init__(self, ply: int) -> None:
        self.name = f"leaves at {ply}"
        self.ply = ply

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        return [Decision(action=int(ply == self.ply)) for ply in views.plies()]
