"""What the command line says, word for word.

`MOEMCTS_WRITE_SNAPSHOTS=1 pytest tests/cli/test_snapshots.py` rewrites it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

import moemcts_chess.plugin
import moemcts_classics.plugin
import moemcts_pommerman.plugin
import moemcts_tictactoe
from moemcts import builtins
from moemcts.cli import lists
from moemcts.cli.app import make_app
from moemcts.cli.main import main
from moemcts.plugins import Plugins

ROOT = Path(__file__).parents[2]
SNAPSHOTS = Path(__file__).parent / "snapshots"
BUILT_IN = Plugins(
    [
        ("builtins", builtins),
        ("chess", moemcts_chess.plugin),
        ("classics", moemcts_classics.plugin),
        ("pommerman", moemcts_pommerman.plugin),
        ("tictactoe", moemcts_tictactoe),
    ]
)
ERRORS = [
    "run --bogus",
    "run --game tictactoe --gate plys",
    "run --game tictactoe --gate plies --gate plies",
    "run --game tictactoe --preset smok",
    "run --game tictactoe --set search.simulation=3",
    "run --game tictactoe --set search.simulations=0",
    "run --game tictactoe --set training.epochs=inf",
    "run --game tictactoe --set nonsense",
    "run --game tictactoe --network rise-tin",
    "run --game chess --set data.folder=x --set data.agent=random",
    "run --game chess --preset paper",
    "run --resume nowhere",
    "run --resume nowhere --game tictactoe",
    "run --config none.toml",
    "train --game tictactoe --data nowhere",
    "train --game tictactoe --baseline nowhere",
    "train --resume nowhere",
    "match --game pommerman --agent sample",
    "match --game pommerman --agent simple --agent simple",
    "export nowhere",
]

MISTAKES = [
    "play",
    "play chess",
    "play --game ches",
    "play --game Chess",
    "play --game connect4",
    "play --game chess?planes=v9",
    "play --game chess?plane=v1",
    "play --game pommerman?env=nothing",
    "play --game chess --against weights",
    "play --game chess --against weights:",
    "play --game chess --against weights:ches",
    "play --game chess --against weights:pommerman",
    "play --game connect-four --against weights:chess",
    "play --game chess --against stockfish",
    "play --game chess --against human",
    "play --game chess --against you",
    "play --game chess --against file",
    "play --game chess --against folder",
    "play --game chess --against runs/nowhere",
    "play --game chess --against weights:chess?simulation=5",
    "play --game chess --against weights:chess?simulations=many",
    "play --game chess --against weights:chess?simulations=-1",
    "play --game chess --simulations many",
    "play --game chess --seat -1",
    "play --game chess --seat white",
    "play --web --game connect4",
    "play --web --against uct",
    "play --web --port 99999",
    "play --game chess --port 80",
    "weights show ches",
    "weights show weights:chess4",
    "weights show",
    "weights where folder",
    "weights where hf:some",
    "weights where http://example.org/experts",
    "doc",
    "docs --open",
    "doctor --verbose",
    "match --game chess --agent weights:antichess --against random",
    "match --game tictactoe --agent uct --agent random --games 0",
    "check",
    "check ches",
    "report",
    "run",
    "train --game tictactoe --data file",
    "analyze --game chess --fen nonsense",
    "analyze --game connect-four --fen startpos",
    "data import file --out imported",
    "data import nowhere.pgn --out imported",
]
"""What somebody does wrong who is new here."""


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.chdir(tmp_path)


def answer(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """Returns what a command prints, and its exit code unless that is 0."""
    monkeypatch.setattr(sys, "argv", ["moemcts", *line.split()])
    with pytest.raises(SystemExit) as left:
        main()
    out, error = capsys.readouterr()
    code = f"exit code {left.value.code}\n" if left.value.code else ""
    text = f"$ moemcts {line}\n{out}{error}{code}".replace(str(Path.cwd()), "FOLDER")
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def compare(name: str, text: str) -> None:
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("MOEMCTS_WRITE_SNAPSHOTS"):
        path.write_text(text)
    assert path.read_text() == text


def commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yields the words of all commands and groups."""
    yield words
    for name, command in sorted(getattr(group, "commands", {}).items()):
        yield from commands(command, (*words, name))


COMMANDS = list(commands(typer.main.get_command(make_app())))


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: "-".join(words) or "moemcts")
def test_help(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = answer(" ".join([*words, "--help"]), monkeypatch, capsys)
    compare("-".join(["help", *words]), text)


@pytest.mark.parametrize("name", ["games", "gates", "agents", "networks", "schemes"])
def test_lists(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(lists, "plugins", lambda: BUILT_IN)
    compare(name, answer(name, monkeypatch, capsys))


def test_games_fit_a_terminal_of_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lists, "plugins", lambda: BUILT_IN)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    text = re.sub(r"\x1b\[[\d;]*m", "", answer("games", monkeypatch, capsys))
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) <= 4 + len(BUILT_IN.games)


def test_errors(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    compare("errors", "\n".join(answer(line, monkeypatch, capsys) for line in ERRORS))


def test_mistakes_of_new_users_are_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file").write_text("hello")
    Path("folder").mkdir()
    told = "\n".join(answer(line, monkeypatch, capsys) for line in MISTAKES)
    assert "Traceback" not in told
    # Which games there are depends on what else is installed; where the core is compiled from, on the machine.
    told = re.sub(r"chess, chess960, antichess[\w, :-]*", "GAMES", told).replace(str(ROOT), "SOURCE")
    compare("mistakes", told)


def test_a_run_says_what_it_does_and_what_it_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "run --game tictactoe --gate plies --preset smoke --network resnet?channels=4&blocks=1 --set workers=1"
    line += " --set data.samples=300 --set match.games=4 --set match.raw_games=2 --out out"
    # The numbers are those of this machine; the words are everywhere the same.
    text = re.sub(r"[+-]?\d[\d,]*(\.\d+)?|inf|nan", "N", answer(line, monkeypatch, capsys))
    # How far a task is, is said every ten seconds.
    text = re.sub(r".*: N/N \w+(, .* left)?\n", "", text)
    compare("run", re.sub(r"under N s", "N s", text))
