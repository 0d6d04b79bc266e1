"""What makes a training quicker leaves what it learns as it is."""

import json
import math
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from learning_games import make_data, thirds
from torch import nn
from training_for_tests import EVERYTHING, Forgetful, config, fit_staged, lines_of, quiet, same, small_network

from moemcts.errors import ForeignData, MoemctsError
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.training import compiling, speed
from moemcts.learn.training.progress import Progress
from moemcts.learn.training.speed import ComputeMode, fastest_mode
from moemcts.learn.training.stage import StageRun
from moemcts.learn.training.trainer import Trained, Trainer
from moemcts.runs.settings import MatchConfig


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return make_data(tmp_path_factory.mktemp("data"))


def test_how_batches_are_encoded_changes_nothing(data: Dataset, tmp_path: Path) -> None:
    runs = [
        fit_staged(data, tmp_path / str(i), config(epochs=1, encoders=encoders, prefetch=prefetch), quiet)
        for i, (encoders, prefetch) in enumerate([(1, 1), (4, 9)])
    ]
    assert same(*runs)


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


RATES = {
    ComputeMode("float32", False): 100.0,
    ComputeMode("float32", True): 104.0,
    ComputeMode("bf16", False): 119.0,
    ComputeMode("bf16", True): 100.0,
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ComputeMode("float32", False)),
        ({ComputeMode("float32", True): 106.0}, ComputeMode("float32", True)),
        ({ComputeMode("bf16", True): 130.0}, ComputeMode("bf16", True)),
        ({ComputeMode("bf16", False): 121.0}, ComputeMode("bf16", False)),
        ({ComputeMode("float32", True): 110.0, ComputeMode("bf16", True): 130.0}, ComputeMode("float32", True)),
    ],
)
def test_a_way_is_taken_that_is_worth_what_it_changes(changes: dict[ComputeMode, float], expected: ComputeMode) -> None:
    assert fastest_mode(RATES | changes) == expected
    assert fastest_mode({ComputeMode("float32", False): 1.0}) == ComputeMode("float32", False)
    assert fastest_mode({ComputeMode("bf16", True): 1.0}) == ComputeMode("bf16", True), (
        "the memory is full with float32"
    )
    assert fastest_mode({}) == ComputeMode("float32", False)


@pytest.mark.parametrize(("device", "shares", "num_rows"), [("cpu", 1, 128), ("cuda", 1, 2048), ("cuda:1", 4, 512)])
def test_a_gpu_is_tried_with_as_many_samples_as_a_step_has(
    monkeypatch: pytest.MonkeyPatch, device: str, shares: int, num_rows: int
) -> None:
    tried: list[tuple[int, str]] = []

    def measured(network: nn.Module, shape: Any, rows: int, threads: int, where: str) -> dict[ComputeMode, float]:
        tried.append((rows, where))
        return RATES

    monkeypatch.setattr(speed, "measure_modes", measured)
    wanted = config(batch_size=2048, precision="auto")
    assert (
        speed.resolve_precision(wanted, small_network(), (2, 3, 3), device=device, shares=shares).precision == "float32"
    )
    assert tried == [(num_rows, device)]


def test_what_is_left_of_steps_is_counted_as_theirs(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU, which is only waited for where numbers are asked for."""
    check = StageRun._check_losses
    waiting = 0.05

    def slow(stage: StageRun) -> None:
        time.sleep(waiting * bool(stage._learner.num_pending))
        check(stage)

    monkeypatch.setattr(StageRun, "_check_losses", slow)
    wanted = config(epochs=1, validation_interval=4, save_interval=2)
    Trainer(wanted).fit(small_network(), data, thirds(), EVERYTHING, tmp_path)
    timings = [json.loads(line) for line in (tmp_path / "timings.jsonl").read_text().splitlines()]
    assert len(timings) > 1
    for line in timings:
        # It is waited for at every second step and at the last one.
        assert line["seconds"] >= waiting * math.ceil((line["step"] % 4 or 4) / 2)


def test_auto_is_tried_once_and_kept_when_a_training_goes_on(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = small_network()
    rates = speed.measure_modes(before, (2, 3, 3), 8, 1)
    assert set(rates) == set(speed.COMPUTE_MODES)
    assert same_weights(before, small_network()), "what is tried is a copy"

    def fit(where: str, **changes: Any) -> Trained:
        return Trainer(config(epochs=1, **changes)).fit(small_network(), data, thirds(), EVERYTHING, tmp_path / where)

    monkeypatch.setattr(
        speed, "measure_modes", lambda *_: {ComputeMode("float32", False): 1.0, ComputeMode("bf16", True): 2.0}
    )
    found = fit("auto", precision="auto")
    kept = json.loads((tmp_path / "auto" / "identity.json").read_text())["config"]
    assert (kept["precision"], kept["channels_last"]) == ("bf16", True)
    named = fit("named", precision="bf16", channels_last=True)
    assert same_weights(found.network, named.network)
    monkeypatch.setattr(speed, "measure_modes", lambda *_: {ComputeMode("float32", False): 1.0})
    assert fit("auto", precision="auto").measurement == found.measurement
    with pytest.raises(ForeignData, match="precision"):
        fit("auto", precision="float32")


def test_a_network_is_compiled_where_the_whole_training_is_quicker(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = compiling.Costs(plain=0.3, compiled=0.24, compiling=60.0)
    assert [costs.pays_off(steps) for steps in (100, 1300, 1400, 10_000)] == [False, False, True, True]
    assert not compiling.Costs(plain=0.3, compiled=0.29, compiling=0.0).pays_off(10_000)

    monkeypatch.setattr(torch, "compile", lambda forward: forward)
    for plain, expected in ((1e6, True), (1.0, False)):
        found = compiling.Costs(plain=plain, compiled=1.0, compiling=1.0)
        monkeypatch.setattr(compiling, "measure_compiling", lambda *_, found=found, **__: found)
        for _ in ("begun", "again"):
            fit_staged(data, tmp_path / str(expected), config(epochs=1, compile="auto"), quiet)
            kept = json.loads((tmp_path / str(expected) / "identity.json").read_text())["config"]
            assert kept["compile"] is expected
            monkeypatch.setattr(compiling, "measure_compiling", lambda *_, **__: pytest.fail("tried twice"))


def test_a_short_training_tries_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda forward: pytest.fail)
    costs = compiling.measure_compiling(
        small_network(), (2, 3, 3), 8, 1, ComputeMode("float32", False), device=torch.device("cpu"), least=600.0
    )
    assert costs is None


def test_a_network_that_cannot_be_compiled_is_trained_as_it_is(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuses(planes: torch.Tensor) -> None:
        raise RuntimeError("No working C++ compiler found\nmore of it")

    monkeypatch.setattr(torch, "compile", lambda forward: refuses)
    monkeypatch.setattr(compiling, "LONG_ENOUGH", 0.0)
    fit_staged(data, tmp_path, config(epochs=1, compile="auto"), quiet)
    assert json.loads((tmp_path / "identity.json").read_text())["config"]["compile"] is False
    (line,) = caplog.messages
    assert line.endswith("trained as it is: No working C++ compiler found")


def test_a_network_that_has_to_be_compiled_and_cannot_be_is_an_error_that_says_what_to_do(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(planes: torch.Tensor) -> None:
        raise torch._dynamo.exc.TorchDynamoException("No working C++ compiler found\nmore of it")

    monkeypatch.setattr(torch, "compile", lambda forward: refuses)
    with pytest.raises(
        MoemctsError, match=r"the network here: No working C\+\+ compiler found; install a C\+\+ compiler"
    ):
        fit_staged(data, tmp_path, config(epochs=1, compile=True), quiet)


def test_a_training_on_the_cpu_leaves_the_generators_of_other_devices_alone(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "manual_seed_all", lambda seed: pytest.fail("seeded a GPU"))
    Trainer(config(epochs=1)).fit(Forgetful(), data, thirds(), EVERYTHING, tmp_path)


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


def test_speed_and_waiting_are_written_at_every_measurement(data: Dataset, tmp_path: Path) -> None:
    seen: list[Progress] = []
    Trainer(config(), on_progress=seen.append).fit(small_network(), data, thirds(), EVERYTHING, tmp_path)
    timings = [json.loads(line) for line in (tmp_path / "timings.jsonl").read_text().splitlines()]
    assert [line["step"] for line in timings] == [line["step"] for line in lines_of(tmp_path)]
    assert all(line["positions_per_second"] > 0 and 0 <= line["waiting"] < 1 for line in timings)
    assert 0 <= seen[-1].waiting < 1
