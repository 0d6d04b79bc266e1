"""Generations are measured and promoted: in every kind of game, by any number of processes."""

from __future__ import annotations

from pathlib import Path

from selfplay_for_tests import selfplay

from moemcts.store import read_json
from moemcts.work.progress import unheard


def test_generations_of_a_team_game_are_measured(tmp_path: Path) -> None:
    gauntlet = {"games": 6, "opponents": ["random"], "simulations": 0}
    run = selfplay(tmp_path, game="pommerman-team?max_steps=10", gate="none", generations=1, gauntlet=gauntlet)
    run.do("start", unheard)
    run.do("measure-0000", unheard)
    (measured,) = read_json(tmp_path / "matches" / "measure-0000.json")
    assert sum(measured["counts"]) == 6
