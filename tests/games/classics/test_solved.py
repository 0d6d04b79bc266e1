"""The benchmark of solved positions counts what it says; the positions are the solver's."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from moemcts.agents import Decision, Seat
from moemcts.game import Views
from moemcts.plugins import Plugins

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

LINES = """\
end-easy\t36457546333551256572662332227716117\t-3\t-xx-xx-
end-easy\t6422712725335712544474271476616\t6\t-x+x--x
end-easy\t31642654116634417475254333236\t0\t-0xx---
middle-easy\t4173273255367343661531715\t9\t--x+---
"""


class Fixed:
    """Plays the first, second or further legal column."""

    name = "fixed"

    def __init__(self, place: int) -> None:
        self._place = place

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        legal = [views[row].state.legal_actions(seat.player) for row, seat in enumerate(seats)]
        return [Decision(action=actions[self._place % len(actions)]) for actions in legal]


def test_the_share_of_moves_that_keep_the_value_is_counted(found: Plugins, tmp_path: Path) -> None:
    benchmark = pytest.importorskip("connect_four")
    path = tmp_path / "sets.tsv"
    path.write_text(LINES)
    sets = benchmark.read_sets(path)
    assert {name: len(positions) for name, positions in sets.items()} == {"end-easy": 3, "middle-easy": 1}
    game = found.game("connect-four")
    # Columns 1, 1, 1: a lost position has no wrong move, the other two have.
    first = benchmark.assess(Fixed(0), game, sets["end-easy"])
    assert first == {"value": 33.3, "positions": 3, "wrong_moves_in": 2, "value_there": 0.0}
    # Columns 4, 3, 2.
    second = benchmark.assess(Fixed(1), game, sets["end-easy"])
    assert second == {"value": 100.0, "positions": 3, "wrong_moves_in": 2, "value_there": 100.0}


def test_full_columns_are_those_of_the_rules(found: Plugins, tmp_path: Path) -> None:
    benchmark = pytest.importorskip("connect_four")
    path = tmp_path / "sets.tsv"
    path.write_text(LINES)
    game = found.game("connect-four")
    for positions in benchmark.read_sets(path).values():
        for one in positions:
            state = game.parse_state(one.moves)
            legal = list(state.legal_actions(state.active_players[0]))
            assert legal == [column for column, value in enumerate(one.values) if value is not None]
