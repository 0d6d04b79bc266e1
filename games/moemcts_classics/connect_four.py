"""The game of connect four."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from moemcts.game import Action, Player, Symmetry
from moemcts.native import core
from moemcts_classics import symmetries
from moemcts_classics.board import BoardGame, Cell, turn


class ConnectFour(BoardGame[core.ConnectFourState]):
    """Stones fall to the lowest empty cell of a column; four in a row, also diagonally, win.

    Moves are columns, 1 to 7 from the left, and sequences of moves are written as digits: `4453` (Pons, Solving Connect
    4).
    """

    state_type = core.ConnectFourState
    views_type = core.ConnectFourViews
    native_search = core.ConnectFourSearch
    move = "[1-7]"

    def __init__(self) -> None:
        super().__init__("connect-four", 6, 7, max_plies=42, num_actions=7, rows_upward=True)

    def format_action(self, state: core.ConnectFourState, player: Player, action: Action) -> str:
        return str(action + 1)

    def cells(self, player: Player, action: Action) -> tuple[Cell, ...]:
        """Returns the whole column, as the cell depends on the stones in it."""
        return tuple((row, action) for row in range(self.rows))

    def render(self, state: core.ConnectFourState) -> str:
        return "\n".join([*map(" ".join, state.drawn()), "1 2 3 4 5 6 7", *turn(state)])

    def symmetries(self) -> Sequence[Symmetry]:
        return [symmetries.mirror(np.arange(self.columns)[::-1].copy())]
