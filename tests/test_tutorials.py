"""What tutorials tell to do works, in their order, with fewer games and simulations than they say.

Looked up instead of run: what waits for a person or a program (`play`, `uci`), and what pip, git, Ray and torchrun do;
`test_rays.py` and `test_ranks.py` run the last two.
"""

from __future__ import annotations

import importlib
import os
import random
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import chess
import chess.engine
import chess.pgn
import pytest
import yaml

from moemcts.cli.main import main
from moemcts.plugins import plugins

ROOT = Path(__file__).parent.parent
TUTORIALS = ROOT / "docs" / "tutorials"
BIN = Path(sys.executable).parent
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WAITING = ("play", "uci")
SMALLER = (
    (r"^torchrun .*--no-python ", ""),
    (r"--workers ray", "--workers 1"),
    (r"--network rise-tiny", "--network 'resnet?channels=4&blocks=1'"),
    (r"simulations=\d+", "simulations=2"),
    (r"--samples \d+", "--samples 400"),
    (r"--games \d+", "--games 2"),
    (r"(moemcts (run|train) .*)", r"\1 --preset smoke --set training.epochs=0.1 --set training.batch_size=32"),
    (r"(moemcts run .*)", r"\1 --set match.games=2 --set match.raw_games=2 --set search.simulations=2 --set workers=1"),
    (r"(moemcts run --game connect-four .*)", r"\1 --set data.samples=400 --set data.agent=random"),
    (r"(moemcts run --game othello-6x6 .*)", r"\1 --set data.samples=400 --set data.agent=random"),
    (r"(moemcts train --game connect-four .*)", r"\1 --set data.samples=400 --set data.agent=random"),
    (r"(moemcts selfplay .*)", r"\1 --preset smoke --generations 1 --set games.samples=200 --set gauntlet.games=0"),
    (r"(moemcts match .*)", r"\1 --max-plies 8"),
    (r"(runs/steps-\d ?)+", "runs/experts "),
)
"""What is made smaller, and where several machines are needed one."""


def small(line: str) -> str:
    for pattern, replacement in SMALLER:
        line = re.sub(pattern, replacement, line)
    return line


def moemcts(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs a command here, as torch is imported already."""
    monkeypatch.setattr(sys, "argv", ["moemcts", *words])
    with pytest.raises(SystemExit) as left:
        main()
    assert not left.value.code, " ".join(words)


def follow(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the commands and the Python of a page, in the folder at hand."""
    names: dict[str, object] = {}
    for language, text in BLOCK.findall((TUTORIALS / page).read_text()):
        if language == "python":
            exec(compile(text, page, "exec", dont_inherit=True), names)
        for line in text.replace("\\\n", " ").splitlines() if not language else ():
            words = shlex.split(small(line), comments=True)
            if words[:1] == ["moemcts"] and words[1] not in WAITING:
                moemcts(words[1:], monkeypatch)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    yield tmp_path
    plugins.cache_clear()


def install(project: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes what `pip install -e .` would, of a `pyproject.toml` in the folder."""
    said = tomllib.loads(project)["project"]
    info = folder / f"{said['name'].replace('-', '_')}-{said['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {said['name']}\nVersion: {said['version']}\n")
    points = "".join(f"{name} = {module}\n" for name, module in said["entry-points"]["moemcts"].items())
    (info / "entry_points.txt").write_text(f"[moemcts]\n{points}")
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    plugins.cache_clear()


def write_games(path: Path, count: int = 12) -> None:
    """Writes games of random moves as PGN."""
    draws = random.Random(0)
    with path.open("w") as file:
        for number in range(count):
            board = chess.Board()
            while not board.is_game_over() and board.ply() < 200:
                board.push(draws.choice(list(board.legal_moves)))
            game = chess.pgn.Game.from_board(board)
            game.headers.update(
                {"White": f"w{number}", "Black": "b", "Result": draws.choice(["1-0", "0-1", "1/2-1/2"])}
            )
            print(game, file=file, end="\n\n")


def test_phase_experts_are_trained_on_games_in_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_games(folder / "games.pgn")
    follow("phase-experts.md", monkeypatch)
    assert (folder / "runs" / "team" / "experts" / "manifest.toml").exists()
    assert (folder / "runs" / "all" / "report" / "report.html").exists()
    assert (folder / "figures").is_dir()


def test_a_gate_is_written_registered_and_compared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = dict(BLOCK.findall((TUTORIALS / "new-gate.md").read_text()))
    (folder / "patience.py").write_text(blocks["python"])
    install(blocks["toml"], folder, monkeypatch)
    follow("new-gate.md", monkeypatch)
    assert (folder / "runs" / "choices" / "report" / "report.html").exists()


def test_an_agent_a_scheme_and_a_network_are_written_registered_and_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "new-agent-scheme-network.md"
    blocks = BLOCK.findall((TUTORIALS / page).read_text())
    python = [text for kind, text in blocks if kind == "python"]
    # The last one is a test of what the others are.
    modules = tomllib.loads(project := next(text for kind, text in blocks if kind == "toml"))["tool"]["setuptools"]
    names = ("mine_agent", "mine_scheme", "mine_network", "mine")
    assert sorted(names) == modules["py-modules"]
    for name, text in zip(names, python, strict=False):
        (folder / f"{name}.py").write_text(text)
    install(project, folder, monkeypatch)
    follow(page, monkeypatch)
    assert (folder / "runs" / "narrowing" / "report" / "report.html").exists()


def test_a_notebook_plays_matches_and_trains_and_a_script_has_workers(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow("notebook.md", monkeypatch)
    assert (folder / "runs" / "notebook" / "report" / "report.html").exists()
    assert (folder / "runs" / "experts" / "experts" / "manifest.toml").exists()
    *_, script = (text for kind, text in BLOCK.findall((TUTORIALS / "notebook.md").read_text()) if kind == "python")
    (folder / "script.py").write_text(script)
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, check=True)
    assert sum(map(int, re.findall(r"\d+", done.stdout))) == 8


def test_a_search_plans_in_pommerman(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    follow("pommerman-planning.md", monkeypatch)
    assert (folder / "runs" / "steps" / "experts").is_dir()


def test_what_a_cluster_does_is_done_by_one_machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    follow("cluster.md", monkeypatch)
    assert (folder / "runs" / "experts" / "experts").is_dir()
    assert (folder / "compared").is_dir()


def test_an_engine_is_asked_from_python_and_matched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    follow("chess-program.md", monkeypatch)


def test_the_engine_takes_what_lichess_bot_is_told(folder: Path) -> None:
    blocks = BLOCK.findall((TUTORIALS / "lichess-bot.md").read_text())
    sections = [yaml.safe_load(text) for kind, text in blocks if kind == "yaml"]
    options = [section["engine"]["uci_options"] for section in sections]
    assert [one["Model_Directory"] for one in options] == ["weights:chess", "weights:antichess"]
    # Experts play the game that they were made for, and Chess960 is another one than chess.
    assert [section["challenge"]["variants"] for section in sections] == [["standard"], ["antichess"]]
    with chess.engine.SimpleEngine.popen_uci(["moemcts", "uci", "--experts", "weights:chess"], timeout=60) as engine:
        engine.configure(options[0])
        assert engine.play(chess.Board(), chess.engine.Limit(nodes=8)).move in chess.Board().legal_moves


def test_every_tutorial_is_followed_somewhere() -> None:
    own = set(re.findall(r"\"([\w-]+\.md)\"", Path(__file__).read_text()))
    elsewhere = {"first-run", "in-the-browser", "new-game", "stable-baselines3"}
    assert {Path(page).stem for page in own} | elsewhere == {path.stem for path in TUTORIALS.glob("*.md")}


def _lines(page: str) -> list[str]:
    return [
        line for kind, text in BLOCK.findall((TUTORIALS / page).read_text()) if not kind for line in text.splitlines()
    ]
