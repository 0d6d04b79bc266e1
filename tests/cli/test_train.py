"""`moemcts train` makes experts of any game from data to report, and a mistake costs one line."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands_for_tests import moemcts

from moemcts.agents import RandomAgent
from moemcts.cli.main import main
from moemcts.learn.data.generation import generate
from moemcts.plugins import plugins
from moemcts.store import exclusive

BIN = Path(sys.executable).parent
TINY = ["--preset", "smoke", "--set", "training.epochs=2", "--set", "training.batch_size=64"]


def train(*arguments: object) -> dict[str, object]:
    done = moemcts("train", *arguments, *TINY, "--json")
    assert done.returncode == 0, done.stderr
    numbers: dict[str, object] = json.loads(done.stdout)
    return numbers


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training that plays its own games; its data serve the others."""
    folder = tmp_path_factory.mktemp("trainings") / "single"
    samples = ("--set", "data.samples=2500")
    numbers = train("--game", "tictactoe", *samples, "--gate", "plies", "--scheme", "single", "--out", folder)
    assert numbers["folder"] == str(folder)
    return folder


def test_experts_are_compared_with_a_baseline_on_every_phase(baseline: Path, tmp_path: Path) -> None:
    out = tmp_path / "experts"
    numbers = train(
        "--game", "tictactoe", "--gate", "plies", "--data", baseline / "data", "--baseline", baseline, "--out", out
    )
    rows = {row["name"]: row for row in numbers["losses"]}  # type: ignore[attr-defined]
    assert list(rows) == ["baseline", *(f"expert for phase {i}" for i in range(3)), "mixture"]
    assert "The mixture asks each phase's expert" in (out / "report" / "report.md").read_text()
    alone = (baseline / "report" / "report.md").read_text()
    assert "| network | " in alone
    assert "mixture" not in alone
    assert rows["mixture"]["loss"]["phase 1"] == rows["expert for phase 1"]["loss"]["phase 1"]
    assert sum(rows["mixture"]["counts"][f"phase {i}"] for i in range(3)) == rows["mixture"]["counts"]["all"]
    page = (out / "report" / "report.html").read_text()
    assert 'style="background: rgba(0, 158, 115, 0.55)"' in page
    assert (out / "report" / "figures" / "loss-validation.svg").stat().st_size > 500
    done = moemcts("match", "--game", "tictactoe", "--agent", f"{out}?simulations=4", "--games", "2")
    assert done.returncode == 0, done.stderr


def test_a_baseline_that_has_seen_the_held_out_games_is_said_to(baseline: Path, tmp_path: Path) -> None:
    arguments = ["--game", "tictactoe", "--data", baseline / "data", "--baseline", baseline, *TINY]
    other, equal = (
        moemcts("train", *arguments, "--seed", seed, "--out", tmp_path / str(seed)).stdout for seed in (1, 0)
    )
    assert "The baseline learned from the same data with seed 0, not 1" in other
    assert "The baseline learned from the same data" not in equal


def test_a_dry_run_says_which_stages_there_will_be_and_writes_nothing(baseline: Path, tmp_path: Path) -> None:
    arguments = ["--game", "tictactoe", "--gate", "plies", "--scheme", "staged", "--data", baseline / "data"]
    before = {path: path.stat().st_mtime_ns for path in baseline.rglob("*")}
    plan = train(*arguments, "--dry-run", "--out", tmp_path / "out")
    assert {path: path.stat().st_mtime_ns for path in baseline.rglob("*")} == before
    assert not list(tmp_path.iterdir())
    train(*arguments, "--out", tmp_path / "out")
    lines = map(json.loads, (tmp_path / "out" / "training" / "metrics.jsonl").read_text().splitlines())
    steps = {line["stage"]: line["step"] for line in lines}
    # Whole games are held out, about as many samples as is planned with.
    assert {one["learns_from"]: one["steps"] for one in plan["stages"]} == pytest.approx(steps, rel=0.1)  # type: ignore[attr-defined]
    assert len(list((tmp_path / "out" / "training" / "stages").iterdir())) == len(plan["stages"])  # type: ignore[arg-type]
    assert plan["looked_at"] == "2,500 samples"


def test_given_sets_are_measured_and_none_of_their_games_is_learned(baseline: Path, tmp_path: Path) -> None:
    game = plugins().game("tictactoe")
    for name, seed in (("validation", 5), ("test", 6)):
        generate(game, [RandomAgent()] * 2, 300, seed=seed, out=tmp_path / name, reference="tictactoe")
    numbers = train(
        "--game", "tictactoe", "--gate", "plies", "--data", baseline / "data", "--out", tmp_path / "out",
        "--validation", tmp_path / "validation", "--test", tmp_path / "test",
    )  # fmt: skip
    assert numbers["measured_on"] == "test"
    assert numbers["losses"][-1]["counts"]["all"] == 300  # type: ignore[index]
    assert numbers["training_samples"]["all"] == 2500  # type: ignore[index]
    lines = (tmp_path / "out" / "training" / "metrics.jsonl").read_text().splitlines()
    last = json.loads(lines[-1])
    assert sum(part["weight"] for part in last["test"].values()) == 300
    assert sum(part["weight"] for part in last["phases"].values()) == 300
    assert (tmp_path / "out" / "report" / "figures" / "loss-test.png").exists()


def test_games_that_a_setting_names_are_found_from_everywhere(
    baseline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(baseline)
    arguments = ["--set", "data.folder=data", *TINY, "--out", tmp_path / "out"]
    assert moemcts("train", "--game", "tictactoe", *arguments, "--dry-run").stdout.count(f'folder = "{baseline}/data"')
    done = moemcts("train", "--game", "tictactoe", *arguments)
    assert done.returncode == 0, done.stderr
    monkeypatch.chdir(tmp_path)
    again = moemcts("report", tmp_path / "out")
    assert again.returncode == 0, again.stderr


def test_pommerman_experts_by_mixedness(tmp_path: Path) -> None:
    numbers = train(
        "--game", "pommerman", "--gate", "mixedness", "--set", "data.samples=3000", "--out", tmp_path / "out"
    )
    names = [row["name"] for row in numbers["losses"]]  # type: ignore[attr-defined]
    assert len(names) == 4
    assert names[-1] == "mixture"


def test_a_folder_of_parts_is_learned_from_and_measured_on_by_their_names(tmp_path: Path) -> None:
    game = plugins().game("antichess")
    for part, seed, size in (("train", 1, 600), ("validation", 2, 200), ("test", 3, 250)):
        generate(game, [RandomAgent()] * 2, size, seed=seed, out=tmp_path / "data" / part, reference="antichess")
    numbers = train(
        "--game", "antichess", "--gate", "lichess", "--scheme", "weighted?a=4", "--data", tmp_path / "data",
        "--out", tmp_path / "out", "--set", "training.epochs=1",
    )  # fmt: skip
    assert numbers["measured_on"] == "test"
    assert numbers["losses"][-1]["counts"]["all"] == 250  # type: ignore[index]


MISTAKES = [
    ("--game pommerman --data {data}", 2, "was made for tictactoe with planes"),
    ("--game tictactoe --data {nowhere}", 2, "expected --data to be a dataset's folder or a file of games, found"),
    ("--game tictactoe --data {run}", 2, "single, found none; did you mean {data}?"),
    ("--game tictactoe --data {data} --test {data}", 2, "expected different samples to learn from and to measure on"),
    ("--game tictactoe --data {data} --network resnt", 2, "no network named 'resnt'; did you mean 'resnet'?"),
    ("--game tictactoe --data {data} --scheme separate", 2, "did you mean 'separated'?"),
    ("--game tictactoe --data {data} --gate plys", 2, "no gate named 'plys'; did you mean 'plies'?"),
    ("--game tictactoe --data {data} --baseline {nowhere}", 2, "expected a folder of experts, got"),
    ("--game tictactoe --data {data} --baseline weights:connect-four", 2, "was made for connect-four with planes"),
    ("--game tictactoe --data {data} --baseline weights:connect-fou", 2, "did you mean 'connect-four'?"),
    ("--game tictactoe --data {data} --set training.epoch=3", 2, "did you mean 'epochs'?"),
    ("--game tictactoe --data {data} --set search.simulations=3", 2, "no setting named 'search.simulations'"),
    ("--game tictactoe --data {data} --out {run}", 2, "resume it: moemcts train --resume"),
    ("--resume {nowhere}", 2, "expected a training with a config.toml in"),
    ("--resume {run} --game tictactoe", 2, "expected --resume alone"),
]


@pytest.mark.parametrize(("arguments", "code", "line"), MISTAKES)
def test_mistakes_get_one_line(
    arguments: str,
    code: int,
    line: str,
    baseline: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    folders = {"data": baseline / "data", "run": baseline, "nowhere": tmp_path / "nowhere"}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["moemcts", "train", *arguments.format(**folders).split()])
    with pytest.raises(SystemExit) as left:
        main()
    error = capsys.readouterr().err
    assert left.value.code == code
    assert line.format(**folders) in error
    assert len(error.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_an_empty_phase_is_named_with_the_counts(baseline: Path, tmp_path: Path) -> None:
    done = moemcts(
        "train", "--game", "tictactoe", "--data", baseline / "data", "--gate", "plies?cuts=0,3", "--out", tmp_path / "x"
    )
    assert done.returncode == 1
    assert "no samples to train 'phase 0' on: gate 'plies?cuts=0,3' finds 0 of phase 0, " in done.stderr
    assert f"start another training, with another gate or other cuts on the same samples, --data {baseline}" in (
        done.stderr
    )
    assert not (tmp_path / "x" / "training").exists()
    assert "Traceback" not in done.stderr


def test_a_folder_in_use_is_refused(baseline: Path) -> None:
    command = [str(BIN / "moemcts"), "train", "--resume", str(baseline)]
    with exclusive(baseline):
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 1
    assert f"is in use by process {os.getpid()}; wait until it has ended" in done.stderr
    assert moemcts("train", "--resume", baseline).returncode == 0


def test_a_full_disk_is_one_line_and_the_training_goes_on_later(
    baseline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = ["moemcts", "train", "--game", "tictactoe", "--gate", "plies", "--data", str(baseline / "data"), *TINY]
    real, num_writes = os.fsync, [0]

    def full(descriptor: int) -> None:
        num_writes[0] += 1
        if num_writes[0] > 6:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(sys, "argv", [*command, "--out", str(out)])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    error = capsys.readouterr().err
    assert "No space left on device" in error
    assert "what was there before is intact" in error
    assert "Traceback" not in error
    monkeypatch.setattr(os, "fsync", real)
    assert moemcts("train", "--resume", out).returncode == 0
