"""Being killed changes nothing, and damage does not go unnoticed."""

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from learning_games import make_data, thirds
from training_for_tests import EVERYTHING, Forgetful, config, fit_staged, quiet, same, small_network

from moemcts.errors import DamagedFile, ForeignData, MoemctsError
from moemcts.gates import PlyGate
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.schemes.catalogue import Staged
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.loss_monitor import LossMonitor, Trend
from moemcts.learn.training.metrics_log import read_log
from moemcts.learn.training.progress import Progress
from moemcts.learn.training.stage import StageRun, read_stage
from moemcts.learn.training.trainer import Trainer, check_training, read_identity


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return make_data(tmp_path_factory.mktemp("data"))


SPIKES = {"spike": 1.5, "validation_interval": 2, "epochs": 4}
PLATEAU = {"schedule": "plateau", "plateau_patience": 1, "patience": 4, "tolerance": 0.002, "epochs": 6}
PREFETCHED = {"schedule": "cosine", "precision": "bf16", "encoders": 3, "prefetch": 7}


@pytest.mark.parametrize(
    ("blow", "changes"),
    [
        # Nothing is saved after an error: a training goes on from a measurement or a save interval.
        (RuntimeError, {}),
        (RuntimeError, {"optimiser": "nag", "schedule": "one_cycle", "momentum": 0.95, "clip": 1.0}),
        (RuntimeError, {"optimiser": "sgd", "keep": "last", "augment": False}),
        (RuntimeError, {"schedule": "one_cycle", "validation_interval": None}),
        (RuntimeError, SPIKES),
        (RuntimeError, PLATEAU),
        (RuntimeError, PREFETCHED),
        (RuntimeError, {"precision": "bf16", "channels_last": True, "optimiser": "nag"}),
        # An interrupt saves where it comes, between any two steps.
        (KeyboardInterrupt, {}),
        (KeyboardInterrupt, SPIKES),
        (KeyboardInterrupt, PLATEAU),
        (KeyboardInterrupt, PREFETCHED),
    ],
)
def test_a_training_killed_at_random_steps_ends_in_the_same_weights(
    data: Dataset,
    tmp_path: Path,
    blow: type[BaseException],
    changes: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "spike" in changes:
        monkeypatch.setattr(LossMonitor, "judge", spiking(LossMonitor.judge))
    settings = config(**changes)
    unbroken = fit_staged(data, tmp_path / "unbroken", settings, quiet)
    rng = random.Random(repr(changes))
    num_kills = 0

    def watch(progress: Progress) -> None:
        if rng.random() < 0.2 and num_kills < 12:
            raise blow

    while True:
        try:
            resumed = fit_staged(data, tmp_path / "killed", settings, watch)
            break
        except blow:
            num_kills += 1
    assert num_kills > 3
    assert same(unbroken, resumed)
    logs = [(tmp_path / name / "metrics.jsonl").read_bytes() for name in ("unbroken", "killed")]
    assert logs[0] == logs[1]
    if "spike" in changes:
        assert logs[0].count(b'"spike": true') > 3


def spiking(judge: Callable[..., Trend]) -> Callable[..., Trend]:
    """Returns a judgement for which the second measurement of every stage is a spike, twice."""

    def judge_or_spike(course: LossMonitor, settings: TrainerConfig, loss: float | None) -> Trend:
        has_accepted = course.accepted is not None
        return "spike" if has_accepted and len(course.returns) < 2 else judge(course, settings, loss)

    return judge_or_spike


KILLED = """
import sys
sys.path[:0] = {paths}
from pathlib import Path
import torch
torch.set_num_threads(1)
from learning_games import TicTacToe, thirds
from training_for_tests import config, fit_staged
from moemcts.learn.data.dataset import Dataset
data = Dataset.open(Path({data!r}), TicTacToe())
fit_staged(data, Path({folder!r}), config(save_interval=3, epochs=4), lambda p: print(p.step, flush=True))
"""


def test_a_training_killed_by_the_system_ends_in_the_same_weights(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    settings = config(save_interval=3, epochs=4)
    unbroken = fit_staged(data, tmp_path / "unbroken", settings, quiet)
    paths = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
    code = KILLED.format(paths=paths, data=str(tmp_path / "data"), folder=str(tmp_path / "killed"))
    for kill_at, how in ((17, signal.SIGKILL), (60, signal.SIGINT)):
        with subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if int(line) >= kill_at:
                    os.kill(process.pid, how)
                    break
            process.communicate()
            assert process.returncode != 0
    assert list((tmp_path / "killed").rglob("resume.safetensors"))
    assert same(unbroken, fit_staged(data, tmp_path / "killed", settings, quiet))


def test_ctrl_c_within_a_step_saves_after_it(data: Dataset, tmp_path: Path) -> None:
    settings = config(epochs=200, save_interval=10_000, validation_interval=10_000)
    sender = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    network = small_network()
    last = [0]

    def watch(progress: Progress) -> None:
        if not last[0]:
            # Not before the first step: the first training of a process imports for seconds.
            sender.start()
        last[0] = progress.step
        time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        Trainer(settings, on_progress=watch).fit(network, data, thirds(), EVERYTHING, tmp_path)
    (state,) = tmp_path.rglob("resume.safetensors")
    header = state.read_bytes()[:20_000].decode(errors="replace")
    assert f'\\\\"step\\\\": {last[0]},' in header or f'"step\\": {last[0]},' in header


def test_an_interrupt_is_heard_where_weights_have_diverged(data: Dataset, tmp_path: Path) -> None:
    network = small_network()

    def ruined(progress: Progress) -> None:
        with torch.no_grad():
            next(network.parameters()).fill_(torch.nan)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Trainer(config(epochs=2), on_progress=ruined).fit(network, data, thirds(), EVERYTHING, tmp_path)
    assert not list(tmp_path.rglob("resume.safetensors"))


def test_a_kill_at_the_very_end_of_a_stage_leaves_nothing_behind(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(run: StageRun) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(StageRun, "remove_states", killed)
        with pytest.raises(KeyboardInterrupt):
            fit_staged(data, tmp_path, config(epochs=1), quiet)
    assert (tmp_path / "stages" / "00" / "good.safetensors").exists()
    fit_staged(data, tmp_path, config(epochs=1), quiet)
    assert {path.name for path in (tmp_path / "stages").rglob("*.safetensors")} == {"result.safetensors"}


def test_a_kill_before_the_best_weights_are_written_loses_none(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state that was written before them says that they are the best, and has them."""
    settings, keep, times = config(validation_interval=2), StageRun._keep_best, [0]
    unbroken = fit_staged(data, tmp_path / "unbroken", settings, quiet)

    def killed(run: StageRun) -> None:
        times[0] += 1
        if times[0] == 3:
            raise KeyboardInterrupt
        keep(run)

    with monkeypatch.context() as patched:
        patched.setattr(StageRun, "_keep_best", killed)
        with pytest.raises(KeyboardInterrupt):
            fit_staged(data, tmp_path / "killed", settings, quiet)
    stage = tmp_path / "killed" / "stages" / "01"
    state, best = (read_stage(stage / f"{name}.safetensors") for name in ("good", "best"))
    assert best[1]["step"] < state[1]["position"]["best"]["step"] == state[1]["position"]["step"]
    assert same(unbroken, fit_staged(data, tmp_path / "killed", settings, quiet))


def test_a_finished_training_is_not_trained_again(data: Dataset, tmp_path: Path) -> None:
    first = fit_staged(data, tmp_path, config(), quiet)
    log = (tmp_path / "metrics.jsonl").read_bytes()
    steps: list[Progress] = []
    assert same(first, fit_staged(data, tmp_path, config(), steps.append))
    assert not steps
    assert (tmp_path / "metrics.jsonl").read_bytes() == log


def test_a_full_disk_is_one_line_and_the_training_goes_on_later(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unbroken = fit_staged(data, tmp_path / "unbroken", config(), quiet)
    real, num_writes = os.fsync, [0]

    def full(descriptor: int) -> None:
        num_writes[0] += 1
        if num_writes[0] > 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MoemctsError, match=r"cannot write .*safetensors: No space left on device; .* MB are needed"):
        fit_staged(data, tmp_path / "full", config(), quiet)
    monkeypatch.setattr(os, "fsync", real)
    assert not list(tmp_path.rglob("*.part"))
    assert same(unbroken, fit_staged(data, tmp_path / "full", config(), quiet))


def test_a_folder_of_another_training_is_refused_with_both_sides(data: Dataset, tmp_path: Path) -> None:
    fit_staged(data, tmp_path, config(epochs=1), quiet)
    with pytest.raises(ForeignData, match=r"was begun with config.learning_rate 0.001, not 0.01"):
        fit_staged(data, tmp_path, config(epochs=1, learning_rate=0.01), quiet)
    gate = PlyGate([2, 6], ["early", "middle", "late"])
    with pytest.raises(ForeignData, match=r"was begun with gate"):
        Staged().fit(Trainer(config(epochs=1)), Forgetful, data, gate, tmp_path)


@pytest.mark.parametrize("way", [{"channels_last": True}, {"threads": 2}])
def test_a_training_goes_on_in_the_way_that_it_was_begun(data: Dataset, tmp_path: Path, way: dict[str, Any]) -> None:
    fit_staged(data, tmp_path, config(epochs=1, **way), quiet)
    ((name, value),) = way.items()
    with pytest.raises(ForeignData, match=rf"was begun with config.{name} {value}, not None"):
        fit_staged(data, tmp_path, config(epochs=1), quiet)


def test_what_does_not_decide_the_weights_may_change_on_the_way(data: Dataset, tmp_path: Path) -> None:
    first = fit_staged(data, tmp_path, config(epochs=1), quiet)
    steps: list[Progress] = []
    assert same(first, fit_staged(data, tmp_path, config(epochs=1, save_interval=2, encoders=1), steps.append))
    assert not steps


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"references": {"scheme": "single"}}, r"begun with references.scheme 'staged', not 'single'"),
        ({"config": {"epochs": 9.0}}, r"begun with config.epochs 1.0, not 9.0"),
        ({"data": "other"}, r"begun with data '\w+', not 'other'"),
        ({"stages": []}, r"begun with stages"),
    ],
)
def test_a_finished_training_says_what_it_was_begun_with(
    data: Dataset, tmp_path: Path, changes: dict[str, Any], what: str
) -> None:
    Staged().fit(Trainer(config(epochs=1), references={"scheme": "staged"}), Forgetful, data, thirds(), tmp_path)
    check_training(tmp_path, {"config": config(epochs=1).identity(), "data": data.id})
    check_training(tmp_path / "not begun", changes)
    with pytest.raises(ForeignData, match=what):
        check_training(tmp_path, changes)


def test_a_damaged_state_is_refused(data: Dataset, tmp_path: Path) -> None:
    fit_staged(data, tmp_path, config(epochs=1), quiet)
    (result,) = (tmp_path / "stages" / "00").iterdir()
    result.write_bytes(result.read_bytes()[:-10])
    with pytest.raises(DamagedFile, match=r"result.safetensors is damaged"):
        fit_staged(data, tmp_path, config(epochs=1), quiet)


@pytest.mark.parametrize("place", [-1, -100, 60, 600])
def test_one_bit_of_a_stage_does_not_go_unnoticed(data: Dataset, tmp_path: Path, place: int) -> None:
    fit_staged(data, tmp_path, config(epochs=1), quiet)
    (result,) = (tmp_path / "stages" / "00").iterdir()
    content = bytearray(result.read_bytes())
    content[place] ^= 1
    result.write_bytes(content)
    with pytest.raises(DamagedFile, match=r"is damaged: .*; delete .*00 and the folders of later stages beside it"):
        fit_staged(data, tmp_path, config(epochs=1), quiet)
    shutil.rmtree(tmp_path / "stages")
    assert fit_staged(data, tmp_path, config(epochs=1), quiet)


def test_half_a_line_of_measurements_is_cut_and_gone_on(data: Dataset, tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        if progress.step == 10:
            raise KeyboardInterrupt

    fit_staged(data, tmp_path / "whole", config(epochs=1), quiet)
    whole = (tmp_path / "whole" / "metrics.jsonl").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        fit_staged(data, tmp_path / "cut", config(epochs=1), stop)
    log = tmp_path / "cut" / "metrics.jsonl"
    first = log.read_bytes().index(b"\n") + 1
    log.write_bytes(whole[: first + 40])
    assert len(read_log(log)) == 1
    fit_staged(data, tmp_path / "cut", config(epochs=1), quiet)
    lines = log.read_bytes().splitlines(keepends=True)
    assert lines[0] == whole[:first]
    assert lines[-1] == whole.splitlines(keepends=True)[-1]
    assert all(json.loads(line) for line in lines)


def test_an_identity_that_is_nested_too_deeply_is_named(tmp_path: Path) -> None:
    (tmp_path / "identity.json").write_text("[" * 100_000)
    with pytest.raises(DamagedFile, match=r"identity\.json is damaged: it is nested too deeply; delete it"):
        read_identity(tmp_path)


def test_a_line_that_is_none_is_named(tmp_path: Path) -> None:
    good = json.dumps({"stage": "all", "step": 3})
    for harm in ("[2", "[" * 100_000, "{}", "[]", "3", '{"stage": 1, "step": 2}', '{"stage": "all", "step": null}'):
        (tmp_path / "metrics.jsonl").write_text(f"{good}\n{harm}\n{good}\n")
        with pytest.raises(DamagedFile, match=r"metrics\.jsonl is damaged in line 2: "):
            read_log(tmp_path / "metrics.jsonl")
    assert read_log(tmp_path / "none.jsonl") == []
