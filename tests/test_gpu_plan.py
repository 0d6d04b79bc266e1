"""The plan for a GPU does what it says, in pieces that go on elsewhere; here on a CPU."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
sys.path.insert(0, str(Path(__file__).parent / "games" / "chess"))


@pytest.fixture
def gpu_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns the folders of a plan for a GPU whose games are few and whose commands run in this process."""
    import gpu_plan
    from chess_oracle import random_pgn

    from moemcts.cli import main as cli

    games = tmp_path / "games"
    games.mkdir()
    (games / "train.pgn").write_text(random_pgn(24))

    # In processes of their own the commands would take half a minute to start.
    def here(*words: str, kill_when: object = None) -> None:
        monkeypatch.setattr(sys, "argv", ["moemcts", *words])
        status: object = 0
        try:
            cli.main()
        except SystemExit as ended:
            status = ended.code
        if status == 130:
            raise KeyboardInterrupt
        assert not status

    monkeypatch.setattr(gpu_plan, "run", here)
    # Games at random do not come to an endgame.
    monkeypatch.setattr(gpu_plan, "GATE", "plies?cuts=15,30")
    monkeypatch.setattr(gpu_plan, "SPLIT", ("--validation", "2012-09", "--test", "2012-05"))
    monkeypatch.setattr(gpu_plan, "IMPORT", ("--min-plies", "10"))
    work, out = tmp_path / "work", tmp_path / "out"
    parcels, openings = tmp_path / "parcels", tmp_path / "openings"
    return gpu_plan.Places(games=games, parcels=parcels, openings=openings, work=work, out=out)


def test_the_plan_for_a_gpu_runs_dry(
    gpu_places: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    import gpu_plan
    from measuring import record
    from results_page import speed

    scale = gpu_plan.Scale.of("cpu", is_dry=True)
    scale = dataclasses.replace(scale, networks={"resnet": scale.networks["resnet"]})
    plan = gpu_plan.Plan(gpu_places, scale, minutes=0.0)
    rows: dict[str, list[dict[str, Any]]] = {}
    for piece in ("check", "speed", "resnet-single", "self-play"):
        assert plan.do(piece)
        rows[piece] = gpu_plan.rows_in(gpu_places.out / f"{piece}.jsonl")
    checked = {row["name"]: row for row in rows["check"]}
    assert checked["gpu plan, resnet, float32, answers, error"]["value"] < 1e-3
    assert checked["gpu plan, resnet, bf16, answers of stacked experts, error"]["value"] > 1e-2
    killed = checked["gpu plan, resnet, training that is killed and gone on with, loss"]
    assert killed["value"] == killed["left_alone"]
    names = [row["name"].removeprefix("gpu plan, resnet, ") for row in rows["speed"]]
    learning = [f"{way}, learning, 2 encoders" for way in gpu_plan.COMPUTE_MODES]
    inference = [f"{precision}, inference, batch {batch}" for precision in ("float32", "bf16") for batch in (1, 8)]
    routed = [f"bf16, {name}, batch {batch}" for name in ("each", "stacked") for batch in (1, 8)]
    assert names == [*learning, "bf16, channels last, learning, 1 encoders", *inference, *routed]
    assert rows["resnet-single"][0]["timings"][0]["positions_per_second"] > 0
    assert rows["resnet-single"][-1]["unit"] == "loss"
    assert [row["weights"] for row in rows["self-play"]] == ["trained"] * 4
    assert all(row["share_of_inference"] > 0 for row in rows["self-play"])
    # What is done is not done again, and comes back again.
    monkeypatch.setattr(plan, "measurements", None)
    (gpu_places.out / "speed.jsonl").unlink()
    assert plan.do("speed")
    assert gpu_plan.rows_in(gpu_places.out / "speed.jsonl") == rows["speed"]

    monkeypatch.setattr(record, "RESULTS", gpu_places.work / "results")
    for _ in range(2):
        gpu_plan.collect(gpu_places.out, is_recorded=True)
    assert "resnet-single, training" in capfd.readouterr().out
    recorded = (gpu_places.work / "results" / "gpu.jsonl").read_text().splitlines()
    assert len(recorded) == sum(map(len, rows.values()))
    assert json.loads(recorded[0])["command"] == "benchmarks/gpu_plan.sh OUT check"
    table = speed.gpu()
    assert all(row["name"] in table for found in rows.values() for row in found)


def test_a_set_is_one_network_and_what_goes_on_from_it(gpu_places: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import gpu_plan
    from chess_oracle import random_pgn
    from gpu import sets
    from measuring import record

    # Long enough for endgames.
    (gpu_places.games / "train.pgn").write_text(random_pgn(24, plies=250))

    def here(program: str, script: str, *words: str) -> None:
        monkeypatch.setattr(sys, "argv", [script, *words])
        __import__(Path(script).stem).main()

    monkeypatch.setattr(gpu_plan, "call", here)
    for module in (record, sets):
        monkeypatch.setattr(module, "RESULTS", gpu_places.work / "results")
    scale = gpu_plan.Scale.of("cpu", is_dry=True)
    amounts = sets.Amounts.of("cpu", is_dry=True)
    plan = gpu_plan.Plan(gpu_places, scale, amounts=amounts, network=gpu_plan.TINY)
    assert plan.do("set-4x64")
    rows = gpu_plan.rows_in(gpu_places.out / "set-4x64.jsonl")
    assert [row["name"] for row in rows[:2]] == [
        "gpu plan, set-4x64, first network, training",
        "gpu plan, set-4x64, first network, loss, opening",
    ]
    assert {"gpu plan, set-4x64, training", "gpu plan, set-4x64, matches"} < {row["name"] for row in rows}
    played = {row["arm"]: row for row in gpu_plan.rows_in(gpu_places.out / "set-4x64.chess.jsonl") if "games" in row}
    assert played.keys() == {"separated", "separated by round-robin"}
    assert all(row["start_samples"] > row["samples_per_pass"] > 0 for row in played.values())
    with tarfile.open(gpu_places.out / "set-4x64.tar.gz.00") as parcel:
        weights = {name.split("/")[-2] for name in parcel.getnames() if name.endswith(".safetensors")}
    assert weights == {"single-50", "lichess-50"}
    for _ in range(2):
        gpu_plan.collect(gpu_places.out, is_recorded=True)
    # What was recorded there, and once here.
    assert len(gpu_plan.rows_in(gpu_places.work / "results" / "gpu.jsonl")) == len(rows)


def test_a_piece_that_was_cut_off_goes_on_from_its_parcels_on_another_machine(
    gpu_places: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gpu_plan

    from moemcts.learn.training.stage import StageRun

    steps: list[int] = []
    learn = StageRun._learn

    def counted(run: StageRun, loaded: Any) -> None:
        learn(run, loaded)
        steps.append(run._state.step)
        if len(steps) == 10:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(StageRun, "_learn", counted)
    scale = gpu_plan.Scale.of("cpu", is_dry=True)
    with pytest.raises(KeyboardInterrupt):
        gpu_plan.Plan(gpu_places, scale, epochs=0.3).do("resnet-separated")
    assert len(steps) == 10
    assert not list(gpu_places.out.glob("*.jsonl"))

    gpu_places.out.rename(gpu_places.parcels)
    shutil.rmtree(gpu_places.work)
    assert gpu_plan.Plan(gpu_places, scale, epochs=0.3).do("resnet-separated")
    log = gpu_places.work / "resnet-separated" / "run" / "training" / "metrics.jsonl"
    stages = {entry["stage"]: entry["num_steps"] for entry in map(json.loads, log.read_text().splitlines())}
    assert len(stages) == 3
    assert len(steps) == sum(stages.values())
    with tarfile.open(gpu_places.out / "resnet-separated.tar.gz.00") as parcel:
        inside = parcel.getnames()
    assert {"resnet-separated/rows.jsonl", "resnet-separated/run/experts/manifest.toml"} <= set(inside)
    assert not any("/stages/" in name for name in inside)


@pytest.mark.parametrize("ending", ["", ".zst", ".gz", ".bz2"])
def test_games_travel_without_what_no_training_needs(tmp_path: Path, ending: str) -> None:
    import bz2
    import gzip

    import gpu_prepare
    import zstandard
    from chess_oracle import random_pgn

    from moemcts.plugins import plugins
    from moemcts_chess.imports import import_pgn

    packed = {"": bytes, ".zst": zstandard.compress, ".gz": gzip.compress, ".bz2": bz2.compress}
    written = random_pgn(6, plies=60).replace(" 2. ", " {a comment of 2. moves} 2. ").encode()
    source, target = tmp_path / "games", tmp_path / "travelling"
    source.mkdir()
    (source / f"train.pgn{ending}").write_bytes(packed[ending](written))
    gpu_prepare.lay_games(source, target)
    assert (target / "train-moves.pgn.zst").stat().st_size < len(zstandard.compress(written))
    found = []
    for number, file in enumerate((*source.iterdir(), *target.iterdir())):
        out = tmp_path / str(number)
        import_pgn([file], plugins().game("chess"), out, reference="chess")
        # Which line of the file a game stands on is another there.
        files = sorted(path for path in out.rglob("*") if path.is_file() and path.suffix == ".safetensors")
        found.append({path.relative_to(out): path.read_bytes() for path in files})
    assert found[0] == found[1]
    assert found[0]


@pytest.mark.skipif(os.name == "nt", reason="a script for bash")
def test_the_script_of_the_plan_for_a_gpu_says_how_it_is_called_and_what_failed(tmp_path: Path) -> None:
    import gpu_plan
    import gpu_prepare

    script = str(BENCHMARKS / "gpu_plan.sh")

    def call(*words: str, said: str = "") -> subprocess.CompletedProcess[str]:
        # What it would call, without calling it.
        fake = tmp_path / "python"
        fake.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exit 0\necho "$@"\ncase "$*" in {said or "nothing) "};; esac\n')
        fake.chmod(0o755)
        environment = os.environ | {"PYTHON": str(fake)}
        return subprocess.run([script, *words], capture_output=True, text=True, check=False, env=environment)

    done = call()
    assert done.returncode == 2
    assert "benchmarks/gpu_plan.sh OUT PIECE" in done.stderr
    done = call("OUT", "speed", "--minutes", "5")
    assert done.returncode == 2
    assert "expected an option like --minutes=4, got --minutes" in done.stderr
    plan = BENCHMARKS / "gpu_plan.py"
    done = call("--dry-run", "OUT", "--minutes=5")
    assert done.returncode == 0
    pieces = [line.split("--piece=")[1].split()[0] for line in done.stdout.splitlines()]
    assert sorted(pieces) == sorted(gpu_plan.PIECES)
    assert done.stdout.splitlines()[0] == f"{plan} OUT --piece=check --dry-run --minutes=5"
    for statuses, status in (((0, 75), 75), ((75, 0), 75), ((1, 75), 1), ((75, 1), 1), ((0, 137), 1)):
        failing = f"*--piece=check*) exit {statuses[0]};; *--piece=speed*) exit {statuses[1]}"
        assert call("OUT", "check", "speed", said=failing).returncode == status
    # Half an hour is what there is, less three starts of a machine.
    called = [word for call in gpu_prepare.CALLS for word in call.split() if not word.startswith("--")]
    assert sorted(called) == sorted(gpu_plan.PIECES)
    assert sum(gpu_plan.MINUTES.values()) <= 18
