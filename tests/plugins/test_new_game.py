"""`moemcts new-game` writes a plugin that is found, keeps the laws, passes its own tests, and learns, at once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

NAME = "my-heap"
TINY = ["data.samples=400", "match.games=2", "match.raw_games=2", "workers=1", "training.epochs=0.5"]


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new") / "moemcts-my-heap"
    run("new-game", NAME, "--out", folder)
    # What an installation would write, without one.
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    info = folder / "moemcts_my_heap-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = "".join(f"{key} = {value}\n" for key, value in project["entry-points"]["moemcts"].items())
    (info / "entry_points.txt").write_text(f"[moemcts]\n{points}")
    return folder


def run(*words: object, path: Path | None = None, ok: bool = True) -> str:
    environment = dict(os.environ)
    if path is not None:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(path), os.environ.get("PYTHONPATH")]))
    command = [str(Path(sys.executable).parent / "moemcts")]
    done = subprocess.run([*command, *map(str, words)], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode == 0) == ok, done.stderr
    return done.stdout + done.stderr


def test_the_plugin_is_found_and_keeps_the_laws(plugin: Path) -> None:
    answer = run("check", NAME, path=plugin)
    assert f"game {NAME}" in answer
    assert f"gate {NAME}-taken" in answer
    assert "keys are the same in every process" in answer
    assert "not checked: keys" not in answer


def test_phases_have_names_of_their_own_unless_others_are_asked_for(plugin: Path) -> None:
    code = (
        "from moemcts.plugins import plugins; own = plugins(); game = own.game('my-heap')\n"
        "for gate in ('my-heap-taken', 'my-heap-taken?cuts=8,15'):\n"
        "    made = own.gate(gate, game); print(made.cuts, made.phase_names)"
    )
    path = os.pathsep.join([str(plugin), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}, check=True
    )
    assert done.stdout.splitlines() == [
        "(8, 15) ('opening', 'middlegame', 'endgame')",
        "(8, 15) ('phase 0', 'phase 1', 'phase 2')",
    ]


def test_the_plugin_passes_its_own_tests(plugin: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(plugin), os.environ.get("PYTHONPATH", "")])}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(plugin)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=plugin, check=False)
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout


def test_the_plugin_is_trained_at_once(plugin: Path, tmp_path: Path) -> None:
    changes = [word for change in TINY for word in ("--set", change)]
    words = ["--game", NAME, "--gate", f"{NAME}-taken", "--preset", "smoke", *changes, "--out", tmp_path / "run"]
    assert "report:" in run("run", *words, path=plugin)


def copy_that_fails(plugin: Path, folder: Path) -> Path:
    """Returns the module of a copy of the plugin, in which nothing can be played."""
    source = Path(shutil.copytree(plugin, folder / "moemcts-my-heap")) / "moemcts_my_heap.py"
    old = "    def play(self, actions: Sequence[Action]) -> Heap:\n"
    assert old in source.read_text()
    source.write_text(source.read_text().replace(old, f"{old}        raise LookupError('no heap')\n"))
    return source


def test_what_the_plugin_raises_is_a_line_that_names_it(plugin: Path, tmp_path: Path) -> None:
    broken = copy_that_fails(plugin, tmp_path).parent
    words = ["data", "generate", "--game", NAME, "--agent", "random", "--samples", 100, "--out", tmp_path / "data"]
    answer = run(*words, path=broken, ok=False)
    assert "Traceback" not in answer
    assert f"error: plugin '{NAME}' raised LookupError: no heap in play (moemcts_my_heap.py:" in answer
    assert "`moemcts check` finds such mistakes" in answer


def test_what_a_module_beside_the_plugins_raises_is_a_line_too(plugin: Path, tmp_path: Path) -> None:
    source = copy_that_fails(plugin, tmp_path)
    source.rename(source.with_name("heap_rules.py"))
    source.write_text("from heap_rules import register_games, register_gates\n")
    (info,) = source.parent.glob("*.dist-info")
    (info / "top_level.txt").write_text("heap_rules\nmoemcts_my_heap\n")
    words = ["data", "generate", "--game", NAME, "--agent", "random", "--samples", 100, "--out", tmp_path / "data"]
    answer = run(*words, path=source.parent, ok=False)
    assert "Traceback" not in answer
    assert f"error: plugin '{NAME}' raised LookupError: no heap in play (heap_rules.py:" in answer


def test_names_that_are_none_and_folders_that_are_full_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert "expected a name of small letters" in run("new-game", "My_Game", "--out", tmp_path / "x", ok=False)
    assert "there is already a game named 'chess'" in run("new-game", "chess", ok=False)
    assert "already a package named moemcts_classics" in run("new-game", "classics", "--out", tmp_path / "x", ok=False)
    assert "already" in run("new-game", "mine", "--out", tmp_path, ok=False)
    assert "cannot be built outside" in run("new-game", "mine", "--native", "--out", tmp_path / "x", ok=False)
    assert not (tmp_path / "x").exists()
