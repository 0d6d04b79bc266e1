"""A dry run says what would be done, as JSON too, and writes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer.main

from moemcts.cli.app import make_app

SUITE = """
[tiny]
summary = "two games"
budgets = [2, 4]
routings = ["each", "majority"]
games = [{ name = "tictactoe" }, { name = "connect-four", gates = ["none"] }]
"""
SETTINGS = ["--game", "tictactoe", "--preset", "smoke", "--network", "mlp?width=8"]
COMMANDS = {
    "run": [*SETTINGS, "--gate", "plies"],
    "train": [*SETTINGS, "--gate", "plies"],
    "selfplay": SETTINGS,
    "benchmark": ["suite.toml", "--preset", "tiny"],
    "reproduce": ["pommerman"],
}


def test_these_are_all() -> None:
    commands = typer.main.get_command(make_app()).commands  # type: ignore[attr-defined]
    flags = {name: {flag for option in each.params for flag in option.opts} for name, each in commands.items()}
    assert {name for name, each in flags.items() if {"--dry-run", "--json"} <= each} == {*COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_dry_run_speaks_json(moemcts, tmp_path: Path, name: str) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "suite.toml").write_text(SUITE)
    code, out, error = moemcts(name, *COMMANDS[name], "--out", "out", "--dry-run", "--json")
    assert code == 0, error
    found = json.loads(out)
    assert [path.name for path in tmp_path.iterdir()] == ["suite.toml"]
    if name in ("run", "train", "selfplay"):
        assert found["config"]["game"] == "tictactoe"
        assert found["estimate"]["num_bytes"] > 0
    elif name == "benchmark":
        assert [unit["gates"] for unit in found] == [["plies"], ["none"]]
        assert found[0]["played"][1] == {"simulations": 2, "routing": "majority"}
    else:
        assert found["experiment"] == "pommerman"
        assert found["commands"][0][:2] == ["moemcts", "run"]


def test_a_training_is_told_stage_by_stage(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    command = ("train", *SETTINGS, "--gate", "plies?cuts=3", "--scheme", "staged", "--dry-run")
    code, out, error = moemcts(*command)
    assert code == 0, error
    assert 'gate = "plies?cuts=3"' in out
    lines = [" ".join(line.split()) for line in error.splitlines()]
    stages = [line for line in lines if " of 4 " in line]
    words = ["phase 1 phase 0", "phase 0 phase 0", "phase 0 phase 1", "phase 1 phase 1"]
    assert [" ".join(line.split()[3:7]) for line in stages] == words
    assert all(int(line.split()[-1]) == -(-int(line.split()[-2]) // 256) for line in stages), "one epoch each"
    assert "games played for this estimate" in error
    assert "matches" not in next(line for line in lines if line.startswith("estimate: "))
    numbers = json.loads(moemcts(*command, "--json")[1])
    assert [one["experts"] for one in numbers["stages"]] == [["phase 0"], ["phase 0"], ["phase 1"], ["phase 1"]]
    assert not list(tmp_path.iterdir())


def test_a_run_goes_on_with_other_processes(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    begun = ("run", *COMMANDS["run"], "--set", "data.samples=600", "--set", "match.games=2", "--set", "num_seeds=1")
    code, _, error = moemcts(*begun, "--workers", "1", "--out", "made")
    assert code == 0, error
    code, out, error = moemcts("run", "--resume", "made", "--workers", "2", "--dry-run")
    assert code == 0, error
    assert "\nworkers = 2\n" in out
    assert "\nworkers = 1\n" in (tmp_path / "made" / "config.toml").read_text()
