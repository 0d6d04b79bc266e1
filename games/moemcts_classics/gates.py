"""Phases of classic games: by the stones on the board, or by captured pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from moemcts.game import IntArray, Views
from moemcts.gates import CutGate


class _ViewsWithStones(Protocol):
    """Views that can count the stones on the board."""

    def stones(self) -> IntArray: ...


class StonesGate(CutGate):
    """Cuts by the stones on the board; depends only on the position and never goes back.

    For games in which each move places a stone; by default three equal parts of the board.
    """

    name = "stones"

    def numbers(self, views: Views) -> IntArray:
        return cast(_ViewsWithStones, views).stones()


class CapturesGate(CutGate):
    """Cuts by the pieces that both players have lost; depends only on the position and never goes back."""

    name = "captures"

    def __init__(self, cuts: Sequence[int], phase_names: Sequence[str] = (), *, num_pieces: int) -> None:
        """Cuts at numbers of lost pieces; `num_pieces` is their number at the start."""
        super().__init__(cuts, phase_names)
        self._num_pieces = num_pieces

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {**super().parameters, "num_pieces": self._num_pieces}

    def numbers(self, views: Views) -> IntArray:
        return self._num_pieces - cast(_ViewsWithStones, views).stones()
