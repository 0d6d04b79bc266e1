"""A suite runs games, gates, budgets and routings, goes on where it was, and becomes a leaderboard."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from moemcts.cli.main import main
from moemcts.learn.fingerprint import gate_fingerprint
from moemcts.report.leaderboard import leaderboard
from moemcts.runs.benchmark import read_suite

ROOT = Path(__file__).parent.parent.parent
SUITE = """
[tiny]
summary = "one game"
budgets = [2, 4]
routings = ["each", "majority"]
gates = ["plies"]
games = [{ name = "tictactoe" }]
[tiny.settings]
network = "mlp?width=8&layers=1"
"data.samples" = 300
"match.games" = 4
"match.raw_games" = 0
"""
ROW = {
    "game": "a", "gate": "g", "scheme": "s", "simulations": 8, "routing": "each", "seed": 0, "games": 10, "points": 3.0,
    "low": -1.0, "high": 7.0, "loss_single": 1.0, "loss_mixture": 0.5, "hours": 0.1, "command": "c", "commit": "x",
    "machine": "m", "date": "d",
}  # fmt: skip


def command(*words: object, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["moemcts", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    (folder / "suite.toml").write_text(SUITE)
    with pytest.MonkeyPatch.context() as monkeypatch:
        words = (folder / "suite.toml", "--preset", "tiny", "--workers", 1, "--out", folder / "out")
        assert command("benchmark", *words, monkeypatch=monkeypatch) == 0
    return folder


def test_every_budget_and_routing_has_a_row_with_its_origin(suite: Path) -> None:
    rows = [json.loads(line) for line in (suite / "out" / "rows.jsonl").read_text().splitlines()]
    assert {(row["simulations"], row["routing"]) for row in rows} == {
        (2, "each"), (2, "majority"), (4, "each"), (4, "majority")
    }  # fmt: skip
    assert all(row["games"] == 4 and row["low"] <= row["points"] <= row["high"] for row in rows)
    assert all(row.keys() >= {"command", "commit", "machine", "date", "seed", "hours", "loss_mixture"} for row in rows)
    report = (suite / "out" / "report" / "report.md").read_text()
    assert "| tictactoe | plies | separated |" in report
    assert rows[0]["cost"] == 1.0
    assert rows[0]["routings"]["each"]["agreement"] == 1.0
    assert 0 < rows[0]["routings"]["majority"]["purity"] < 1
    assert "## Which routing" in report
    assert "## At which cost" in report


def test_a_suite_that_is_done_is_not_done_again(
    suite: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (suite / "out" / "rows.jsonl").read_text()
    words = (suite / "suite.toml", "--preset", "tiny", "--workers", 1, "--out", suite / "out", "--json")
    assert command("benchmark", *words, monkeypatch=monkeypatch) == 0
    assert [json.dumps(row) for row in json.loads(capsys.readouterr().out)] == before.splitlines()
    assert (suite / "out" / "rows.jsonl").read_text() == before


def test_reports_are_written_anew_and_runs_are_compared(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = suite / "out" / "tictactoe-0" / "run"
    assert not (run / "report").exists()
    assert command("report", run, monkeypatch=monkeypatch) == 0
    assert (run / "report" / "report.html").exists()
    capsys.readouterr()
    other = tmp_path / "other"
    other.symlink_to(run)
    assert command("report", run, other, monkeypatch=monkeypatch) == 2
    assert "got one twice" in capsys.readouterr().err
    assert command("report", suite / "out", "--out", tmp_path / "joined", monkeypatch=monkeypatch) == 0
    assert "majority" in capsys.readouterr().out
    assert command("report", run, "--json", monkeypatch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["runs"][str(run)]["single"]["num_seeds"] == 1


def test_seeds_are_pooled_over_their_means() -> None:
    rows: list[dict[str, Any]] = [{**ROW, "seed": seed, "points": points} for seed, points in enumerate((2.0, 4.0))]
    (line,) = leaderboard(rows, "two seeds").numbers["lines"]
    assert (line["points"], line["games"], line["seeds"]) == (3.0, 20, 2)
    # t of one degree of freedom is 12.706, the standard error 1.
    assert line["high"] == pytest.approx(3 + 12.706, abs=1e-3)
    (alone,) = leaderboard([ROW], "one seed").numbers["lines"]
    assert (alone["low"], alone["high"]) == (-1.0, 7.0)


def test_a_leaderboard_says_which_gate_and_which_routing() -> None:
    def routings(agreement: float, speed: float) -> dict[str, dict[str, float]]:
        exact = {"agreement": 1.0, "kl": 0.0, "value": 0.0, "purity": 1.0, "positions_per_second": 100.0}
        return {"each": exact, "majority": {**exact, "agreement": agreement, "positions_per_second": speed}}

    rows: list[dict[str, Any]] = [
        {**ROW, "gate": "weak", "points": -2.0, "cost": 1.0, "routings": routings(0.5, 300.0)},
        {**ROW, "gate": "good", "points": 6.0, "cost": 3.0, "routings": routings(0.7, 100.0), "loss_mixture": 0.25},
        {**ROW, "gate": "good", "points": 4.0, "routing": "majority", "cost": 3.0, "routings": routings(0.7, 100.0)},
    ]
    report = leaderboard(rows, "two gates")
    tables = {section.title: section.tables[0].rows for section in report.sections if section.tables}
    assert tables["Which gate"] == [["a", "good", 1, "+6.0", "0.7500"], ["a", "weak", 1, "-2.0", "0.5000"]]
    assert tables["Which routing"] == [
        ["each", 2, "100.0", "100.0", "0.0000", "1.00", "+2.0 (2)"],
        ["majority", 2, "60.0", "100.0", "0.0000", "2.00", "+4.0 (1)"],
    ]
    assert [row[:3] for row in tables["At which cost"]] == [["s", "3", 1], ["s", "1", 1]]
    assert "Which routing" not in [section.title for section in leaderboard([ROW], "as it was").sections]


@pytest.mark.parametrize("preset", ["smoke", "laptop", "full"])
def test_the_suite_that_comes_with_the_source_is_whole(preset: str) -> None:
    from moemcts.plugins import plugins

    if "openspiel:" not in plugins().games:
        pytest.skip("moemcts-openspiel is not installed")
    units = read_suite(ROOT / "benchmarks" / "suite.toml", preset)
    assert len({unit.game.name for unit in units}) >= 8
    for unit in units:
        gates = unit.config().gates
        if len(gates) > 1:
            game = plugins().game(unit.game.name)
            found = {gate_fingerprint(plugins().gate(gate, game), game) for gate in gates}
            assert len(found) == len(gates), f"two gates of {unit.game.name} are the same"
