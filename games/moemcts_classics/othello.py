"""The game of Othello."""

from __future__ import annotations

from collections.abc import Sequence

from moemcts.game import Action, Player, Symmetry
from moemcts.native import core
from moemcts_classics import symmetries
from moemcts_classics.board import BoardGame

PASS = "pass"


class Othello(BoardGame[core.OthelloState]):
    """A stone flips the opponent's stones between it and another of its colour; the most stones win.

    A player who cannot place a stone passes, which is the last action. Black, `x`, begins. Cells are named as by the
    World Othello Federation, a1 in the upper left corner, and sequences of moves may be written without spaces:
    `f5d6c3`.
    """

    state_type = core.OthelloState
    views_type = core.OthelloViews
    native_search = core.OthelloSearch
    move = f"(?:[a-h][1-8]|{PASS})"

    def __init__(self, size: int = 8) -> None:
        # Nobody passes twice in a row, or first.
        max_plies = 2 * (size * size - 4)
        name = "othello" if size == 8 else f"othello-{size}x{size}"
        super().__init__(name, size, size, max_plies=max_plies, num_actions=size * size + 1)

    def format_action(self, state: core.OthelloState, player: Player, action: Action) -> str:
        return super().format_action(state, player, action) or PASS

    def symmetries(self) -> Sequence[Symmetry]:
        return symmetries.of_square(self.rows, num_more_actions=1)
