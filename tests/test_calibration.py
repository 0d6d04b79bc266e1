"""The simulated matches by which intervals and tests are checked have the differences that they claim."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from moemcts.arena.rating import elo_of_score, normalized_elo

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import calibration


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_equal_players_draw_as_often_as_asked_and_differences_are_reached(share: float) -> None:
    equal = calibration.pairs_between(0.0, share)
    assert equal.score == pytest.approx(0.5)
    assert equal.results[1].sum() == pytest.approx(share, abs=1e-6)
    assert equal.results[2, 2] < equal.results[2].sum() * equal.results[:, 2].sum() or not share, (
        "an opening that favours one player in one game favours the other one in the next"
    )
    stronger = calibration.pairs_with(30.0, share, "pentanomial")
    assert elo_of_score(stronger.score) == pytest.approx(30.0)
    counts = [round(1e6 * share) for share in calibration.pairs_with(30.0, share, "normalized").points]
    found = normalized_elo(counts)
    assert found is not None
    assert found[0] == pytest.approx(30.0, abs=0.05)


def test_counts_of_points_and_of_games_are_those_of_the_results() -> None:
    results = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    assert calibration.points_of(results).tolist() == [1, 2 + 4, 3 + 5 + 7, 6 + 8, 9]
    # Lost, drawn, won: of the first games 6, 15 and 24, of the second ones 12, 15 and 18.
    assert calibration.by_games(results).num_games == 90
    assert calibration.by_games(results).estimate == pytest.approx(elo_of_score((42 + 30 / 2) / 90))
    assert calibration.by_pairs(results).estimate == pytest.approx(calibration.by_games(results).estimate)
    assert calibration.by_student(results).difference == pytest.approx(calibration.by_games(results).estimate)


def test_rows_say_how_often_and_have_their_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from measuring import record
    from results_page import calibration as page

    monkeypatch.setattr(record, "RESULTS", tmp_path)
    monkeypatch.setattr(calibration, "DRAWS", {"half drawn": 0.5})
    monkeypatch.setattr(sys, "argv", ["calibration.py", "--matches", "200", "--tests", "8", "--record"])
    calibration.main()
    rows = [json.loads(line) for line in (tmp_path / "calibration.jsonl").read_text().splitlines()]
    assert len({row["name"] for row in rows}) == len(rows) == len(capsys.readouterr().out.splitlines())
    verdicts = [row for row in rows if row["kind"] == "interval" and "Student" in row["method"]]
    assert all(88 < row["value"] < 100 for row in verdicts)
    tests = [row for row in rows if row["kind"] == "test"]
    assert sorted(row["elo1"] for row in tests) == [20, 20, 100, 100]
    assert not any(row["undecided"] for row in tests)
    short, long = (sum(row["mean_pairs"] for row in tests if row["elo1"] == elo1) for elo1 in (100, 20))
    assert 10 * short < long, "a small difference takes far longer to tell"
    assert all(row["value"] > 85 for row in rows if row["kind"] in ("seeds", "ratings"))
    assert "| half drawn, 50 pairs |" in page.calibration()
