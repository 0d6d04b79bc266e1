"""Training learns, and being killed changes nothing."""

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

import numpy as np
import pytest
import torch
from learning_games import TicTacToe, make_data, thirds
from torch import nn

from moemcts.errors import DamagedFile, ForeignData, MoemctsError, UsageError
from moemcts.gates import PlyGate, SinglePhase
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.networks import catalogue
from moemcts.learn.schemes.catalogue import GeneralFirst, Separated, Single, Staged, Weighted
from moemcts.learn.training import speed
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.judgement import Judge, Judgement
from moemcts.learn.training.metrics_log import read_log
from moemcts.learn.training.progress import OnProgress, Progress
from moemcts.learn.training.speed import Way, best_way
from moemcts.learn.training.stages import Stage
from moemcts.learn.training.trainer import Trained, Trainer, check_training
from moemcts.runs.settings import MatchConfig

EVERYTHING = [Stage(weights=(1.0, 1.0, 1.0))]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return make_data(tmp_path_factory.mktemp("data"))


class Forgetful(nn.Module):
    """A network with dropout: its training draws random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.body = catalogue.resnet((2, 3, 3), 9, channels=4, blocks=1)
        self.dropout = nn.Dropout2d(0.3)

    def forward(self, planes: torch.Tensor) -> Any:
        return self.body(self.dropout(planes))


def config(**changes: Any) -> TrainerConfig:
    small = {"epochs": 2, "batch_size": 32, "validation_interval": 7, "save_interval": 5, "validation_fraction": 0.2}
    return TrainerConfig(**{**small, "device": "cpu", "threads": 1, **changes})


def fit_staged(data: Dataset, folder: Path, settings: TrainerConfig, watch: OnProgress) -> list[Trained]:
    return Staged().fit(Trainer(settings, on_progress=watch), Forgetful, data, thirds(), folder).trained


def small_network(channels: int = 4) -> nn.Module:
    """Returns a network with the same weights whatever was drawn before."""
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return catalogue.resnet((2, 3, 3), 9, channels=channels, blocks=1)


def quiet(progress: Progress) -> None:
    pass


def weights(trained: list[Trained]) -> list[torch.Tensor]:
    return [tensor for one in trained for tensor in one.network.state_dict().values()]


def same(a: list[Trained], b: list[Trained]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(weights(a), weights(b), strict=True))


def test_training_lowers_the_held_out_loss(data: Dataset, tmp_path: Path) -> None:
    network = small_network(8)
    Trainer(config(epochs=8, learning_rate=0.01)).fit(network, data, thirds(), EVERYTHING, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["training"]["policy"] < lines[0]["training"]["policy"] < np.log(9) + 0.1
    assert lines[-1]["validation"]["value"] < lines[0]["validation"]["value"]
    assert [line["step"] for line in lines][:3] == [7, 14, 21]


def test_the_best_weights_are_kept(data: Dataset, tmp_path: Path) -> None:
    # So few games are learned by heart, and the loss on others rises.
    few = data.take(np.flatnonzero(data.games() < 12))
    settings = config(epochs=60, learning_rate=0.02, augment=False, validation_fraction=0.5)
    result = Trainer(settings).fit(small_network(8), few, thirds(), EVERYTHING, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    best = min(lines, key=lambda line: line["validation"]["loss"])
    assert result.measurement == best
    assert best["step"] < lines[-1]["step"]
    _, held_out = few.split(0.5, settings.seed)
    (batch,) = held_out.chunks(np.ones(len(held_out), dtype=np.float32))
    with torch.inference_mode():
        logits = result.network(torch.from_numpy(batch.planes)).logits
        policy = nn.functional.cross_entropy(logits, torch.from_numpy(batch.actions))
    assert policy.item() == pytest.approx(best["validation"]["policy"], abs=1e-5)  # float32, other batch


def test_every_term_of_the_loss_is_measured_and_learned(data: Dataset, tmp_path: Path) -> None:
    network = catalogue.resnet((2, 3, 3), 9, channels=8, blocks=1, value_head="wdlp")
    settings = config(epochs=8, learning_rate=0.01, wdl_weight=0.1, plies_weight=0.1)
    Trainer(settings).fit(network, data, thirds(), EVERYTHING, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    for part in ("training", "validation"):
        first, last = lines[0][part], lines[-1][part]
        assert list(last) == ["loss", "policy", "value", "wdl", "plies", "accuracy", "weight"][: len(last)]
        assert last["wdl"] < first["wdl"]
        assert last["plies"] < first["plies"]
        parts = 0.9 * last["policy"] + 0.1 * (last["value"] + last["wdl"] + last["plies"])
        assert last["loss"] == pytest.approx(parts, rel=0.02 if part == "training" else 1e-6)  # steps differ in size


def test_phases_of_the_held_out_games_add_up(data: Dataset, tmp_path: Path) -> None:
    network = small_network()
    entry = Trainer(config()).fit(network, data, thirds(), EVERYTHING, tmp_path).measurement
    parts = entry["phases"].values()
    total = sum(part["weight"] for part in parts)
    assert total == entry["validation"]["weight"]
    for key in ("loss", "policy", "value", "accuracy"):
        assert sum(part[key] * part["weight"] for part in parts) / total == pytest.approx(entry["validation"][key])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"optimiser": "nag", "schedule": "one_cycle", "momentum": 0.95, "clip": 1.0},
        {"optimiser": "sgd", "keep": "last", "augment": False},
        {"schedule": "one_cycle", "validation_interval": None},
        {"spike": 1.5, "validation_interval": 2, "epochs": 4},
        {"schedule": "plateau", "plateau_patience": 1, "patience": 4, "tolerance": 0.002, "epochs": 6},
        {"schedule": "cosine", "precision": "bf16", "encoders": 3, "prefetch": 7},
        {"precision": "bf16", "channels_last": True, "optimiser": "nag"},
    ],
)
@pytest.mark.parametrize("blow", [KeyboardInterrupt, RuntimeError])
def test_a_training_killed_at_random_steps_ends_in_the_same_weights(
    data: Dataset,
    tmp_path: Path,
    changes: dict[str, Any],
    blow: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "spike" in changes:
        monkeypatch.setattr(Judge, "judge", spiking(Judge.judge))
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


def spiking(judge: Callable[..., Judgement]) -> Callable[..., Judgement]:
    """Returns a judgement for which the second measurement of every stage is a spike, twice."""

    def judge_or_spike(course: Judge, settings: TrainerConfig, loss: float | None) -> Judgement:
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
from test_trainer import config, fit_staged
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
        last[0] = progress.step
        time.sleep(0.001)

    sender.start()
    with pytest.raises(KeyboardInterrupt):
        Trainer(settings, on_progress=watch).fit(network, data, thirds(), EVERYTHING, tmp_path)
    (state,) = tmp_path.rglob("resume.safetensors")
    header = state.read_bytes()[:20_000].decode(errors="replace")
    assert f'\\\\"step\\\\": {last[0]},' in header or f'"step\\": {last[0]},' in header


def test_a_finished_training_is_not_trained_again(data: Dataset, tmp_path: Path) -> None:
    first = fit_staged(data, tmp_path, config(), quiet)
    log = (tmp_path / "metrics.jsonl").read_bytes()
    steps: list[Progress] = []
    assert same(first, fit_staged(data, tmp_path, config(), steps.append))
    assert not steps
    assert (tmp_path / "metrics.jsonl").read_bytes() == log


def test_the_same_seed_gives_the_same_network_and_another_another(data: Dataset, tmp_path: Path) -> None:
    runs = [fit_staged(data, tmp_path / str(i), config(epochs=1, seed=seed), quiet) for i, seed in enumerate((1, 1, 2))]
    assert same(runs[0], runs[1])
    assert not same(runs[0], runs[2])


def test_training_leaves_the_callers_random_numbers_alone(data: Dataset, tmp_path: Path) -> None:
    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    fit_staged(data, tmp_path, config(epochs=1), quiet)
    assert torch.equal(torch.rand(3), expected)


def test_separated_experts_learn_from_their_phase_alone(data: Dataset, tmp_path: Path) -> None:
    experts = Separated().fit(Trainer(config()), Forgetful, data, thirds(), tmp_path / "all").trained
    # Make the samples of other phases nonsense: the expert of the last phase must not notice.
    late = data.phase_weights(thirds())[:, 2] > 0
    part = [Stage(weights=(0.0, 0.0, 1.0))]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = Forgetful()
    alone = Trainer(config()).fit(network, data, thirds(), part, tmp_path / "late")
    assert same([experts[2]], [alone])
    assert 0 < late.sum() < len(data)


def test_single_gives_every_phase_the_same_network(data: Dataset, tmp_path: Path) -> None:
    experts = Single().fit(Trainer(config()), Forgetful, data, thirds(), tmp_path).trained
    assert same(experts[:1], experts[1:2])
    assert experts[0].path == experts[2].path


def test_single_of_three_phases_is_the_network_without_a_gate(data: Dataset, tmp_path: Path) -> None:
    three = Single().fit(Trainer(config()), Forgetful, data, thirds(), tmp_path / "three").trained
    one = Separated().fit(Trainer(config()), Forgetful, data, SinglePhase(), tmp_path / "one").trained
    assert same(three[:1], one)


def test_experts_of_general_first_begin_with_the_same_network(data: Dataset, tmp_path: Path) -> None:
    GeneralFirst(special_epochs=0.5).fit(Trainer(config()), Forgetful, data, thirds(), tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert lines[0]["experts"] == ["early", "middle", "late"]
    assert {line["stage"] for line in lines} == {"all", "early", "middle", "late"}
    assert sum(line["step"] == line["num_steps"] for line in lines) == 4


def test_weighted_trains_on_all_samples(data: Dataset, tmp_path: Path) -> None:
    (expert, *_) = Weighted(a=4).fit(Trainer(config(epochs=1)), Forgetful, data, thirds(), tmp_path).trained
    held_out = {name: part["weight"] for name, part in expert.measurement["phases"].items()}
    expected = 2 * held_out["early"] + 0.5 * (held_out["middle"] + held_out["late"])
    assert expert.measurement["validation"]["weight"] == pytest.approx(expected)


def test_progress_counts_all_stages(data: Dataset, tmp_path: Path) -> None:
    seen: list[Progress] = []
    fit_staged(data, tmp_path, config(epochs=1), seen.append)
    assert [p.step for p in seen] == list(range(1, len(seen) + 1))
    assert {p.num_steps for p in seen} == {len(seen)}
    assert seen[-1].samples_per_second > 0


def test_a_phase_without_samples_is_named_with_the_counts(data: Dataset, tmp_path: Path) -> None:
    gate = PlyGate([3, 9], ["early", "rest", "never"])
    with pytest.raises(MoemctsError, match=r"'never' on: gate 'plies' finds early \d+, rest \d+, never 0"):
        Separated().fit(Trainer(config()), Forgetful, data, gate, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_loss_that_is_no_number_stops_the_training_and_loses_nothing(data: Dataset, tmp_path: Path) -> None:
    settings = config(learning_rate=1e30, optimiser="sgd", save_interval=1)
    network = small_network()
    with pytest.raises(MoemctsError, match=r"at step \d+ of \d+ of stage 'all'; lower the learning rate, now 1e\+30"):
        Trainer(settings).fit(network, data, thirds(), EVERYTHING, tmp_path)
    for file in tmp_path.rglob("*.safetensors"):
        from moemcts.learn.weights import read_state

        assert all(bool(tensor.isfinite().all()) for tensor in read_state(file)[0].values())


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


def test_what_does_not_decide_the_weights_may_change_on_the_way(data: Dataset, tmp_path: Path) -> None:
    fit_staged(data, tmp_path, config(epochs=1), quiet)
    fit_staged(data, tmp_path, config(epochs=1, save_interval=2, encoders=1), quiet)


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


def test_a_line_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"a": 1}\n[2\n{"a": 3}\n')
    with pytest.raises(DamagedFile, match="damaged in line 2"):
        read_log(tmp_path / "metrics.jsonl")
    assert read_log(tmp_path / "none.jsonl") == []


def test_the_threads_of_the_machine_change_nothing(data: Dataset, tmp_path: Path) -> None:
    found = []
    for threads in (1, 4):
        torch.set_num_threads(threads)
        try:
            (expert, *_) = fit_staged(data, tmp_path / str(threads), config(epochs=1, threads=None), quiet)
        finally:
            torch.set_num_threads(1)
        found.append(expert.path.read_bytes())
    assert found[0] == found[1]


def test_a_phase_without_held_out_samples_still_ends_with_its_last_weights(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data", num_samples=60)
    rare = PlyGate([7], ["usual", "rare"])
    rows = np.flatnonzero(data.phase_weights(rare)[:, 1])
    games = [int(data.games()[row]) for row in rows[:1]]
    keep = np.flatnonzero(np.isin(data.games(), games) | (data.phase_weights(rare)[:, 1] == 0))
    part = data.take(keep)
    for seed in range(10):
        _, held_out = part.split(0.2, seed)
        if not held_out.phase_weights(rare)[:, 1].any():
            break
    network = small_network()
    result = Trainer(config(seed=seed)).fit(network, part, rare, [Stage(weights=(0.0, 1.0))], tmp_path / "fit")
    assert result.measurement["validation"] is None
    assert result.measurement["step"] == result.measurement["num_steps"]
    assert isinstance(data.game, TicTacToe)


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_a_spike_is_undone_and_what_follows_is_dealt_anew(data: Dataset, tmp_path: Path) -> None:
    settings = config(spike=1.0002, max_spikes=500, learning_rate=0.3, optimiser="sgd", epochs=5)
    Trainer(settings).fit(small_network(8), data, thirds(), EVERYTHING, tmp_path)
    lines = lines_of(tmp_path)
    spikes = [i for i, line in enumerate(lines) if line.get("spike")]
    assert spikes
    for i in spikes:
        good = [line for line in lines[:i] if not line.get("spike")][-1]
        following = lines[i + 1]
        assert lines[i]["validation"]["loss"] > 1.0002 * good["validation"]["loss"]
        # Back to the step of the last good measurement, from there on with other batches.
        assert following["step"] == lines[i]["step"] == good["step"] + 7 or lines[i]["step"] == lines[i]["num_steps"]
        assert following["training"] != lines[i]["training"]
    accepted = [line["step"] for line in lines if not line.get("spike")]
    assert accepted == sorted(set(accepted))


def test_spikes_without_end_give_up_in_one_line(data: Dataset, tmp_path: Path) -> None:
    settings = config(spike=1.00001, max_spikes=2, learning_rate=0.5, optimiser="sgd", epochs=20)
    with pytest.raises(MoemctsError, match=r"held-out loss is .* before, at step .* after going back 2 times") as error:
        Trainer(settings).fit(small_network(8), data, thirds(), EVERYTHING, tmp_path)
    assert "\n" not in str(error.value)
    assert sum(bool(line.get("spike")) for line in lines_of(tmp_path)) == 3
    assert (tmp_path / "stages" / "00" / "best.safetensors").exists()


def test_a_nan_after_a_good_measurement_is_undone(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moemcts.learn.training import stage

    real, calls = stage.total_loss, [0]

    def sometimes_nan(*arguments: Any, **keywords: Any) -> torch.Tensor:
        calls[0] += 1
        return real(*arguments, **keywords) * (float("nan") if calls[0] == 12 else 1.0)

    monkeypatch.setattr(stage, "total_loss", sometimes_nan)
    result = Trainer(config()).fit(small_network(), data, thirds(), EVERYTHING, tmp_path)
    assert calls[0] > result.measurement["num_steps"]
    assert all(bool(tensor.isfinite().all()) for tensor in result.network.state_dict().values())
    assert lines_of(tmp_path)[-1]["step"] == result.measurement["num_steps"]


def test_patience_ends_a_stage_with_its_best_weights(data: Dataset, tmp_path: Path) -> None:
    settings = config(epochs=50, patience=3, learning_rate=0.02, augment=False)
    result = Trainer(settings).fit(small_network(8), data, thirds(), EVERYTHING, tmp_path)
    lines = lines_of(tmp_path)
    losses = [line["validation"]["loss"] for line in lines]
    assert lines[-1]["step"] < lines[-1]["num_steps"]
    assert len(losses) - 1 - losses.index(min(losses)) == 3
    assert result.measurement["validation"]["loss"] == min(losses)


def test_how_batches_are_encoded_changes_nothing(data: Dataset, tmp_path: Path) -> None:
    runs = [
        fit_staged(data, tmp_path / str(i), config(epochs=1, encoders=encoders, prefetch=prefetch), quiet)
        for i, (encoders, prefetch) in enumerate([(1, 1), (4, 9)])
    ]
    assert same(*runs)


def test_the_test_set_is_measured_by_phase_and_decides_nothing(data: Dataset, tmp_path: Path) -> None:
    games = data.games()
    test, rest = data.take(np.flatnonzero(games < 8)), data.take(np.flatnonzero(games >= 8))
    runs = [
        Separated().fit(Trainer(config()), Forgetful, rest, thirds(), tmp_path / str(i), test=given).trained
        for i, given in enumerate((test, None))
    ]
    assert same(*runs)
    for line in lines_of(tmp_path / "0"):
        assert {name: part["weight"] for name, part in line["test"].items()} == test.phase_counts(thirds())
    assert "test" not in lines_of(tmp_path / "1")[0]


def test_few_samples_may_stand_for_all_on_the_way(data: Dataset, tmp_path: Path) -> None:
    Trainer(config(measured_samples=20)).fit(small_network(), data, thirds(), EVERYTHING, tmp_path)
    assert all(line["validation"]["weight"] == 20 for line in lines_of(tmp_path))


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_compiled_network_learns_the_same(data: Dataset, tmp_path: Path, precision: str) -> None:
    plain, compiled = (
        Trainer(config(epochs=1, precision=precision, compile=wanted)).fit(
            small_network(), data, thirds(), EVERYTHING, tmp_path / str(wanted)
        )
        for wanted in (False, True)
    )
    # float32 sums in another order; bfloat16 has 8 bits, and rounds at other places when fused.
    tolerance = 1e-4 if precision == "float32" else 2e-2
    assert compiled.measurement["validation"]["loss"] == pytest.approx(
        plain.measurement["validation"]["loss"], rel=tolerance
    )


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA"),
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_a_full_memory_is_one_line_with_a_hint(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    from moemcts.learn.training import stage

    def full(*arguments: Any) -> Any:
        raise error

    monkeypatch.setattr(stage, "sample_losses", full)
    with pytest.raises(MoemctsError, match="out of memory on cpu with batches of 32 samples; use a smaller batch_size"):
        Trainer(config()).fit(small_network(), data, thirds(), EVERYTHING, tmp_path)


@pytest.mark.parametrize(
    ("name", "line"),
    [("gpu", "expected a device such as cpu, cuda or cuda:1, got 'gpu'"), ("cuda", "no GPU for device")],
)
def test_a_device_that_is_not_there_is_misuse(name: str, line: str) -> None:
    if name == "cuda" and torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(UsageError, match=line):
        Trainer(config(device=name))


def test_speed_and_waiting_are_written_at_every_measurement(data: Dataset, tmp_path: Path) -> None:
    seen: list[Progress] = []
    Trainer(config(), on_progress=seen.append).fit(small_network(), data, thirds(), EVERYTHING, tmp_path)
    timings = [json.loads(line) for line in (tmp_path / "timings.jsonl").read_text().splitlines()]
    assert [line["step"] for line in timings] == [line["step"] for line in lines_of(tmp_path)]
    assert all(line["positions_per_second"] > 0 and 0 <= line["waiting"] < 1 for line in timings)
    assert 0 <= seen[-1].waiting < 1


# What is quickest.


@pytest.mark.parametrize("optimiser", ["adamw", "nag"])
def test_a_network_learns_the_same_in_either_layout(data: Dataset, tmp_path: Path, optimiser: str) -> None:
    first, second = (
        Trainer(config(epochs=1, channels_last=wanted, optimiser=optimiser)).fit(
            small_network(8), data, thirds(), EVERYTHING, tmp_path / str(wanted)
        )
        for wanted in (None, True)
    )
    # Sums in another order; float32 of a few dozen steps.
    assert second.measurement["validation"]["loss"] == pytest.approx(first.measurement["validation"]["loss"], rel=1e-4)


RATES = {Way("float32", False): 100.0, Way("float32", True): 104.0, Way("bf16", False): 119.0, Way("bf16", True): 100.0}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Way("float32", False)),
        ({Way("float32", True): 106.0}, Way("float32", True)),
        ({Way("bf16", True): 130.0}, Way("bf16", True)),
        ({Way("bf16", False): 121.0}, Way("bf16", False)),
        ({Way("float32", True): 110.0, Way("bf16", True): 130.0}, Way("float32", True)),
    ],
)
def test_a_way_is_taken_that_is_worth_what_it_changes(changes: dict[Way, float], expected: Way) -> None:
    assert best_way(RATES | changes) == expected
    assert best_way({Way("float32", False): 1.0}) == Way("float32", False)


def test_auto_is_tried_once_and_kept_when_a_training_goes_on(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = small_network()
    rates = speed.measure_ways(before, (2, 3, 3), 8, 1)
    assert set(rates) == set(speed.WAYS)
    assert same_weights(before, small_network()), "what is tried is a copy"

    def fit(where: str, **changes: Any) -> Trained:
        return Trainer(config(epochs=1, **changes)).fit(small_network(), data, thirds(), EVERYTHING, tmp_path / where)

    monkeypatch.setattr(speed, "measure_ways", lambda *_: {Way("float32", False): 1.0, Way("bf16", True): 2.0})
    found = fit("auto", precision="auto")
    kept = json.loads((tmp_path / "auto" / "identity.json").read_text())["config"]
    assert (kept["precision"], kept["channels_last"]) == ("bf16", True)
    named = fit("named", precision="bf16", channels_last=True)
    assert same_weights(found.network, named.network)
    monkeypatch.setattr(speed, "measure_ways", lambda *_: {Way("float32", False): 1.0})
    assert fit("auto", precision="auto").measurement == found.measurement
    with pytest.raises(ForeignData, match="precision"):
        fit("auto", precision="float32")


def test_what_came_later_is_not_part_of_the_identity_of_what_does_not_use_it() -> None:
    assert "channels_last" not in config().identity()
    assert "channels_last" not in config().model_dump()
    assert "precision" not in MatchConfig().model_dump()
    assert MatchConfig(precision="bf16").model_dump()["precision"] == "bf16"
    assert config(channels_last=True).identity()["channels_last"] is True


def same_weights(first: nn.Module, second: nn.Module) -> bool:
    """Returns whether two networks are the same, bit by bit."""
    pairs = zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    return all(torch.equal(ours, theirs) for ours, theirs in pairs)
