"""The game of Hex."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from moemcts.game import Action, Player, Symmetry
from moemcts.native import core
from moemcts_classics import symmetries
from moemcts_classics.board import BoardGame, Cell, turn


class Hex(BoardGame[core.HexState]):
    """Stones are never moved; a player wins by connecting its two sides of the rhombus, and draws are impossible.

    The first player, `x`, connects the top and the bottom row, the second the left and the right column, and sees the
    board mirrored at its long diagonal, in planes and actions, so that both connect top and bottom from their points of
    view. Cells are named as in the Hex Text Protocol, a1 in the upper left corner. There is no swap rule.
    """

    state_type = core.HexState
    views_type = core.HexViews
    native_search = core.HexSearch
    move = r"(?:[a-k]\d{1,2})"

    def __init__(self, size: int = 11) -> None:
        super().__init__("hex", size, size, max_plies=size * size, policy_planes=1)

    def cells(self, player: Player, action: Action) -> tuple[Cell, ...]:
        ((row, column),) = super().cells(player, action)
        return ((row, column) if player == 0 else (column, row),)

    def render(self, state: core.HexState) -> str:
        *rows, letters = super().render(state).splitlines()[: self.rows + 1]
        slanted = [" " * number + row for number, row in enumerate(rows)]
        return "\n".join([letters, *slanted, *turn(state)])

    def symmetries(self) -> Sequence[Symmetry]:
        return [symmetries.half_turn(np.arange(self.spec.num_actions)[::-1].copy())]
