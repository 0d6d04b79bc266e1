"""The game of tic-tac-toe."""

from __future__ import annotations

from collections.abc import Sequence

from moemcts.game import Symmetry
from moemcts.native import core
from moemcts_classics import symmetries
from moemcts_classics.board import BoardGame


class TicTacToe(BoardGame[core.TicTacToeState]):
    """Three in a row on a 3 x 3 board; cells are named as in chess, a1 in the lower left corner."""

    state_type = core.TicTacToeState
    views_type = core.TicTacToeViews
    native_search = core.TicTacToeSearch
    move = "(?:[a-c][1-3])"

    def __init__(self) -> None:
        super().__init__("tic-tac-toe", 3, 3, max_plies=9, policy_planes=1)

    @property
    def numbers_upward(self) -> bool:
        return True

    def symmetries(self) -> Sequence[Symmetry]:
        return symmetries.of_square(self.rows)
