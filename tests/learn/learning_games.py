"""Small games, agents and gates to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from games_for_tests import HashedTree, TreeGame

from moemcts.agents import Decision, RandomAgent, Seat
from moemcts.game import Action, FloatArray, Game, GameSpec, Player, State, Symmetry, Views
from moemcts.gates import PlyGate
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.data.generation import generate

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


@dataclass(frozen=True)
class Board(State):
    """Tic-tac-toe, written as its moves."""

    moves: tuple[int, ...] = ()

    @property
    def ply(self) -> int:
        return len(self.moves)

    def cells(self, player: Player) -> tuple[int, ...]:
        return self.moves[player::2]

    def winner(self) -> Player | None:
        for player in (0, 1):
            if any(set(line) <= set(self.cells(player)) for line in LINES):
                return player
        return None

    @property
    def active_players(self) -> tuple[Player, ...]:
        return () if self.winner() is not None or len(self.moves) == 9 else (len(self.moves) % 2,)

    def legal_actions(self, player: Player) -> Sequence[Action]:
        return [cell for cell in range(9) if cell not in self.moves]

    def play(self, actions: Sequence[Action]) -> Self:
        return type(self)((*self.moves, int(actions[0])))

    def returns(self) -> FloatArray:
        winner = self.winner()
        if winner is None:
            return np.zeros(2, dtype=np.float32)
        return np.array([1, -1] if winner == 0 else [-1, 1], dtype=np.float32)

    def observation(self, player: Player) -> FloatArray:
        planes = np.zeros((2, 9), dtype=np.float32)
        planes[0, list(self.cells(player))] = 1
        planes[1, list(self.cells(1 - player))] = 1
        return planes.reshape(2, 3, 3)

    def key(self) -> int:
        return hash((frozenset(self.cells(0)), frozenset(self.cells(1))))


class TicTacToe(Game):
    """With all eight symmetries."""

    spec = GameSpec(name="tictactoe", num_players=2, num_actions=9, observation_shape=(2, 3, 3), max_plies=9)

    def initial_state(self, seed: int = 0) -> Board:
        return Board()

    def parse_state(self, text: str) -> Board:
        return Board(tuple(map(int, text)))

    def format_state(self, state: State) -> str:
        assert isinstance(state, Board)
        return "".join(map(str, state.moves))

    def symmetries(self) -> Sequence[Symmetry]:
        return [_symmetry(turns, is_flipped) for is_flipped in (0, 1) for turns in range(4)][1:]


class ShuffledTicTacToe(TicTacToe):
    """The same rules with permuted planes, so that networks of the other game do not fit."""

    def views(self, pairs: Sequence[tuple[State, Player]]) -> Views:
        return super().views([(state, 1 - player) for state, player in pairs])


def _symmetry(turns: int, is_flipped: int) -> Symmetry:
    def transform(planes: FloatArray) -> FloatArray:
        turned = np.rot90(planes, turns, axes=(2, 3))
        return np.ascontiguousarray(turned[:, :, ::-1] if is_flipped else turned)

    origins = transform(np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)).ravel().astype(np.int64)
    return Symmetry(f"{turns}/{is_flipped}", transform, np.argsort(origins))


def crowd(num_players: int = 3) -> HashedTree:
    """Returns a game of simultaneous moves in which different players are active at different times."""
    return HashedTree(TreeGame(seed=5, num_players=num_players, branching=4, depth=7, simultaneous=True))


class GreedyAgent:
    """Takes a winning cell if there is one, else plays randomly."""

    name = "greedy"

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        decisions = []
        for row, seat in enumerate(seats):
            state, player = views[row]
            legal = state.legal_actions(player)
            wins = [action for action in legal if state.play([action]).winner() == player]
            decisions.append(Decision(action=wins[0] if wins else int(seat.rng.choice(legal))))
        return decisions


def thirds() -> PlyGate:
    return PlyGate([3, 6], ["early", "middle", "late"])


def make_data(folder: Path, num_samples: int = 400, seed: int = 1) -> Dataset:
    """Returns greedy tic-tac-toe games as a dataset."""
    game = TicTacToe()
    generate(game, [GreedyAgent(), GreedyAgent()], num_samples, seed=seed, out=folder, games_per_shard=40)
    return Dataset.open(folder, game)


__all__ = ["GreedyAgent", "RandomAgent", "ShuffledTicTacToe", "TicTacToe", "crowd", "make_data", "thirds"]
