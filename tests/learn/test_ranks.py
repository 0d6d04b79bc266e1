"""Several processes learn what one learns."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from learning_games import make_data

from moemcts.store import read_json, read_toml

SCRIPT = """
import sys
sys.path[:0] = {paths}
from pathlib import Path
import torch
from torch import nn
from learning_games import TicTacToe, thirds
from training_for_tests import config
from moemcts.learn.schemes.catalogue import Separated
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.training.ranks import connected
from moemcts.learn.training.trainer import Trainer

torch.set_num_threads(1)

class Plain(nn.Module):
    '''Without batch norm, whose statistics are each process' own.'''

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(2, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(), nn.Flatten())
        self.policy, self.value = nn.Linear(72, 9), nn.Linear(72, 1)

    def forward(self, planes):
        body = self.body(planes)
        return self.policy(body), self.value(body).tanh()[:, 0]

data = Dataset.open(Path({data!r}), TicTacToe())
settings = config(spike=1.01, max_spikes=30, optimiser="sgd", learning_rate=0.2, batch_size=33, epochs=6)
with connected("cpu") as ranks:
    trained = Separated().fit(Trainer(settings, ranks=ranks), Plain, data, thirds(), Path({folder!r})).trained
"""


def learn(data: Path, folder: Path, num_processes: int) -> list[dict[str, object]]:
    paths = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
    script = folder.with_suffix(".py")
    script.write_text(SCRIPT.format(paths=paths, data=str(data), folder=str(folder)))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={num_processes}"]
    done = subprocess.run([*command, str(script)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_two_processes_learn_what_one_learns(tmp_path: Path) -> None:
    make_data(tmp_path / "data")
    one, two = (learn(tmp_path / "data", tmp_path / f"ranks-{number}", number) for number in (1, 2))
    assert [line["step"] for line in one] == [line["step"] for line in two]
    assert any(line.get("spike") for line in one)
    for a, b in zip(one, two, strict=True):
        # float32 gradients are summed in another order; the difference grows with the steps.
        for part in ("validation", "training"):
            assert b[part] == pytest.approx(a[part], rel=2e-4), (part, a["step"])
        assert a["phases"].keys() == b["phases"].keys()  # type: ignore[attr-defined]


def test_experts_are_trained_by_torchrun(tmp_path: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--no-python"]
    command = [str(Path(sys.executable).parent / "moemcts"), "train", "--game", "tictactoe", "--gate", "plies"]
    # Heads on a frozen body: weights that no gradient comes to.
    command += ["--scheme", "shared_stem", "--network", "resnet?channels=8&blocks=1"]
    sizes = ["--preset", "smoke", "--set", "data.samples=600", "--set", "training.device=cpu"]
    sizes += ["--set", "training.precision=auto"]
    done = subprocess.run(
        [*torchrun, *command, *sizes, "--out", str(tmp_path / "out")],
        capture_output=True, text=True, check=False, timeout=300,
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
