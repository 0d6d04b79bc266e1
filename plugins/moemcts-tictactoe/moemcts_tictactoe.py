"""Tic-tac-toe for moemcts, in plain Python: the example to start your own game from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from moemcts.drawing import Drawing, cell, grid
from moemcts.game import Action, FloatArray, Game, GameSpec, Player, State, Symmetry
from moemcts.hookspecs import Registration, hookimpl

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
MARKS = ".XO"


@dataclass(frozen=True)
class Board(State):
    """Nine cells, row by row: 0 empty, 1 for player 0 (X), 2 for player 1 (O)."""

    cells: tuple[int, ...] = (0,) * 9

    @property
    def ply(self) -> int:
        return 9 - self.cells.count(0)

    @property
    def active_players(self) -> tuple[Player, ...]:
        return () if self.winner is not None or self.ply == 9 else (self.ply % 2,)

    @property
    def winner(self) -> Player | None:
        """The player with three in a row."""
        cells = self.cells
        for a, b, c in LINES:
            if cells[a] and cells[a] == cells[b] == cells[c]:
                return cells[a] - 1
        return None

    def legal_actions(self, player: Player) -> Sequence[Action]:
        return [cell for cell, mark in enumerate(self.cells) if not mark]

    def play(self, actions: Sequence[Action]) -> Board:
        (cell,) = actions
        if self.cells[cell]:
            raise ValueError(f"expected an empty cell, one of {self.legal_actions(0)}, got {cell}")
        return Board((*self.cells[:cell], self.ply % 2 + 1, *self.cells[cell + 1 :]))

    def returns(self) -> FloatArray:
        returns = np.zeros(2, dtype=np.float32)
        if (winner := self.winner) is not None:
            returns[winner], returns[1 - winner] = 1, -1
        return returns

    def observation(self, player: Player) -> FloatArray:
        """Returns two planes: the player's own marks, then the opponent's."""
        cells = np.array(self.cells).reshape(3, 3)
        return np.stack([cells == player + 1, cells == 2 - player]).astype(np.float32)

    def key(self) -> int:
        return sum(mark * 3**cell for cell, mark in enumerate(self.cells))


class TicTacToe(Game[Board]):
    """Three in a row on a board of three by three."""

    spec = GameSpec(
        name="tictactoe",
        num_players=2,
        num_actions=9,
        observation_shape=(2, 3, 3),
        max_plies=9,
        plane_names=("own marks", "opponent's marks"),
    )

    def initial_state(self, seed: int = 0) -> Board:
        return Board()

    def parse_state(self, text: str) -> Board:
        if len(text) != 9 or set(text) - set(MARKS):
            raise ValueError(f"expected nine of {MARKS!r}, got {text!r}")
        return Board(tuple(MARKS.index(mark) for mark in text))

    def format_state(self, state: Board) -> str:
        return "".join(MARKS[mark] for mark in state.cells)

    def format_action(self, state: Board, player: Player, action: Action) -> str:
        return "abc"[action % 3] + "321"[action // 3]

    def render(self, state: Board) -> str:
        rows = [" ".join(MARKS[mark] for mark in state.cells[row : row + 3]) for row in (0, 3, 6)]
        return "\n".join(f"{3 - i} {row}" for i, row in enumerate(rows)) + "\n  a b c"

    def symmetries(self) -> Sequence[Symmetry]:
        cells = np.arange(9, dtype=np.float32).reshape(3, 3)
        found = []
        for number in range(1, 8):
            transform = partial(_transform, turns=number // 2, flip=number % 2 == 1)
            # What lies on cell `actions[a]` afterwards lay on cell `a`.
            actions = np.argsort(transform(cells).ravel())
            found.append(Symmetry(f"{number // 2 * 90} degrees{', mirrored' * (number % 2)}", transform, actions))
        return found


class Page:
    """The board on a page of `moemcts play --web`."""

    seats = ("X", "O")
    colours = ("#c66b4b", "#4b86c6")
    page = None

    def draw(self, state: Board, player: Player) -> Drawing:
        cells = [[MARKS[mark].strip(".") for mark in state.cells[row : row + 3]] for row in (0, 3, 6)]
        spots = {action: (cell(*divmod(action, 3)),) for action in range(9)}
        return grid(cells, colours={}, spots=spots)


def _transform(planes: FloatArray, turns: int, flip: bool) -> FloatArray:
    turned = np.rot90(planes, turns, axes=(-2, -1))
    return np.ascontiguousarray(turned[..., ::-1] if flip else turned)


@hookimpl
def register_games() -> Sequence[Registration]:
    return [Registration("tictactoe", TicTacToe, "three in a row, the tutorial game in Python")]


@hookimpl
def register_boards() -> Sequence[Registration]:
    return [Registration("tictactoe", lambda game: Page(), "three by three", ("tictactoe",))]
