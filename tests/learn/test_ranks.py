"""Several processes learn what one learns."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import ranks_for_tests
from learning_games import make_data
from training_for_tests import lines_of

from moemcts.errors import UsageError
from moemcts.learn.training.ranks import Ranks, device_of
from moemcts.store import read_json, read_toml


def test_two_processes_learn_what_one_learns(tmp_path: Path) -> None:
    make_data(tmp_path / "data")
    ranks_for_tests.learn(tmp_path / "data", tmp_path / "one")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += [ranks_for_tests.__file__, str(tmp_path / "data"), str(tmp_path / "two")]
    folders = [str(Path(__file__).parent), str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    one, two = (lines_of(tmp_path / name) for name in ("one", "two"))
    assert [line["step"] for line in one] == [line["step"] for line in two]
    assert any(line.get("spike") for line in one)
    for a, b in zip(one, two, strict=True):
        # float32 gradients are summed in another order; the difference grows with the steps.
        for part in ("validation", "training"):
            assert b[part] == pytest.approx(a[part], rel=2e-4), (part, a["step"])
        assert a["phases"].keys() == b["phases"].keys()


def test_experts_are_trained_by_torchrun(tmp_path: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--no-python"]
    command = [str(Path(sys.executable).parent / "moemcts"), "train", "--game", "tictactoe", "--gate", "plies"]
    # Heads on a frozen body: weights that no gradient comes to.
    command += ["--scheme", "shared_stem", "--network", "resnet?channels=8&blocks=1"]
    sizes = ["--preset", "smoke", "--set", "data.samples=600", "--set", "training.device=cpu"]
    sizes += ["--set", "training.precision=auto"]
    done = subprocess.run(
        [*torchrun, *command, *sizes, "--out", str(tmp_path / "out")],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    # Only one of them speaks.
    assert done.stdout.count("experts: ") == 1
    assert (tmp_path / "out" / "experts" / "manifest.toml").exists()
    # The first has chosen for both, when they trained.
    assert read_toml(tmp_path / "out" / "config.toml")["training"]["precision"] == "auto"
    kept = read_json(tmp_path / "out" / "training" / "identity.json")["config"]
    assert kept["precision"] in ("float32", "bf16")
    assert json.loads((tmp_path / "out" / "report" / "numbers.json").read_text())["losses"]


def test_processes_that_would_share_a_gpu_are_refused() -> None:
    with pytest.raises(UsageError, match="expected device cuda of 2 processes, each of which takes its own"):
        device_of("cuda:1", Ranks(0, 2))
