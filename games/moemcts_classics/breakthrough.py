"""The game of Breakthrough."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from moemcts.game import Action, Player, Symmetry
from moemcts.native import core
from moemcts_classics import symmetries
from moemcts_classics.board import BoardGame, Cell


class Breakthrough(BoardGame[core.BreakthroughState]):
    """Pieces move forward or diagonally forward and capture diagonally; the first to reach the last row wins.

    White begins. Each player sees the board with its own side at the bottom, in planes and actions. Moves are written
    as in OpenSpiel, `b2c3`, with captures as `b2c3*`; the asterisk is optional.
    """

    state_type = core.BreakthroughState
    views_type = core.BreakthroughViews
    native_search = core.BreakthroughSearch
    move = r"(?:[a-h][1-8][a-h][1-8]\*?)"

    def __init__(self, rows: int = 8, columns: int = 8) -> None:
        # Without captures, each piece can reach the last row; there are two rows of pieces, or one on short boards.
        steps = 2 * rows - 3 if rows >= 6 else rows - 1
        super().__init__(
            "breakthrough", rows, columns, max_plies=2 * columns * steps, policy_planes=3, rows_upward=True
        )

    def parse_action(self, state: core.BreakthroughState, player: Player, text: str) -> Action:
        legal = {self.names(self.cells(player, action)): action for action in state.legal_actions(player)}
        action = legal.get(text.lower().removesuffix("*"))
        return super().parse_action(state, player, text) if action is None else action

    def format_action(self, state: core.BreakthroughState, player: Player, action: Action) -> str:
        cells = self.cells(player, action)
        row, column = cells[-1]
        return self.names(cells) + "*" * (state.drawn()[row][column] != ".")

    def cells(self, player: Player, action: Action) -> tuple[Cell, ...]:
        plane, cell = divmod(action, self.rows * self.columns)
        row, column = divmod(cell, self.columns)
        # Each player sees its own pieces at the bottom.
        start, end = (row, row + 1) if player == 1 else (self.rows - 1 - row, self.rows - 2 - row)
        return (start, column), (end, column + plane - 1)

    def symmetries(self) -> Sequence[Symmetry]:
        actions = np.arange(self.spec.num_actions).reshape(3, self.rows, self.columns)
        return [symmetries.mirror(actions[::-1, :, ::-1].ravel())]
