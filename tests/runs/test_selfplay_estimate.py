"""How long self-play will take, before anything is played."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from selfplay_for_tests import selfplay

from moemcts.agents import RandomAgent
from moemcts.learn.training.config import TrainerConfig
from moemcts.plugins import plugins
from moemcts.runs.experiment.estimate import (
    OPTIMISER_IMPORT,
    STAGE_OVERHEAD,
    WORKER_START,
    Estimate,
    assumed_conditions,
    sample_games,
)
from moemcts.runs.selfplay import estimate
from moemcts.runs.times import duration


def test_matches_take_less_time_where_processes_share_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = sample_games(plugins().game("tictactoe"), [RandomAgent()] * 2)
    monkeypatch.setattr(estimate, "sample_games", lambda *_: played)
    monkeypatch.setattr(estimate, "decision_seconds", lambda *_: 1.0)

    def seconds(**changes: Any) -> float:
        run = selfplay(tmp_path / str(len([*tmp_path.iterdir()])), gauntlet={"parallel": 1}, **changes)
        return estimate.selfplay_estimate(run).matches or 0.0

    # Of four games each: a promotion is one share by default, a gauntlet here four.
    alone = seconds(workers=1)
    assert seconds(workers=1, promotion={"parallel": 1}) == seconds(workers=8, games={"ahead": True}) == alone
    gauntlets = (alone - seconds(workers=2)) * 2
    assert 0 < gauntlets < alone
    assert seconds(workers=8) == pytest.approx(alone - gauntlets * 3 / 4)
    assert seconds(workers=2, promotion={"parallel": 1}) == pytest.approx(alone / 2)


def test_each_stage_and_each_start_of_processes_takes_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "network_rate", lambda *_: (math.inf, 100))
    monkeypatch.setattr(estimate, "encoding_rate", lambda *_: math.inf)
    monkeypatch.setattr(estimate, "decision_seconds", lambda *_: 0.0)

    def expected(**changes: Any) -> Estimate:
        run = selfplay(tmp_path / str(len([*tmp_path.iterdir()])), **changes)
        return estimate.selfplay_estimate(run)

    for changes, num_stages in (({}, 9), ({"generations": 1}, 3), ({"scheme": "general_first"}, 12)):
        assert expected(**changes).training == OPTIMISER_IMPORT + num_stages * STAGE_OVERHEAD
    for changes, num_starts in (({"workers": 1}, 0), ({"workers": 2}, 1), ({"games": {"ahead": True}}, 3)):
        assert expected(**changes).data == num_starts * WORKER_START


def test_games_played_ahead_take_no_time_of_their_own_where_there_are_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = sample_games(plugins().game("tictactoe"), [RandomAgent()] * 2)
    monkeypatch.setattr(estimate, "sample_games", lambda *_: played)
    monkeypatch.setattr(estimate, "decision_seconds", lambda *_: 1.0)
    monkeypatch.setattr(estimate, "network_rate", lambda *_: (1.0, 100))

    def expected(cores: int, **games: Any) -> Estimate:
        monkeypatch.setattr(estimate, "num_cores", lambda: cores)
        return estimate.selfplay_estimate(selfplay(tmp_path / f"{cores}{games}", workers=2, games=games))

    alone, ahead, crowded = expected(3), expected(3, ahead=True), expected(2, ahead=True)
    assert alone.at_once == 0
    assert alone.total == sum(alone._parts().values())
    # Of three generations two learn while games are played.
    learning = ahead.training - OPTIMISER_IMPORT + (ahead.matches or 0.0)
    assert ahead.at_once == pytest.approx(min(ahead.data, learning) * 2 / 3)
    # Three processes on two cores.
    assert crowded.at_once == pytest.approx(ahead.at_once / 2)
    assert f"; {duration(ahead.at_once)} of it in parallel), " in ahead.describe()
    assert "in parallel" not in alone.describe()
    assert ahead.total < alone.total


def test_what_a_slow_network_leaves_out_of_a_search_is_in_the_estimate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = sample_games(plugins().game("tictactoe"), [RandomAgent()] * 2)
    asked: list[int | None] = []

    def a_second_per_simulation(_: Any, agent: Any, games: Any) -> float:
        asked.append(agent.config.simulations)
        return float(agent.config.simulations)

    monkeypatch.setattr(estimate, "sample_games", lambda *_: played)
    monkeypatch.setattr(estimate, "decision_seconds", a_second_per_simulation)

    def data(rate: float) -> float:
        monkeypatch.setattr(estimate, "network_rate", lambda *_: (rate, 100))
        run = selfplay(tmp_path / str(rate), search={"simulations": 400})
        return estimate.selfplay_estimate(run).data

    assert data(100) == pytest.approx(data(1e9))
    assert asked == [16, 400]


@pytest.mark.parametrize("training", [{"threads": 2}, {"device": "cuda"}])
def test_an_estimate_says_what_a_training_is_told_for_that_will_be_done_otherwise(training: dict[str, Any]) -> None:
    told = "; training is estimated for one thread of this processor"
    one = Estimate(
        data=1.0,
        training=2.0,
        report=3.0,
        num_bytes=0,
        assumed_conditions=assumed_conditions(TrainerConfig(**training)),
    )
    assert one.describe().endswith(f" on disk{told}")
    assert not assumed_conditions(TrainerConfig(device="cpu", threads=1))


def test_what_is_learned_is_no_more_than_the_newest_games_are_a_share_of(tmp_path: Path) -> None:
    def learned(**replay: Any) -> float:
        run = selfplay(tmp_path / str(replay), replay=replay, training={"epochs": 1})
        return estimate._num_learned(run, samples=100, window_sizes=[1, 2, 3])

    passes = learned(generations=1, newest=0.0) / 600
    assert learned(newest=0.5) == pytest.approx(passes * (100 + 200 + 200))
    assert learned(newest=0.5, drawn=150) == pytest.approx(passes * (100 + 150 + 150))
    assert learned(drawn=250) == pytest.approx(passes * (100 + 200 + 250))


def test_without_a_search_all_decisions_are_alike(tmp_path: Path) -> None:
    run = selfplay(tmp_path / "run", games={"searched": False, "full_share": 0.5, "fast_simulations": 2})
    assert estimate._simulations_per_decision(run.config) == 1
    assert estimate._searched_share(run.config) == 1
