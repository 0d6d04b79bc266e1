"""Helps are there at once, and can be read on any terminal."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

COMMANDS_OF_OURS = [["--version"], ["run", "--help"], ["gate", "--help"], ["play", "--bogus"]]


def imported_by(*words: str) -> set[str]:
    """Returns the modules that a command imports."""
    code = "import json, sys\nfrom moemcts.cli.main import main\nsys.argv = ['moemcts', *json.loads(sys.argv[1])]\n"
    code += "try: main()\nexcept SystemExit: print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code, json.dumps(words)], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("words", COMMANDS_OF_OURS)
def test_commands_of_ours_are_told_without_games_and_numbers(words: list[str]) -> None:
    assert not imported_by(*words) & {"numpy", "rich", "moemcts.builtins", "torch"}


def test_the_help_of_all_commands_imports_plugins_and_little_that_they_compute_with() -> None:
    found = imported_by("--help")
    assert "moemcts_chess.commands" in found
    assert not found & {
        "torch",
        "pydantic",
        "rich",
        "filelock",
        "moemcts.search",
        "moemcts.arena",
        "moemcts.learn.data",
    }


def test_a_game_without_its_option_is_told_of_it(moemcts) -> None:  # type: ignore[no-untyped-def]
    for words in ("play tictactoe", "run tictactoe --gate plies", "selfplay hex?size=3"):
        code, _, error = moemcts(*words.split())
        assert code == 2
        assert error.endswith(f"; did you mean --game {words.split()[1]}?\n")
    assert "did you mean" not in moemcts("doctor", "tictactoe")[2] + moemcts("run", "nothing")[2]


@pytest.mark.parametrize("columns", [24, 40, 60, 80, 200])
@pytest.mark.parametrize("command", ["", "run", "match", "data import"])
def test_helps_are_as_wide_as_the_terminal(
    command: str,
    columns: int,
    moemcts,  # type: ignore[no-untyped-def]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, _ = moemcts(*command.split(), "--help")
    assert code == 0
    widest = max(len(line.rstrip()) for line in out.splitlines())
    # A word of an option is in one piece.
    assert widest <= max(columns, 34)
    assert widest <= 80


@pytest.mark.parametrize("environment", [{}, {"FORCE_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}])
def test_helps_and_refusals_are_plain_text(
    environment: dict[str, str],
    moemcts,  # type: ignore[no-untyped-def]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for words in (["--help"], ["run", "--help"], ["run", "--bogus"], ["runn"]):
        _, out, error = moemcts(*words)
        assert (out + error).isascii()
        assert "\x1b" not in out + error
