"""A suite runs games, gates, budgets and routings, goes on where it was, and becomes a leaderboard."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moemcts.arena.intervals import seed_interval
from moemcts.cli.main import main
from moemcts.errors import AgentFailure, DamagedFile, Failure, MissingExtra, MoemctsError, UnlawfulGame, UsageError
from moemcts.learn.fingerprint import gate_fingerprint
from moemcts.report.leaderboard import check_row, leaderboard
from moemcts.runs import benchmark
from moemcts.runs.suite import read_suite

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
"search.c_init" = 1.5
"""
ROW = {
    "suite": "tiny", "game": "a", "gate": "g", "scheme": "s", "simulations": 8, "routing": "each", "seed": 0,
    "games": 10, "points": 3.0, "low": -1.0, "high": 7.0, "loss_single": 1.0, "loss_mixture": 0.5, "hours": 0.1,
    "command": "c", "commit": "x", "machine": "m", "date": "d",
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


@pytest.mark.parametrize(
    "error",
    [
        UsageError("no gate"),
        MissingExtra("ray", "ray"),
        UnlawfulGame("expected returns"),
        AgentFailure({0: Failure("crash", "x")}, [None]),
    ],
)
def test_an_error_says_of_which_game_it_is_wherever_it_was_raised(
    error: MoemctsError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "suite.toml").write_text(SUITE)
    (unit,) = read_suite(tmp_path / "suite.toml", "tiny")

    def failing(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(benchmark.UnitRunner, "_rows", failing)
    with pytest.raises(type(error) if isinstance(error, UsageError) else MoemctsError) as raised:
        benchmark.UnitRunner(tmp_path / "out")(unit, lambda _: None)
    told = pickle.loads(pickle.dumps(raised.value))
    assert (str(told), told.exit_code) == (f"tictactoe: {error}", error.exit_code)


def test_every_budget_and_routing_has_a_row_with_its_origin(suite: Path) -> None:
    rows = [json.loads(line) for line in (suite / "out" / "rows.jsonl").read_text().splitlines()]
    assert {(row["simulations"], row["routing"]) for row in rows} == {
        (2, "each"), (2, "majority"), (4, "each"), (4, "majority")
    }  # fmt: skip
    assert {row["most"] for row in rows} == {50.0}
    assert all(row["variance"] > 0 for row in rows)
    assert all(row["games"] == 4 and row["low"] <= row["points"] <= row["high"] for row in rows)
    assert all(row.keys() >= {"command", "commit", "machine", "date", "seed", "hours", "loss_mixture"} for row in rows)
    report = (suite / "out" / "report" / "report.md").read_text()
    assert "| tictactoe | plies | separated |" in report
    assert rows[0]["cost"] == 1.0
    assert rows[0]["routings"]["each"]["agreement"] == 1.0
    assert 0 < rows[0]["routings"]["majority"]["purity"] < 1
    assert "## Which routing" in report
    assert "## At which cost" in report


def test_a_suite_says_what_each_run_is_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("moemcts.cli.progress.SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr("moemcts.work.progress.SECONDS_BETWEEN_MESSAGES", 0.0)
    (tmp_path / "suite.toml").write_text(SUITE.replace("[2, 4]", "[2]"))
    words = (tmp_path / "suite.toml", "--preset", "tiny", "--workers", 1, "--out", tmp_path / "out")
    assert command("benchmark", *words, monkeypatch=monkeypatch) == 0
    said = capsys.readouterr().err
    assert "games and seeds: 0/1 runs; tictactoe-0: training" in said
    assert re.search(r"; tictactoe-0: further games, \d/4 games\n", said)
    assert "tictactoe-0: done, 1 of 1\n" in said


def test_settings_written_as_tables_add_to_those_of_the_preset(tmp_path: Path) -> None:
    text = """
        [tables]
        summary = "paths as TOML reads them without quotes"
        preset = "laptop"
        games = [{ name = "tictactoe", settings = { match.games = 20 } }]
        settings.training.epochs = 2
        [paths]
        summary = "the same in quotes"
        preset = "laptop"
        games = [{ name = "tictactoe", settings = { "match.games" = 20 } }]
        settings = { "training.epochs" = 2 }
    """
    (tmp_path / "suite.toml").write_text(text)
    (tables,), (paths,) = (read_suite(tmp_path / "suite.toml", size) for size in ("tables", "paths"))
    config = tables.config()
    assert (config.match.games, config.training.epochs, config.training.batch_size) == (20, 2.0, 256)
    assert config == paths.config()
    assert tables.decided_by() == paths.decided_by()


def test_a_suite_that_is_done_is_not_done_again(
    suite: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (suite / "out" / "rows.jsonl").read_text()
    words = (suite / "suite.toml", "--preset", "tiny", "--workers", 1, "--out", suite / "out", "--json")
    assert command("benchmark", *words, monkeypatch=monkeypatch) == 0
    assert [json.dumps(row) for row in json.loads(capsys.readouterr().out)] == before.splitlines()
    assert (suite / "out" / "rows.jsonl").read_text() == before


@pytest.fixture
def copy(suite: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(suite, tmp_path / "copy"))


def again(folder: Path, monkeypatch: pytest.MonkeyPatch, *changes: tuple[str, str]) -> int:
    text = SUITE
    for before, now in changes:
        text = text.replace(before, now)
    (folder / "suite.toml").write_text(text)
    words = (folder / "suite.toml", "--preset", "tiny", "--workers", 1, "--out", folder / "out")
    return command("benchmark", *words, monkeypatch=monkeypatch)


@pytest.mark.parametrize("is_done", [True, False])
def test_a_suite_that_was_edited_does_not_go_on_with_what_was_made_before(
    is_done: bool, copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not is_done:
        (copy / "out" / "tictactoe-0" / "rows.json").unlink()
    assert again(copy, monkeypatch, ('"match.games" = 4', '"match.games" = 2')) == 2
    assert "was begun with other settings: match.games was 4 and is 2; put the suite" in capsys.readouterr().err
    assert again(copy, monkeypatch, ('gates = ["plies"]', 'gates = ["plies?cuts=4"]')) == 2
    assert "gates was ['plies'] and is ['plies?cuts=4']" in capsys.readouterr().err
    assert again(copy, monkeypatch, ("budgets = [2, 4]", "budgets = [4, 2]")) == 2
    assert "search.simulations was 2 and is 4" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("before", "now", "error"),
    [
        ("budgets = [2, 4]", "budgets = [2, 0]", "budgets.1: Input should be greater than or equal to 1, got 0"),
        (
            'name = "tictactoe" }',
            'name = "tictactoe" }, { name = "chess", gates = ["plys"] }',
            "chess: no gate named 'plys'",
        ),
        (
            'gates = ["plies"]',
            'gates = ["plies"]\nschemes = ["separated", "mixture"]',
            "tictactoe: scheme 'mixture' trains its own gate: expected --gate learned",
        ),
        ('gates = ["plies"]', 'gates = ["plies"]\nschemes = ["separated", "weightd"]', "did you mean 'weighted'?"),
    ],
)
def test_all_that_a_suite_names_is_looked_at_before_it_begins(
    before: str,
    now: str,
    error: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert again(tmp_path, monkeypatch, (before, now)) == 2
    assert error in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("file", "content", "error"),
    [
        ("rows.json", "[{}]", "rows.json, row 1: expected a row of a suite, but it has no 'suite'; remove the file"),
        ("rows.json", "[3]", "rows.json, row 1: expected a row of a suite, got '3'"),
        ("rows.json", "{}", "rows.json: expected a list of rows; remove"),
        ("unit.json", "[]", "unit.json does not say which settings this was begun with; remove"),
    ],
)
def test_damaged_notes_of_a_suite_are_one_line(
    file: str, content: str, error: str, copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / "out" / "tictactoe-0" / file).write_text(content)
    assert again(copy, monkeypatch) == 1
    told, found = capsys.readouterr().err.splitlines()
    assert "1 games (tictactoe)" in told
    assert error in found


def test_budgets_and_routings_that_a_suite_gains_are_played(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [json.loads(line) for line in (copy / "out" / "rows.jsonl").read_text().splitlines()]
    assert again(copy, monkeypatch, ("budgets = [2, 4]", "budgets = [2, 3]"), ('"majority"', '"queue"')) == 0
    rows = [json.loads(line) for line in (copy / "out" / "rows.jsonl").read_text().splitlines()]
    assert [(row["simulations"], row["routing"]) for row in rows] == [
        (2, "each"),
        (2, "queue"),
        (3, "each"),
        (3, "queue"),
    ]
    assert rows[0]["points"] == before[0]["points"]
    assert rows[0]["hours"] > before[0]["hours"]


def test_hours_are_those_of_all_starts(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = copy / "out" / "tictactoe-0"
    # As a start leaves it that was killed before it had rows.
    kept = [row | {"hours": 3.0} for row in json.loads((unit / "rows.json").read_text())]
    (unit / "rows.json").unlink()
    (unit / "times.json").write_text('{"starts": [{"training": 7200.0}]}')
    assert again(copy, monkeypatch) == 0
    assert {2 < row["hours"] < 2.2 for row in json.loads((unit / "rows.json").read_text())} == {True}
    # Rows of before times were kept.
    (unit / "rows.json").write_text(json.dumps(kept))
    (unit / "times.json").unlink()
    assert again(copy, monkeypatch, ("budgets = [2, 4]", "budgets = [2, 3]")) == 0
    assert {3 < row["hours"] < 3.2 for row in json.loads((unit / "rows.json").read_text())} == {True}


@pytest.mark.parametrize(
    ("gates", "arms"),
    [
        ('gates = ["plies", "plies?cuts=4"]', {("plies", "separated"), ("plies?cuts=4", "separated")}),
        ('gates = ["plies"]\nschemes = ["separated", "staged"]', {("plies", "separated"), ("plies", "staged")}),
    ],
    ids=["gates", "schemes"],
)
def test_arms_and_games_that_a_suite_gains_are_made(
    gates: str, arms: set[tuple[str, str]], copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gained = [('gates = ["plies"]', gates), ('"match.games" = 4', '"match.games" = 6')]
    experts = copy / "out" / "tictactoe-0" / "run" / "experts" / "plies-0" / "manifest.toml"
    written = experts.stat().st_mtime_ns
    (tmp_path / "whole").mkdir()
    found = []
    for folder in (copy, tmp_path / "whole"):
        assert again(folder, monkeypatch, *gained) == 0
        lines = (folder / "out" / "rows.jsonl").read_text().splitlines()
        found.append(
            [{key: row[key] for key in ROW if key not in ("hours", "command")} for row in map(json.loads, lines)]
        )
    assert found[0] == found[1]
    assert {(row["gate"], row["scheme"]) for row in found[0]} == arms
    assert {row["games"] for row in found[0]} == {6}
    assert len(found[0]) == 8
    assert experts.stat().st_mtime_ns == written


def test_all_budgets_and_routings_are_of_the_same_boards_and_searches(suite: Path) -> None:
    games, searches = [], []
    for path in sorted((suite / "out" / "tictactoe-0" / "run" / "matches").iterdir()):
        first, *lines = (json.loads(line) for line in path.read_text().splitlines())
        searches.append(first["identity"]["search"])
        games.append({line["opening"] for line in lines if "opening" in line})
    assert len(games) == 4
    assert all(one == games[0] for one in games)
    assert {search["c_init"] for search in searches} == {1.5}
    assert sorted(search["simulations"] for search in searches) == [2, 2, 4, 4]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("tiny = 3", "expected a table [tiny] with games, got 3"),
        ("", "suite.toml: expected a table [tiny] with games, got an empty file"),
        (SUITE.replace("budgets", "budget"), "suite.toml, [tiny]: "),
        (SUITE.replace("majority", "majorty"), "tictactoe: no routing named 'majorty'; did you mean 'majority'?"),
    ],
)
def test_a_suite_that_is_none_is_one_line(
    text: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "suite.toml").write_text(text)
    assert command("benchmark", tmp_path / "suite.toml", "--preset", "tiny", monkeypatch=monkeypatch) == 2
    assert error in capsys.readouterr().err


def test_a_suite_that_is_not_done_has_no_report_yet(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / "out" / "rows.jsonl").unlink()
    assert command("report", copy / "out", monkeypatch=monkeypatch) == 2
    assert "or a suite that is done, with a rows.jsonl, in" in capsys.readouterr().err


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


def two_seeds(*points: float, **others: Any) -> list[dict[str, Any]]:
    return [{**ROW, **others, "seed": seed, "points": one} for seed, one in enumerate(points)]


def test_seeds_are_pooled_over_their_means() -> None:
    (line,) = leaderboard(two_seeds(2.0, 4.0, low=2.9, high=3.1), "two seeds").numbers["lines"]
    assert (line["points"], line["games"], line["seeds"]) == (3.0, 20, 2)
    # t of one degree of freedom is 12.706, the standard error 1.
    assert line["high"] == pytest.approx(3 + 12.706, abs=1e-3)
    (alone,) = leaderboard([ROW], "one seed").numbers["lines"]
    assert (alone["low"], alone["high"]) == (-1.0, 7.0)


def test_lines_of_one_seed_are_said_to_hold_for_its_networks_alone() -> None:
    rows = [*two_seeds(1.0, 2.0), {**ROW, "suite": "large"}]
    told = "not corrected for their number, 1 of them for the networks of one training seed alone; "
    assert told in leaderboard(rows, "joined").summary
    assert "alone" not in leaderboard(rows[:2], "two seeds").summary


def test_seeds_that_are_alike_by_chance_are_as_uncertain_as_their_games() -> None:
    (line,) = leaderboard(two_seeds(5.0, 5.0, low=-5.0, high=15.0), "two seeds").numbers["lines"]
    # t of 14 degrees of freedom is 2.145: a standard error of 10 / 2.145 each, of the mean less by the root of two.
    assert line["high"] == pytest.approx(5 + 12.706 * 10 / 2.145 / 2**0.5, rel=1e-3)


def test_an_interval_over_seeds_is_that_of_their_games_and_within_what_is_possible() -> None:
    boards = ["a", "a", "b", "b", "c", "c", "d", "d"]
    alone = seed_interval([[0.5] * 8], [boards], bounds=(-0.5, 0.5))
    found = seed_interval([[0.5] * 8] * 3, [boards] * 3, bounds=(-0.5, 0.5))
    numbers = {"games": 8, "low": 100 * alone.low, "high": 100 * alone.high, "most": 50.0}
    report = leaderboard(two_seeds(50.0, 50.0, 50.0, **numbers), "all won")
    (line,) = report.numbers["lines"]
    assert (line["points"], line["high"]) == (50.0, 50.0)
    assert line["low"] == pytest.approx(100 * found.low) == pytest.approx(-19.8, abs=0.1)
    assert "0 are better" in report.summary
    del numbers["most"]
    (line,) = leaderboard(two_seeds(50.0, 50.0, 50.0, **numbers), "of an older suite").numbers["lines"]
    assert line["high"] == 100


def test_a_row_that_says_its_variance_is_as_uncertain_as_its_boards() -> None:
    """Four boards of four games, which a seat's games alone would take for sixteen."""
    rng = np.random.default_rng(0)
    boards = np.repeat(np.arange(4), 4)
    # Both seeds have the same mean, so that the interval is that of their games.
    games = [rng.permutation(4)[boards] / 10 for _ in range(2)]
    found, (one, other) = seed_interval(games, [boards] * 2), (seed_interval([group], [boards]) for group in games)
    numbers = [
        {"games": 16, "low": 100 * each.low, "high": 100 * each.high, "variance": 100**2 * each.own_variance}
        for each in (one, other)
    ]
    rows = [{**row, **own} for row, own in zip(two_seeds(15.0, 15.0), numbers, strict=True)]
    (line,) = leaderboard(rows, "four boards").numbers["lines"]
    assert (line["low"], line["high"]) == pytest.approx((100 * found.low, 100 * found.high))
    with pytest.raises(DamagedFile, match="expected a number as 'variance', got 'none'"):
        check_row({**ROW, "variance": "none"}, "a row")


def test_joined_suites_are_lines_of_their_own_and_a_seed_counts_once() -> None:
    rows = [*two_seeds(1.0, 2.0), *two_seeds(3.0, 4.0, suite="large", hours=0.5)]
    report = leaderboard(rows, "joined")
    assert [(line["suite"], line["seeds"]) for line in report.numbers["lines"]] == [("large", 2), ("tiny", 2)]
    assert report.sections[0].tables[0].columns[0] == "suite"
    assert "1.20 hours of work" in report.summary
    with pytest.raises(UsageError, match="expected a row per training seed, got 2 of seed 0: suite tiny, game a"):
        leaderboard([*rows, ROW], "one of them twice")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (json.dumps(ROW)[:50].encode(), 'line 2: expected a row of a suite as JSON, got \'{"suite"'),
        (b"3", "line 2: expected a row of a suite, got '3'"),
        (json.dumps({**ROW, "seed": None}).encode(), "line 2: expected a number as 'seed', got None"),
        (b"{}", "line 2: expected a row of a suite, but it has no 'suite'"),
        (b"\xff", "is not UTF-8 text"),
    ],
)
def test_damaged_rows_are_one_line(
    line: bytes, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.jsonl").write_bytes(json.dumps(ROW).encode() + b"\n" + line)
    assert command("report", tmp_path, monkeypatch=monkeypatch) == 1
    found = capsys.readouterr().err
    assert error in found
    assert len(found.splitlines()) == 1


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
