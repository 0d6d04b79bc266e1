"""Whatever the terminal, the plugins and the moment of Ctrl-C are: one line, the right exit code, nothing lost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
MOEMCTS = str(BIN / "moemcts")


def call(*arguments: object, plugins: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(plugins or ""), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [MOEMCTS, *map(str, arguments)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )


def plugin(folder: Path, name: str, code: str) -> None:
    """Makes a distribution with one plugin module in a folder."""
    (folder / f"{name}_plugin.py").write_text(
        "from dataclasses import replace\n"
        "from moemcts.hookspecs import Registration, hookimpl\nfrom moemcts_tictactoe import TicTacToe\n" + code
    )
    info = folder / f"{name}_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[moemcts]\n{name} = {name}_plugin\n")


SPEC = "    spec = replace(TicTacToe.spec, name='broken')\n"
GAME = "@hookimpl\ndef register_games():\n    return [Registration('broken', Broken, 'raises')]\n"


def test_plugins_that_fail_in_any_way_harm_no_other(tmp_path: Path) -> None:
    plugin(tmp_path, "leaves", "raise SystemExit(0)\n")
    plugin(tmp_path, "commands", "@hookimpl\ndef register_commands(app):\n    raise RuntimeError('no commands')\n")
    plugin(tmp_path, "nothing", "def Broken(): return None\n" + GAME)
    plugin(tmp_path, "unspecific", "class Broken(TicTacToe): spec = None\n" + GAME.replace("'broken'", "'bare'"))
    plugin(tmp_path, "misspelled", GAME.replace("register_games", "register_game"))
    plugin(tmp_path, "unmarked", GAME.replace("@hookimpl\n", "").replace("register_games", "games"))
    plugin(tmp_path, "raises", "def Broken(): raise OSError('no disk')\n" + GAME.replace("'broken'", "'diskless'"))
    told = "RuntimeError: no commands in register_commands (commands_plugin.py:6)"
    assert call("--help", plugins=tmp_path).stderr == f"plugin commands: its commands are left out: {told}\n"
    done = call("games", plugins=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "game 'broken' cannot be made: its plugin returned None" in done.stdout
    assert "game 'diskless' cannot be made: OSError: no disk" in done.stdout
    assert "game 'bare' cannot be made: expected its spec to be a moemcts.game.GameSpec, got None" in done.stdout
    assert "tictactoe" in done.stdout
    listed = {row["name"]: row for row in json.loads(call("plugins", "--json", plugins=tmp_path).stdout)}
    assert listed["commands"]["strays"] == [f"its commands are left out: {told}"]
    assert listed["leaves"]["error"].startswith("SystemExit: 0 in <module> (leaves_plugin.py:")
    assert listed["misspelled"]["error"].startswith("no hook named 'register_game'; did you mean 'register_games'?")
    assert (listed["unmarked"]["error"], listed["unmarked"]["registers"]) == (None, {})
    assert listed["unmarked"]["note"] == f"nothing is marked with @hookimpl in {tmp_path / 'unmarked_plugin.py'}"
    assert listed["nothing"]["registers"] == {"games": 1}
    assert re.search(r"tictactoe .* 1 game, 1 board +ok", call("plugins", plugins=tmp_path).stdout)


@pytest.mark.parametrize(
    ("method", "body", "words"),
    [
        ("initial_state", "(self, seed=0): raise KeyError('x')", "KeyError: 'x' in initial_state (raising_plugin.py:"),
        ("views", "(self, pairs): return 1 / 0", "Error: division by zero in views (raising_plugin.py:"),
        ("spec", " = property(lambda self: {}['spec'])", "raised KeyError"),
    ],
)
def test_check_says_which_method_of_a_game_raised(method: str, body: str, words: str, tmp_path: Path) -> None:
    define = f"    {method}{body}\n" if "property" in body else f"    def {method}{body}\n"
    plugin(tmp_path, "raising", "class Broken(TicTacToe):\n" + SPEC + define + GAME)
    done = call("check", "broken", "--games", "1", plugins=tmp_path)
    assert done.returncode == 1
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_a_match_of_a_game_that_gives_what_none_may_ends_with_a_line(workers: int, tmp_path: Path) -> None:
    board = "from moemcts_tictactoe import Board\n"
    board += "Board.returns = lambda self: [0.0, 0.0] if self.active_players else [5.0, -5.0]\n"
    plugin(tmp_path, "unlawful", f"{board}class Broken(TicTacToe):\n{SPEC}{GAME}")
    agents = ("--agent", "uct?simulations=20", "--agent", "random", "--games", 4)
    done = call("match", "--game", "broken", *agents, "--workers", workers, plugins=tmp_path)
    assert done.returncode == 1
    wrong = "expected returns in [-1, 1], the game gave [5.0, -5.0]"
    told = f"error: broken breaks the laws of games, see `moemcts check`: {wrong}"
    assert [line for line in done.stderr.splitlines() if not line.startswith("match: ")] == [told]


def test_check_says_all_that_is_wrong(tmp_path: Path) -> None:
    gates = """
class Nameless(HardGate):
    def phases(self, views): return np.zeros(len(views), dtype=np.int64)

class Beyond(Nameless):
    name, phase_names = "beyond", ("early", "late")
    def phases(self, views): return np.full(len(views), 2)

@hookimpl
def register_gates():
    made = {"nameless": Nameless, "beyond": Beyond}
    return [Registration(name, lambda game, one=one: one(), "wrong") for name, one in made.items()]
"""
    plugin(tmp_path, "gates", "import numpy as np\nfrom moemcts.gates import HardGate\n" + gates)
    network = "resnet?channels=4&blocks=1"
    done = call("check", "tictactoe", "--games", "1", "--network", network, plugins=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "error: gate 'nameless' is invalid: expected a name and phase_names, a tuple of strings, got "
    )
    assert re.search(
        r"; gate 'beyond' is invalid: expected phases of shape \[\d+\] below 2, got 2 to 2\n$", done.stderr
    )
    assert "agent random\n  ok" in done.stdout
    assert f"network {network}\n  ok  logits are [N, A]" in done.stdout


def test_check_notes_what_the_games_plugin_registers_for_a_game_that_nobody_does(tmp_path: Path) -> None:
    gates = """
@hookimpl
def register_gates():
    return [Registration("lead", lambda game: None, "who leads", games=("brokn",))]
"""
    plugin(tmp_path, "misspelt", f"class Broken(TicTacToe):\n{SPEC}{GAME}{gates}")
    done = call("check", "broken", "--games", "1", plugins=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    told = "for games that exist: gate 'lead' is for the game 'brokn', which no plugin registers"
    assert f"not checked: what its plugin registers is {told}\n" in done.stdout
    assert "brokn" not in call("check", "tictactoe", "--games", "1", plugins=tmp_path).stdout


def test_a_game_that_raises_is_named_with_the_failures_it_makes(tmp_path: Path) -> None:
    state = "class Cracked(type(TicTacToe().initial_state())):\n    def play(self, actions): return 1 / 0\n"
    game = f"class Broken(TicTacToe):\n{SPEC}    def initial_state(self, seed=0): return Cracked()\n"
    plugin(tmp_path, "cracked", state + game + GAME)
    agents = ["--agent", "uct?simulations=4", "--agent", "uct?simulations=5"]
    done = call("match", "--game", "broken", *agents, "--games", "2", "--random-plies", "0", plugins=tmp_path)
    assert "ZeroDivisionError: division by zero in play (cracked_plugin.py:" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_standard_output_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([MOEMCTS, "gates"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "error: cannot write the output: No space left on device\n")


def test_output_that_is_ascii_loses_letters_and_no_line() -> None:
    done = call("networks", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "resnet" in done.stdout


def test_closed_streams_break_nothing() -> None:
    done = subprocess.run(f"{MOEMCTS} games --json 2>&- <&-", shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("[")


@pytest.mark.skipif(sys.platform == "win32", reason="folders in use stay")
@pytest.mark.parametrize("command", ["doctor", "match --game tic-tac-toe --agent random --games 2"])
def test_a_folder_that_is_gone_is_one_line(command: str, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        f"cd {gone} && rmdir {gone} && {MOEMCTS} {command}", shell=True, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    assert "error: expected the current folder to exist" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("module", ["typer", "moemcts.plugins", "torch"])
def test_ctrl_c_during_imports_is_one_line(module: str, tmp_path: Path) -> None:
    # What is imported raises where Ctrl-C would be noticed.
    code = (
        "import sys, importlib.abc\n"
        "class Interrupt(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "from moemcts.cli.main import main\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "sys.argv = ['moemcts', 'doctor']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr == "interrupted\n"


def test_matplotlib_says_nothing_where_no_home_can_be_written(tmp_path: Path) -> None:
    code = (
        "from moemcts.cli.app import make_app; make_app()\n"
        "from moemcts.report.plots import win_rates; from moemcts.report.page import *\n"
        "from pathlib import Path; import sys\n"
        "figure = Figure('a', win_rates([], title='\\u6f22'), '')\n"
        "write_report(Path(sys.argv[1]), Report('a', '', [Section('s', figures=[figure])]))\n"
    )
    home = {"HOME": "/proc/nowhere", "MPLCONFIGDIR": "/proc/nowhere", "XDG_CACHE_HOME": "/proc/nowhere"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **home},
    )
    assert (done.returncode, done.stderr) == (0, "")
