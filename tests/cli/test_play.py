"""`moemcts play` from the command line."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from moemcts.cli.main import main
from moemcts.plugins import plugins


def run(text: str, monkeypatch: pytest.MonkeyPatch, answers: list[str] | None = None) -> int:
    given = iter(answers or [])

    def answer(prompt: str) -> str:
        try:
            return next(given)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr(sys, "argv", ["moemcts", "play", *text.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_a_game_is_played_to_its_end(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    every_cell = [f"{column}{row}" for row in "123" for column in "abc"] + list("123456789abcdefghi")
    assert run("--game tictactoe --against random --seed 1", monkeypatch, every_cell * 2) == 0
    text = capsys.readouterr().out
    assert "player 1 (random): " in text
    assert re.search(r"result: player 0 \(you\) ([+-]1|\+0), player 1 \(random\) ([+-]1|\+0)\n", text)


@pytest.mark.parametrize("word", ["quit", "exit", " QUIT "])
def test_a_person_may_leave(word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--game tictactoe --against random", monkeypatch, ["nonsense", word]) == 0
    shown = capsys.readouterr()
    assert "or quit" in shown.err
    assert "result" not in shown.out


def test_the_end_of_the_input_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--game tictactoe --against random", monkeypatch) == 2
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1
    assert shown.out.endswith("\n\n"), "the prompt's line is not ended"


def test_a_closed_input_is_one_line() -> None:
    command = f"{Path(sys.executable).parent / 'moemcts'} play --game tictactoe --against random <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "expected a move, but the input has ended" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("where", ["", " --web --no-browser"])
@pytest.mark.parametrize("against", ["random", "uct?simulations=9"])
def test_simulations_that_nobody_takes_are_refused(
    where: str, against: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"--game tictactoe --against {against} --simulations 50{where}", monkeypatch) == 2
    assert "--simulations has no effect here: every agent" in capsys.readouterr().err


def test_simulations_are_those_of_an_agent_without_a_network_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--game tictactoe --against uct --simulations 3 --seat 1", monkeypatch, ["quit"]) == 0
    assert "(uct?simulations=3" in capsys.readouterr().out


def test_what_is_no_text_is_asked_again(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    typed = io.BytesIO(b"\xff\xfe\nquit\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(typed, encoding="utf-8"))
    monkeypatch.setattr(sys, "argv", ["moemcts", "play", "--game", "tictactoe", "--against", "random"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    shown = capsys.readouterr().err
    assert "got '\ufffd\ufffd'" in shown
    assert "crash" not in shown


def test_a_standard_input_that_was_read_from_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = io.TextIOWrapper(io.BytesIO(b"first\nquit\n"), encoding="utf-8")
    assert typed.readline() == "first\n"
    monkeypatch.setattr(sys, "stdin", typed)
    monkeypatch.setattr(sys, "argv", ["moemcts", "play", "--game", "tictactoe", "--against", "random"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code


@pytest.mark.parametrize(("game", "is_listed"), [("tictactoe", True), ("chess", False)])
def test_moves_are_listed_where_they_are_few_or_asked_for(
    game: str, is_listed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = plugins().game(game)
    start = made.initial_state(0)
    moves = " ".join(made.format_action(start, 0, action) for action in start.legal_actions(0))
    prompts: list[str] = []
    given = iter(["nonsense", "?", "quit"])

    def answer(prompt: str) -> str:
        prompts.append(prompt)
        return next(given)

    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr(sys, "argv", ["moemcts", "play", "--game", game, "--against", "random"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    shown = capsys.readouterr()
    assert shown.err == "expected one of the moves that ? lists, or quit, got 'nonsense'\n"
    assert shown.out.endswith(f"\n{moves}\n")
    assert [moves in prompt for prompt in prompts] == [is_listed] * 3
    assert is_listed or prompts[0] == "player 0, your move, ? for all 20, or quit: "
