"""Shared base of the classic games: a board, stones of two alternating players, and their notation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np

from moemcts.game import Action, Game, GameSpec, IntArray, Packed, Player, Views
from moemcts.native import core

PLANES = ("own stones", "opponent's stones", "empty cells")
START = "startpos"
MOVES = "; moves"
Cell = tuple[int, int]
"""Row, from the top of a drawn board, and column."""

S = TypeVar("S", bound="core._ClassicState")


class BoardGame(Game[S], Generic[S]):
    """A game with native rules; the first player is player 0.

    Positions are written as the rows of the board from the top, the player to move and the ply, or as a sequence of
    moves from the start: `startpos; moves d3 c3`, or only the moves.
    """

    state_type: ClassVar[type[Any]]
    views_type: ClassVar[type[Any]]
    native_search: ClassVar[type[Any]]
    move: ClassVar[str]
    """A regular expression for one move in a sequence of moves."""

    def __init__(
        self,
        name: str,
        rows: int,
        columns: int,
        *,
        max_plies: int,
        num_actions: int | None = None,
        policy_planes: int = 0,
        rows_upward: bool = False,
    ) -> None:
        """Raises ValueError if the game does not support this board size."""
        self.rows, self.columns = rows, columns
        self._start: S = self.state_type.initial(rows, columns)
        self.spec = GameSpec(
            name=name,
            num_players=2,
            num_actions=policy_planes * rows * columns if num_actions is None else num_actions,
            observation_shape=(len(PLANES), rows, columns),
            max_plies=max_plies,
            plane_names=PLANES,
            rows_upward=rows_upward,
            policy_planes=policy_planes,
        )

    def initial_state(self, seed: int = 0) -> S:
        return self._start

    def parse_state(self, text: str) -> S:
        head, _, moves = text.partition(MOVES)
        if re.fullmatch(rf"\s*({self.move}\s*)+", head, re.IGNORECASE):
            head, moves = START, head + moves
        state = self._start if head.strip() == START else self._parse_board(head)
        if not re.fullmatch(rf"\s*({self.move}\s*)*", moves, re.IGNORECASE):
            raise ValueError(f"expected moves like {self._example()}, got {moves.strip()!r}")
        for move in re.finditer(self.move, moves, re.IGNORECASE):
            if not state.active_players:
                raise ValueError(f"expected no move after the end of the game, got {move[0]!r}")
            (player,) = state.active_players
            state = state.play([self.parse_action(state, player, move[0])])
        return state

    def _parse_board(self, text: str) -> S:
        try:
            return cast(S, self.state_type.parse(text, self.rows, self.columns))
        except ValueError as error:
            # Some messages contain only what was expected.
            received = "" if "got" in str(error) else f", got {text.strip()!r}"
            raise ValueError(f"{error}{received}; or moves from the start, like {self._example()}") from None

    def format_state(self, state: S) -> str:
        return state.format()

    def parse_action(self, state: S, player: Player, text: str) -> Action:
        return super().parse_action(state, player, text.lower())

    def format_action(self, state: S, player: Player, action: Action) -> str:
        return self.names(self.cells(player, action))

    def cells(self, player: Player, action: Action) -> tuple[Cell, ...]:
        """Returns the cell where an action places a stone, or the start and end of a move; none for a pass."""
        row, column = divmod(action, self.columns)
        return ((row, column),) if row < self.rows else ()

    def names(self, cells: Sequence[Cell]) -> str:
        """Returns the concatenated names of cells."""
        return "".join(
            f"{column_name(column)}{self.rows - row if self.numbers_upward else row + 1}" for row, column in cells
        )

    def render(self, state: S) -> str:
        """Returns the board with its coordinates, and below it the player to move."""
        numbers = range(self.rows, 0, -1) if self.numbers_upward else range(1, self.rows + 1)
        lines = [f"{number:2} {' '.join(row)}" for number, row in zip(numbers, state.drawn(), strict=True)]
        letters = " ".join(map(column_name, range(self.columns)))
        return "\n".join([*lines, f"   {letters}", *turn(state)])

    @property
    def numbers_upward(self) -> bool:
        """Whether row 1 is at the bottom of a drawn board."""
        return self.spec.rows_upward

    def views(self, pairs: Sequence[tuple[S, Player]]) -> Views:
        """Raises ValueError for positions on a board of another size."""
        views = self.views_type([(state, int(player)) for state, player in pairs])
        views.check_size(self.rows, self.columns)
        return cast(Views, views)

    def pack(self, states: Sequence[S]) -> Packed:
        """Returns 20 bytes per position, 36 on boards of more than 64 cells."""
        return Packed(*self.views_type([(state, 0) for state in states]).pack())

    def unpack(self, packed: Packed, players: IntArray) -> Views:
        data, offsets = np.ascontiguousarray(packed.data), np.ascontiguousarray(packed.offsets, dtype=np.int64)
        viewers = np.ascontiguousarray(players, dtype=np.int64)
        return cast(Views, self.views_type.unpack(data, offsets, viewers, self.rows, self.columns))

    def search_type(self) -> Any:
        return self.native_search

    def _example(self) -> str:
        (player,) = self._start.active_players
        return repr(self.format_action(self._start, player, self._start.legal_actions(player)[0]))


def column_name(column: int) -> str:
    """Returns the letter of a column."""
    return chr(ord("a") + column)


def turn(state: core._ClassicState) -> list[str]:
    """Returns a line with the player to move; none if the game is over."""
    _, mover, _ = state.format().split()
    return [f"{mover} to move"] if state.active_players else []
