"""Phases of Pommerman: by the steps played, by the nearest opponent, by the opponents left.

The three gates are those of the M2CTS paper on Pommerman (STEPS, MIXEDNESS, LIVING OPPONENT COUNT), which does not
state its thresholds. Ours are terciles over the positions of games between SimpleAgents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from moemcts.game import IntArray, Views
from moemcts.gates import CutGate


class StepGate(CutGate):
    """Cuts the game by steps played.

    Source: M2CTS, STEPS. Default cuts of the free-for-all: 93 and 252, the terciles of 302,644 views of living players
    in 300 games of four SimpleAgents. Depends only on the position and never goes back.
    """

    name = "steps"

    def numbers(self, views: Views) -> IntArray:
        return views.plies()


class MixednessGate(CutGate):
    """Cuts by the Manhattan distance to the nearest living opponent that the player sees.

    Source: M2CTS, MIXEDNESS. Default cuts of the free-for-all: up to 4 cells is close, 8 and more is far, the terciles
    of the same views as for `StepGate`. If no opponent is visible, the distance is the largest on the board. Depends
    only on the position; a player's phase changes about 36 times per game.
    """

    name = "mixedness"

    def numbers(self, views: Views) -> IntArray:
        numbers: IntArray = _native(views).nearest_opponents()
        return numbers


class OpponentGate(CutGate):
    """Cuts by the number of dead opponents; teammates do not count.

    Source: M2CTS, LIVING OPPONENT COUNT. By default one phase for each number of living opponents: 3, 2 and 1 in the
    free-for-all, 2 and 1 with teams. Depends only on the position and never goes back.
    """

    name = "opponents"

    def __init__(self, cuts: Sequence[int], phase_names: Sequence[str] = (), *, num_opponents: int) -> None:
        """Cuts at numbers of dead opponents; `num_opponents` is their number at the start."""
        super().__init__(cuts, phase_names)
        self._num_opponents = num_opponents

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {**super().parameters, "num_opponents": self._num_opponents}

    def numbers(self, views: Views) -> IntArray:
        living: IntArray = _native(views).num_opponents()
        return self._num_opponents - living


def _native(views: Views) -> Any:
    if not hasattr(views, "nearest_opponents"):
        raise TypeError(f"expected views of Pommerman, got {type(views).__name__}")
    return views
