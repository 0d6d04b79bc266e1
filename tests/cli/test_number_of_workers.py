"""Where no number of workers is given, as many work as this machine has cores."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs_for_tests import experiment
from selfplay_for_tests import selfplay

from moemcts.errors import UsageError
from moemcts.runs import match as matches
from moemcts.runs.experiment import run as experiments
from moemcts.runs.match import Match, MatchPlan
from moemcts.runs.selfplay import playing
from moemcts.work import InProcess, workers


def test_runs_are_done_by_as_many_as_there_are_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "num_cores", lambda: 7)
    assert [experiment(tmp_path / str(number), workers=number).num_workers for number in (0, 3)] == [7, 3]


def test_games_of_self_play_are_played_by_as_many_as_there_are_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playing, "num_cores", lambda: 7)
    counts = [selfplay(tmp_path / str(number), workers=number).playing.match_workers().count for number in (0, 3)]
    assert counts == [7, 3]


def test_a_match_is_played_by_as_many_as_there_are_cores_and_games(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int | str] = []

    def workers(count: int | str, *, hint: str) -> InProcess:
        asked.append(count)
        return InProcess()

    monkeypatch.setattr(matches, "num_cores", lambda: 7)
    monkeypatch.setattr(matches, "workers", workers)
    for num_workers, num_games in ((0, 8), (0, 4), (3, 8), (1, 8)):
        plan = MatchPlan(
            game="tictactoe", agents=("random", "uct?simulations=2"), num_games=num_games, num_workers=num_workers
        )
        Match(plan).play()
    assert asked == [7, 4, 3, 1]


def test_more_processes_than_any_machine_can_use_are_refused() -> None:
    with pytest.raises(UsageError, match="expected at most 1024 processes on this machine, got 100000"):
        workers(100_000)
