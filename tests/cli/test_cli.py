"""The command line answers mistakes with one line and the right exit code, and loses nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from commands_for_tests import moemcts

from moemcts.cli import doctor
from moemcts.cli.main import main
from moemcts.learn.data.verified import NAME as VERIFIED

BIN = Path(sys.executable).parent
TINY = ["--preset", "smoke", "--set", "data.samples=1500", "--set", "match.games=4", "--set", "match.raw_games=4"]
TINY += ["--set", "search.simulations=4", "--set", "training.epochs=1", "--set", "workers=1"]


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        ("run --game pomerman", 2, "no game named 'pomerman'; did you mean 'pommerman'?"),
        ("run --game pommerman --set serch.simulations=3", 2, "did you mean 'search.simulations'?"),
        ("run --game pommerman --gate step", 2, "no gate named 'step'; did you mean 'steps'?"),
        ("run --game tictactoe --gate steps", 2, "no gate named 'steps'"),
        ("run --game pommerman --preset smok", 2, "no preset named 'smok'; did you mean 'smoke'?"),
        ("run --game pommerman --scheme stagd", 2, "no scheme named 'stagd'; did you mean 'staged'?"),
        ("run --game pommerman --network rise-tin", 2, "no network named 'rise-tin'; did you mean 'rise-tiny'?"),
        ("run --game pommerman --gate steps?cut=3", 2, "no option of gate 'steps' named 'cut'; did you mean 'cuts'?"),
        ("run --game pommerman --gate steps?cuts=9,3", 2, "expected ascending cuts, got [9, 3]"),
        ("run --game pommerman --set search.simulation=3", 2, "did you mean 'simulations'?"),
        ("run --game pommerman --set search.simulations=0", 2, "search.simulations: Input should be greater"),
        ("run --game pommerman --set match.games=many", 2, "match.games: Input should be a valid integer"),
        ("run --game pommerman --set training.schedule=plato", 2, "schedule named 'plato'; did you mean 'plateau'?"),
        ("run --game pommerman --set training.compile=yess", 2, "compile: Input should be a valid boolean or 'a"),
        ("run --game pommerman --set schemes=separated", 2, 'schemes: expected a list such as ["separated"]'),
        (
            "selfplay --game tictactoe --set replay=3",
            2,
            "replay: expected a setting of this section, such as replay.generations=20, got 3",
        ),
        ("run --game pommerman --set begun_with=3", 2, "begun_with: expected a table, got 3"),
        (
            "selfplay --game tictactoe --set learning.rate_steps=[3,x]",
            2,
            "learning.rate_steps.1: Input should be a valid",
        ),
        ("run --game pommerman --set nonsense", 2, "expected --set setting=value, got 'nonsense'"),
        ("run --gate steps", 2, "expected --game; one of"),
        ("run --resume nowhere", 2, "expected a run with a config.toml in nowhere, found none"),
        ("run --resume nowhere --game pommerman", 2, "expected --resume with at most --gate"),
        ("run --config none.toml", 2, "expected a file none.toml, found none"),
        ("match --game pommerman --agent sample", 2, "no agent named 'sample'; did you mean 'simple'?"),
        ("match --game pommerman --agent simple --agent simple", 2, "expected different agents"),
        ("run --game pommerman --set match.backend=onnx", 2, "no backend named 'onnx'; did you mean 'onnxruntime'?"),
        ("export nowhere", 2, "expected a folder of experts, got nowhere"),
        ("export nowhere --precision int4", 2, "no precision named 'int4'; did you mean 'int8'?"),
        ("check pomerman", 2, "did you mean 'pommerman'?"),
        ("gates --game pomerman", 2, "did you mean 'pommerman'?"),
        ("check tictactoe --games 1 --network resnt", 2, "no network named 'resnt'; did you mean 'resnet'?"),
        ("reproduce losses --dry-run --out /dev/null", 2, "expected a folder to write to, but /dev/null is a file"),
    ],
)
def test_mistakes_get_one_line(
    arguments: str,
    code: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["moemcts", *arguments.split()])
    with pytest.raises(SystemExit) as left:
        main()
    error = capsys.readouterr().err
    assert left.value.code == code
    assert line in error
    assert error.startswith("error: ")
    assert len(error.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_wrong_option_is_misuse() -> None:
    done = moemcts("run", "--bogus")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_lists_speak_json() -> None:
    games = {row["game"]: row for row in json.loads(moemcts("games", "--json").stdout)}
    assert games["pommerman"]["players"] == 4
    assert {row["gate"] for row in json.loads(moemcts("gates", "--game", "pommerman", "--json").stdout)} > {"steps"}
    assert all(row["error"] is None for row in json.loads(moemcts("plugins", "--json").stdout))


def test_a_config_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("game = [")
    done = moemcts("run", "--config", bad)
    assert done.returncode == 1
    assert "is not valid TOML" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_plugin_that_does_not_load_harms_no_other(tmp_path: Path) -> None:
    (tmp_path / "broken_plugin.py").write_text("raise RuntimeError('out of order')\n")
    info = tmp_path / "broken_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[moemcts]\nbroken = broken_plugin\n")
    done = subprocess.run(
        [str(BIN / "moemcts"), "plugins"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "200"},
    )
    assert done.returncode == 0
    assert "RuntimeError: out of order" in done.stdout
    assert "pommerman" in done.stdout


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "tictactoe"
    done = moemcts("run", "--game", "tictactoe", "--gate", "plies", *TINY, "--out", folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_tutorial_game_runs_from_data_to_report(finished: Path) -> None:
    numbers = json.loads((finished / "report" / "numbers.json").read_text())
    assert set(numbers["searched"]["arms"]) == {"plies"}, "the single network sits on the other side"
    assert numbers["searched"]["arms"]["plies"]["num_games"] == 4
    assert numbers["searched"]["arms"]["plies"]["elo"]["num_games"] == 4
    assert numbers["losses"]["plies"][-1]["name"] == "mixture"
    for name in ("report.md", "report.html", "figures/elo-searched.png", "figures/timeline-plies.svg"):
        assert (finished / "report" / name).stat().st_size > 500


def test_a_finished_run_is_not_run_again_by_accident(finished: Path) -> None:
    done = moemcts("run", "--game", "tictactoe", *TINY, "--out", finished)
    assert done.returncode == 2
    assert "resume it: moemcts run --resume" in done.stderr


def test_experts_play_matches_and_refuse_other_games(finished: Path, tmp_path: Path) -> None:
    experts = finished / "experts" / "plies-0"
    done = moemcts(
        "match", "--game", "tictactoe", "--agent", f"{experts}?simulations=20", "--agent", "random", "--games", "20",
        "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    agents = {agent["name"].split("?")[0].split("/")[-1]: agent for agent in json.loads(done.stdout)["agents"]}
    assert agents["plies-0"]["wins"] > agents["random"]["wins"]
    foreign = moemcts("match", "--game", "pommerman", "--agent", experts, "--games", "4")
    assert foreign.returncode == 2
    assert "tictactoe" in foreign.stderr
    assert "pommerman" in foreign.stderr
    copy = tmp_path / "damaged"
    shutil.copytree(experts, copy)
    weights = next(copy.glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-7])
    damaged = moemcts("match", "--game", "tictactoe", "--agent", copy, "--games", "4")
    assert damaged.returncode == 1
    assert len(damaged.stderr.strip().splitlines()) == 1
    assert "damaged" in damaged.stderr


def test_experts_are_exported_and_play_in_int8(finished: Path, tmp_path: Path) -> None:
    experts = tmp_path / "plies-0"
    shutil.copytree(finished / "experts" / "plies-0", experts)
    done = moemcts("export", experts, "--positions", "16")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("differs from torch by") == 3
    played = ["match", "--game", "tictactoe", "--agent", f"{experts}?simulations=4&precision=int8", "--games", "4"]
    missing = moemcts(*played)
    assert missing.returncode == 1
    assert f"moemcts export {experts} --precision int8" in missing.stderr
    data = finished / "data"
    done = moemcts("export", experts, "--precision", "int8", "--positions", "16", "--data", data, "--json")
    assert done.returncode == 0, done.stderr
    manifest = json.loads(done.stdout)
    assert "dataset" in manifest["positions"]["source"]
    assert manifest == tomllib.loads((experts / "int8" / "manifest.toml").read_text())
    done = moemcts(*played, "--json")
    assert done.returncode == 0, done.stderr


def _contents(folder: Path) -> dict[str, object]:
    paths = [*folder.glob("experts/**/*"), *folder.glob("data/**/*"), folder / "report" / "numbers.json"]
    return {
        str(path.relative_to(folder)): tomllib.loads(path.read_text()) if path.suffix == ".toml" else path.read_bytes()
        for path in paths
        if path.is_file() and path.name != VERIFIED
    }


def test_a_run_that_was_interrupted_ends_as_if_it_had_not_been(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = [str(BIN / "moemcts"), "run", "--game", "tictactoe", "--gate", "plies", *TINY, "--out", str(folder)]
    for wait_for in ("data/manifest.toml", "experts/single-0/manifest.toml"):
        if (folder / wait_for).exists():
            # The first one got so far before it was interrupted: nothing says when the second has begun.
            continue
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        deadline = time.monotonic() + 400
        while not (folder / wait_for).exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert process.poll() is None, process.communicate()[1]
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=400)
        assert process.returncode == 130, error
        assert b"moemcts run --resume" in error
        assert b"Traceback" not in error
        command = [str(BIN / "moemcts"), "run", "--resume", str(folder)]
    done = moemcts("run", "--resume", folder)
    assert done.returncode == 0, done.stderr
    assert _contents(folder) == _contents(finished)


def test_pommerman_runs_from_data_to_report(tmp_path: Path) -> None:
    short = ("--game", "pommerman?max_steps=60", "--gate", "steps?cuts=20,40")
    done = moemcts("run", *short, *TINY, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "The single network wins" in done.stdout
    numbers = json.loads((tmp_path / "run" / "report" / "numbers.json").read_text())
    assert numbers["raw"]["arms"]["field"]["num_games"] == 4


def test_a_dry_run_shows_and_leaves(tmp_path: Path) -> None:
    done = moemcts("run", "--game", "tictactoe", *TINY, "--out", tmp_path / "run", "--dry-run")
    assert done.returncode == 0
    assert 'game = "tictactoe"' in done.stdout
    assert "estimate" in done.stderr
    assert not (tmp_path / "run").exists()


def test_doctor_examines_the_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = doctor._simulations_per_second
    # One game's speed is as good as any; the others are opened.
    monkeypatch.setattr(
        doctor, "_simulations_per_second", lambda game: measured(game) if game.spec.name == "tictactoe" else 1.0
    )
    found = json.loads(moemcts("doctor", "--json").stdout)
    assert found["packages"]["moemcts"]
    (speeds,) = (values for section, values in found.items() if "simulations" in section)
    assert {"tictactoe", "chess", "pommerman"} <= speeds.keys()
    assert int(speeds["tictactoe"].replace(",", "")) > 100
    (rates,) = (values for section, values in found.items() if section.startswith("networks"))
    assert {"torch", "auto"} <= set(rates)
    assert rates["auto"].split(",")[0] in rates
    assert all({"what", "command"} == set(one) for one in found["advice"])


def test_a_person_plays_and_a_wrong_move_is_asked_again() -> None:
    done = subprocess.run(
        [str(BIN / "moemcts"), "play", "--game", "tictactoe", "--against", "random", "--seed", "1"],
        input="z9\n" + "\n".join(["a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"]) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "expected one of" in done.stderr
    assert "result:" in done.stdout or "the input has ended" in done.stderr
