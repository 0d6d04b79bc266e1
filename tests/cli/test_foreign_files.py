"""Files of others start no program, fetch nothing and connect to nobody."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rows_for_tests import ROW
from trained_for_tests import save_team

from moemcts.errors import MoemctsError, UsageError
from moemcts.plugins import plugins
from moemcts.runs.benchmark import UnitRunner
from moemcts.runs.experiment.run import Experiment
from moemcts.runs.match import MatchPlan, resume_plan
from moemcts.runs.suite import read_suite
from moemcts.store import write_json

PROGRAM = "uci?path=/nowhere/evil.sh"
TITLE = "\x1b]0;pwn\x07"
"""Renames a terminal's window."""
SUITE = """
[tiny]
summary = "one game"
games = [{ name = "%s", gates = ["plies"] }]
[tiny.settings]
"data.agent" = "%s"
"""


@pytest.mark.parametrize("where", ["match", "table of a tournament"])
@pytest.mark.parametrize(
    ("written", "told", "is_taken"),
    [
        ("uci", PROGRAM, False),
        ("uct", "uct?simulations=9", True),
        ("{team}", "{team}?else=https://127.0.0.1:1/evil&only=phase 0", False),
        ("{team}", "{team}?value=hf:nobody/evil", False),
        ("{team}?value=auto", "{team}?value=https://127.0.0.1:1/evil", False),
        ("{team}?backend=auto", "{team}?backend=torch&precision=bf16&device=cpu", True),
    ],
)
def test_a_match_file_chooses_what_runs_networks_and_no_program(
    written: str, told: str, is_taken: bool, where: str, tmp_path: Path
) -> None:
    save_team(tmp_path / "team")
    written, told = (text.format(team=tmp_path / "team") for text in (written, told))
    agents = {written: told}
    header = {"identity": {"agents": agents}} if where == "match" else {"agents": agents, "identity": {}}
    (tmp_path / "games.jsonl").write_text(json.dumps(header) + "\n")
    plan = MatchPlan(game="chess", agents=(written, "random"))
    assert resume_plan(plan, tmp_path / "games.jsonl").resolved == (agents if is_taken else {})


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_a_suite_starts_no_program_unless_that_is_allowed(moemcts, tmp_path: Path, options: list[str]) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "suite.toml").write_text(SUITE % ("chess", PROGRAM))
    command = ["benchmark", "suite.toml", "--preset", "tiny", "--out", "out", *options]
    code, _, error = moemcts(*command)
    assert code == 2
    assert f"suite.toml: data.agent = {PROGRAM!r} runs a program on this machine through agent 'uci'" in error
    code, _, error = moemcts(*command, "--allow-programs")
    assert code
    assert "allow-programs" not in error
    assert "/nowhere/evil.sh" in error


def test_a_suite_against_programs_goes_on_where_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = plugins().agents
    monkeypatch.setitem(agents, "engine", replace(agents["random"], name="engine", runs_programs=True))
    (tmp_path / "suite.toml").write_text(SUITE % ("tictactoe", "engine"))
    (unit,) = read_suite(tmp_path / "suite.toml", "tiny", allow_programs=True)
    Experiment.create(tmp_path / unit.name / "run", unit.config())
    # As of a suite that has gained a gate since.
    write_json(tmp_path / unit.name / "unit.json", {**unit.decided_by(), "gates": []})
    UnitRunner(tmp_path, allow_programs=True).check(unit)
    with pytest.raises(UsageError, match="runs a program on this machine through agent 'engine'"):
        UnitRunner(tmp_path).check(unit)


def test_settings_connect_to_no_cluster_unless_that_is_allowed(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "ray.toml").write_text('workers = "ray://127.0.0.1:1"\nnetwork = "mlp?width=8"\n')
    command = ["selfplay", "--game", "tictactoe", "--config", "ray.toml", "--dry-run"]
    code, _, error = moemcts(*command)
    assert code == 2
    assert "ray.toml: workers = 'ray://127.0.0.1:1' is a cluster, which could run code here; give --allow-pr" in error
    code, out, error = moemcts(*command, "--allow-programs")
    assert code == 0, error
    # Of a run that was begun, too.
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text(out)
    code, _, error = moemcts("selfplay", "--resume", "run", "--dry-run")
    assert code == 2
    assert f"{Path('run', 'config.toml')}: workers = 'ray://127.0.0.1:1' is a cluster" in error
    (tmp_path / "ray.toml").write_text('workers = "ray"\nnetwork = "mlp?width=8"\n')
    code, _, error = moemcts(*command)
    assert code == 0, error


def test_a_terminal_obeys_no_manifest(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    manifest = save_team(tmp_path / "team") / "manifest.toml"
    text = manifest.read_text()
    manifest.write_text(re.sub("^scheme = .*$", 'scheme = "\\\\u001b]0;pwn\\\\u0007"', text, flags=re.MULTILINE))
    code, out, error = moemcts("weights", "show", "team")
    assert code == 0, error
    assert TITLE not in out
    assert "scheme     ?]0;pwn?\n" in out
    assert json.loads(moemcts("weights", "show", "team", "--json")[1])["scheme"] == TITLE


def test_a_terminal_obeys_no_row_of_a_suite(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "rows.jsonl").write_text(json.dumps({**ROW, "game": TITLE}) + "\n")
    code, out, error = moemcts("report", "suite")
    assert code == 0, error
    assert TITLE not in out
    assert "?]0;pwn?" in out


def test_a_terminal_obeys_no_error(moemcts, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    def failing() -> None:
        raise MoemctsError(f"expected Züge, got {TITLE}\nand more")

    monkeypatch.setattr("moemcts.cli.app.make_app", failing)
    assert moemcts("games") == (1, "", "error: expected Züge, got ?]0;pwn?\nand more\n")
