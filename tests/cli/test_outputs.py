"""Where commands write: nobody's files are written over or among."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rows_for_tests import ROW
from trained_for_tests import save_team

from moemcts.learn.data.generation import generate
from moemcts.plugins import plugins

GENERATE = "data generate --game tictactoe --samples 20 --out"
EXPORT = "export weights:connect-four --positions 2 --out"
TOURNAMENT = "tournament --game tictactoe --agent random --agent uct?simulations=2 --games 2 --out"


@pytest.mark.parametrize("command", [GENERATE, TOURNAMENT])
def test_folders_of_others_are_left_alone(moemcts, tmp_path: Path, command: str) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    code, _, error = moemcts(*command.split(), "mine")
    assert code == 2
    assert "but mine holds other things, such as notes.txt; give another --out" in error
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    code, _, error = moemcts(*command.split(), "mine/notes.txt")
    assert code == 2
    assert "but mine/notes.txt is a file; give another --out" in error
    code, _, error = moemcts(*command.split(), "mine/notes.txt/games")
    assert code == 2
    assert f"but {tmp_path / 'mine/notes.txt'} is a file; give another --out" in error


@pytest.mark.parametrize("command", [GENERATE, TOURNAMENT])
def test_an_empty_folder_is_taken_and_gone_on_in(moemcts, tmp_path: Path, command: str) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "ours").mkdir()
    for _ in range(2):
        code, _, error = moemcts(*command.split(), "ours")
        assert code == 0, error


def test_a_gate_is_written_over_nothing(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    game = plugins().game("tictactoe")
    generate(game, [plugins().agent("random", game)] * 2, 200, seed=1, out=tmp_path / "data", reference="tictactoe")
    save_team(tmp_path / "team")
    (tmp_path / "folder.safetensors").mkdir()
    fit = ["gate", "fit", "--game", "tictactoe", "--data", "data", "--out"]
    assert moemcts(*fit, "gate.safetensors", "--phases", 2)[0] == 0
    for name in ("gate.safetensors", "team/expert-0.safetensors", "folder.safetensors"):
        path = tmp_path / name
        before = path.read_bytes() if path.is_file() else None
        code, _, error = moemcts(*fit, name, "--phases", 3)
        assert code == 2
        assert f"error: expected a new file for the gate, but {name} exists; give another --out" in error
        assert before is None or path.read_bytes() == before


def test_where_a_gate_cannot_be_written_is_told_before_it_is_fitted(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    notes = tmp_path / "notes.txt"
    notes.write_text("keep me")
    for out in (notes / "gate.safetensors", notes / "gates" / "gate.safetensors"):
        code, _, error = moemcts("gate", "fit", "--game", "tictactoe", "--data", "nowhere", "--out", out)
        assert code == 2
        assert f"expected a folder to write to, but {notes} is a file; give another --out" in error


@pytest.mark.parametrize(
    ("command", "plays", "line"),
    [
        (GENERATE, "moemcts.learn.data.generation.generate", "interrupted; finished games are kept in ours"),
        (TOURNAMENT, "moemcts.arena.tournament.play_tournament", "interrupted; finished games are kept in ours"),
    ],
)
def test_what_is_interrupted_says_how_to_go_on(  # type: ignore[no-untyped-def]
    moemcts, monkeypatch: pytest.MonkeyPatch, command: str, plays: str, line: str
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(plays, interrupted)
        code, _, error = moemcts(*command.split(), "ours")
    assert code == 130
    assert f"{line}, the same command resumes\n" in error
    assert moemcts(*command.split(), "ours")[0] == 0


@pytest.mark.parametrize("command", [GENERATE, TOURNAMENT, EXPORT])
def test_where_nothing_may_be_written_nothing_begins(  # type: ignore[no-untyped-def]
    moemcts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    (tmp_path / "shut").mkdir()
    # Whoever runs the tests may be allowed to write everywhere.
    monkeypatch.setattr("moemcts.cli.outputs.os.access", lambda path, mode: Path(path).name != "shut")
    code, _, error = moemcts(*command.split(), "shut/new")
    assert code == 1
    place = tmp_path / "shut"
    assert error == f"error: cannot write shut/new: {place} is not writable; give another --out\n"


def test_a_report_is_written_over_a_report_alone(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "rows.jsonl").write_text(json.dumps(ROW) + "\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "report.md").write_text("my own")
    code, _, error = moemcts("report", "suite", "--out", "mine")
    assert code == 2
    assert "new or empty folder for the report, or one to resume, but mine holds other things, such as rep" in error
    assert (tmp_path / "mine" / "report.md").read_text() == "my own"
    for _ in range(2):
        code, _, error = moemcts("report", "suite", "--out", "joined")
        assert code == 0, error
