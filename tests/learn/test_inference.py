"""Whatever runs a network, it says the same."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from learning_games import TicTacToe
from networks_for_tests import (
    EXPORTED,
    is_able,
    network_of,
    positions,
    save,
    skip_without_libraries,
    trained_network,
    without,
)
from torch import Tensor, nn

from moemcts.errors import DamagedFile, MissingExtra, MoemctsError, UsageError
from moemcts.evaluation import Evaluation
from moemcts.experts import ROUTINGS
from moemcts.learn.checkpoint import load_experts
from moemcts.learn.inference import backends, fidelity
from moemcts.learn.inference.backends import BACKENDS, run_model
from moemcts.learn.inference.evaluators import Inference, make_evaluator
from moemcts.learn.inference.export import CHECKS, TOLERANCE, largest_error, onnx_bytes, torch_evaluation
from moemcts.learn.inference.factory import build_evaluator
from moemcts.learn.inference.full_precision import full_precision_inference
from moemcts.learn.inference.graphs import FixedBatches
from moemcts.learn.inference.stacked import StackedExperts
from moemcts.learn.inference.torch_evaluator import TorchEvaluator
from moemcts.learn.planes import random_planes
from moemcts.plugins import plugins

skip_without_libraries()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("reference", "shape", "num_actions"),
    [
        ("resnet?channels=4&blocks=1", (2, 3, 3), 9),
        ("rise-tiny", (23, 11, 11), 6),
        ("rise-tiny?num_values=4&downsampling=false", (23, 11, 11), 6),
        ("rise?channels=32&expanded=64&blocks=2&attention=eca&kernels=3,5&policy_planes=78", (52, 8, 8), 4992),
        ("rise?channels=8&blocks=1&attention=se", (52, 8, 8), 4992),
        ("alphavile?size=tiny", (5, 4, 4), 16),
        ("resnet?channels=8&blocks=1&pooled=true&num_values=2", (5, 6, 7), 7),
        ("cnn?value_head=wdlp", (5, 6, 7), 7),
        ("levit", (9, 8, 8), 64),
    ],
)
def test_every_backend_computes_the_network(
    backend: str, reference: str, shape: tuple[int, int, int], num_actions: int
) -> None:
    network = network_of(reference, shape, num_actions)
    evaluator = make_evaluator(network, shape, backend=backend)
    for num in (1, 3, 8, 21):
        planes = random_planes(shape, num, seed=num)
        evaluation = evaluator.evaluate_planes(planes)
        expected = torch_evaluation(network, planes)
        assert evaluation.value.shape == expected.value.shape
        assert evaluation.logits.dtype == evaluation.value.dtype == np.float32
        # float32 sums in another order; the largest error seen is 5e-7.
        assert largest_error(expected, evaluation) < 1e-5


@pytest.mark.parametrize("backend", EXPORTED)
def test_rows_do_not_influence_each_other(backend: str) -> None:
    network = network_of("rise-tiny", (23, 11, 11), 6)
    evaluator = make_evaluator(network, (23, 11, 11), backend=backend)
    planes = random_planes((23, 11, 11), 70)
    together = evaluator.evaluate_planes(planes)
    for rows in (slice(0, 1), slice(10, 13), slice(60, 70)):
        alone = evaluator.evaluate_planes(planes[rows])
        np.testing.assert_allclose(alone.logits, together.logits[rows], atol=1e-5)
    # Nothing that was handed out is written over later.
    np.testing.assert_allclose(together.logits[:1], evaluator.evaluate_planes(planes[:1]).logits, atol=1e-5)


@pytest.mark.parametrize("num", [0, 5, 64, 127, 128, 129, 300])
def test_batches_of_every_size_are_computed_row_by_row(num: int) -> None:
    network = network_of("resnet?channels=4&blocks=1", (2, 3, 3), 9)
    evaluator = make_evaluator(network, (2, 3, 3), backend="openvino")
    planes = random_planes((2, 3, 3), num)
    # Every other board: what is shared with the library has to be in one piece.
    planes = np.repeat(planes, 2, axis=0)[::2]
    assert largest_error(torch_evaluation(network, planes), evaluator.evaluate_planes(planes)) < 1e-5


def test_openvino_tells_nobody_that_it_was_imported() -> None:
    backends._openvino_core()
    assert sys.modules["openvino_telemetry"] is None


@pytest.mark.skipif(backends.installed_version("onnxruntime") is None, reason="onnxruntime is not installed")
def test_onnxruntime_tells_nobody_that_it_was_imported(tmp_path: Path) -> None:
    # What it tells begins with a number of the machine, in the home folder.
    code = "from moemcts.learn.inference.backends import onnxruntime_module as module; module()"
    places = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    rest = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    subprocess.run([sys.executable, "-c", code], env=rest | places, check=True)
    assert not list(tmp_path.iterdir())


def test_openvino_does_not_tie_the_threads_of_all_processes_to_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    core, made = backends._openvino_core(), []

    class Watched:
        def __getattr__(self, name: str) -> Any:
            return getattr(core, name)

        def compile_model(self, *arguments: Any) -> Any:
            made.append(core.compile_model(*arguments))
            return made[-1]

    monkeypatch.setattr(backends, "_openvino_core", Watched)
    evaluator = make_evaluator(network_of("resnet?channels=4&blocks=1", (2, 3, 3), 9), (2, 3, 3), backend="openvino")
    evaluator.evaluate_planes(random_planes((2, 3, 3), 4))
    assert made
    for model in made:
        assert model.get_property("ENABLE_CPU_PINNING") is False
        assert model.get_property("INFERENCE_NUM_THREADS") == 1


class Crooked(nn.Module):
    """Exports to something else than it computes: the trace takes one side of a branch on its input."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(18, 9)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.layer(planes.flatten(1))
        return (logits + 1 if planes.any() else logits), logits.mean(dim=1)


def test_a_model_that_computes_something_else_is_refused() -> None:
    with pytest.raises(MoemctsError, match=r"gives other results than torch: expected errors up to 0.0001, got"):
        make_evaluator(Crooked(), (2, 3, 3), backend="onnxruntime")


class Named(nn.Module):
    """Gives more than logits and value."""

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return planes.flatten(1)[:, :9], planes.mean(dim=(1, 2, 3)), planes


@pytest.mark.parametrize("backend", BACKENDS)
def test_further_outputs_of_a_network_are_left_out(backend: str) -> None:
    evaluation = make_evaluator(Named(), (2, 3, 3), backend=backend).evaluate_planes(random_planes((2, 3, 3), 5))
    assert (evaluation.logits.shape, evaluation.value.shape) == ((5, 9), (5,))


@pytest.mark.parametrize("backend", ["torch", "openvino"])
@pytest.mark.parametrize(
    ("reference", "shape", "num_actions"),
    [
        ("resnet?channels=4&blocks=1", (2, 3, 3), 9),
        ("rise-tiny", (23, 11, 11), 6),
        ("rise?channels=32&expanded=64&blocks=2&attention=eca&kernels=3,5&policy_planes=78", (52, 8, 8), 4992),
        ("alphavile?size=tiny", (5, 4, 4), 16),
        ("cnn?value_head=wdlp", (5, 6, 7), 7),
        ("levit", (9, 8, 8), 64),
    ],
)
def test_bf16_nearly_computes_the_network(
    backend: Any, reference: str, shape: tuple[int, int, int], num_actions: int
) -> None:
    if not is_able(Inference(backend, "bf16")):
        pytest.skip("no bfloat16 in this processor")
    network = network_of(reference, shape, num_actions)
    evaluator = make_evaluator(network, shape, backend=backend, precision="bf16")
    planes = random_planes(shape, 21)
    expected, found = torch_evaluation(network, planes), evaluator.evaluate_planes(planes)
    assert found.logits.dtype == found.value.dtype == np.float32
    # The largest error seen is 0.03; float32 would be within 1e-5.
    error, tolerance = CHECKS["bf16"]
    assert 1e-5 < error(expected, found) < tolerance
    assert fidelity.fidelity(expected, found, np.ones_like(expected.logits, np.bool_)).keeps_policy


def test_one_number_out_of_many_that_lost_its_digits_is_no_other_network() -> None:
    rng = np.random.default_rng(0)
    network = Evaluation(rng.normal(0, 3, (8, 6)).astype(np.float32), rng.uniform(-1, 1, 8).astype(np.float32))
    rounded = Evaluation(network.logits.copy(), network.value.copy())
    rounded.value[3] += 0.2
    other = Evaluation(network.logits[::-1], network.value[::-1])
    error, tolerance = CHECKS["bf16"]
    assert 0 < error(network, rounded) < tolerance < error(network, other)
    strict, least = CHECKS["float32"]
    assert strict(network, rounded) > least == TOLERANCE
    assert strict(network, network) == error(network, network) == 0
    broken = Evaluation(network.logits * np.float32(np.nan), network.value)
    assert strict(network, broken) == error(network, broken) == float("inf")


def test_a_processor_without_bfloat16_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain:
        def read_model(self, *_: Any) -> Any: ...

        def get_property(self, *_: Any) -> list[str]:
            return ["FP32"]

    monkeypatch.setattr(backends, "_openvino_core", Plain)
    with pytest.raises(MoemctsError, match="openvino cannot run expert 1 in bfloat16, which this processor lacks"):
        run_model(b"", "openvino", "bf16", name="expert 1")


@pytest.mark.parametrize(
    ("able", "taken", "line"),
    [
        (["CPU"], "", r"the installed onnxruntime cannot use cuda:1; pip install onnxruntime-gpu"),
        (["CUDA", "CPU"], "CUDA", ""),
        (["Tensorrt", "CUDA", "CPU"], "CUDA", ""),
        (["CUDA", "CPU"], "CPU", r"onnxruntime cannot run expert 1 on cuda:1: it would take CPUExecutionProvider; "),
        (["CUDA", "CPU"], "none", r"onnxruntime cannot run expert 1 on cuda:1: no driver; .* or use backend=torch"),
    ],
)
def test_onnxruntime_runs_on_the_gpu_that_is_named_or_says_why_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], able: list[str], taken: str, line: str
) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    tried = []

    def session(model: bytes, options: Any, *, providers: list[tuple[str, dict[str, str]]], **said: Any) -> Any:
        tried.append(dict(providers))
        assert said == {"enable_fallback": 0}
        if providers[0][0] == "TensorrtExecutionProvider":
            raise RuntimeError("Please install TensorRT libraries")
        if taken == "none":
            raise RuntimeError("no driver")
        return SimpleNamespace(get_providers=lambda: [f"{taken}ExecutionProvider"])

    names = [f"{name}ExecutionProvider" for name in able]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: names)
    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    if line:
        with pytest.raises(MoemctsError, match=line):
            run_model(b"", "onnxruntime", name="expert 1", device="cuda:1")
    else:
        run_model(b"", "onnxruntime", device="cuda:1")
        assert tried[-1]["CUDAExecutionProvider"] == {"device_id": "1"}
    assert capsys.readouterr().out == ""


def test_openvino_is_not_taken_for_a_gpu() -> None:
    network, line = trained_network(), "openvino runs networks only on the CPU here, not on cuda; use backend=torch"
    with pytest.raises(UsageError, match=line):
        make_evaluator(network, (2, 3, 3), backend="openvino", device="cuda")
    with pytest.raises(UsageError, match=line):
        build_evaluator(network, (2, 3, 3), Inference("openvino"), device="cuda")


@pytest.mark.parametrize(("backend", "extra"), [("onnxruntime", "fast"), ("openvino", "openvino")])
def test_a_missing_library_is_named_with_what_to_install(
    backend: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, backend)
    with pytest.raises(MissingExtra, match=rf"{backend} is not installed; .*pip install '\.\[{extra}\]'") as error:
        make_evaluator(trained_network(), (2, 3, 3), backend=backend)
    assert error.value.exit_code == 3


@pytest.mark.parametrize("backend", EXPORTED)
@pytest.mark.parametrize("harm", ["empty", "cut", "text"])
def test_a_damaged_model_is_refused_with_one_line(backend: str, harm: str) -> None:
    model = onnx_bytes(trained_network(), (2, 3, 3))
    bad = {"empty": b"", "cut": model[: len(model) // 2], "text": b"not a model"}[harm]
    with pytest.raises(DamagedFile, match=f"expert 1 is not an ONNX model that {backend} can run") as error:
        run_model(bad, backend, name="expert 1")  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("backend", EXPORTED)
def test_experts_are_routed_alike_by_every_backend(tmp_path: Path, backend: Any, routing: str) -> None:
    save(tmp_path)
    views = positions(TicTacToe())
    by_torch, other = (
        load_experts(tmp_path, TicTacToe(), plugins(), routing=ROUTINGS[routing], inference=Inference(name))
        for name in ("torch", backend)
    )
    expected, found = by_torch.evaluate(views), other.evaluate(views)
    np.testing.assert_allclose(found.logits, expected.logits, atol=1e-4)
    np.testing.assert_allclose(found.value, expected.value, atol=1e-5)


def test_float32_has_all_of_its_digits_where_a_gpu_is_asked() -> None:
    flags = torch.backends.cudnn
    before = flags.allow_tf32
    for device, expected in (("cuda:1", False), ("cpu", before)):
        with full_precision_inference(torch.device(device)):
            assert flags.allow_tf32 is expected
            assert torch.is_inference_mode_enabled()
        assert flags.allow_tf32 is before


def test_digits_come_back_when_the_last_thread_has_asked() -> None:
    flags, before = torch.backends.cudnn, torch.backends.cudnn.allow_tf32
    is_within, is_over, found = threading.Event(), threading.Event(), []

    def ask() -> None:
        with full_precision_inference(torch.device("cuda")):
            is_within.set()
            is_over.wait(timeout=20)
            found.append(flags.allow_tf32)

    thread = threading.Thread(target=ask)
    flags.allow_tf32 = True
    try:
        with full_precision_inference(torch.device("cuda")):
            thread.start()
            assert is_within.wait(timeout=20)
        # Who came first has gone, and took nothing from who is still there.
        assert not flags.allow_tf32
        is_over.set()
        thread.join()
        assert found == [False]
        assert flags.allow_tf32
    finally:
        is_over.set()
        flags.allow_tf32 = before


def test_planes_are_rounded_before_they_go_to_the_device() -> None:
    network = network_of("rise-tiny", (5, 6, 7), 9).to(torch.bfloat16)
    fixed = FixedBatches(network, torch.device("cpu"), torch.bfloat16)
    planes = np.random.default_rng(0).random((3, 5, 6, 7), np.float32)
    with torch.inference_mode():
        found = fixed(planes)
        expected = network(torch.from_numpy(np.concatenate([planes, np.zeros_like(planes[:1])])).to(torch.bfloat16))
    assert {(part.host.dtype, part.planes.dtype) for part in fixed._captured_batches.values()} == {
        (torch.bfloat16,) * 2
    }
    for ours, right in zip(found, expected[:2], strict=True):
        torch.testing.assert_close(ours, right[:3].float(), rtol=0, atol=0)


@pytest.mark.parametrize("num", [1, 3, 8, 500])
def test_batches_of_fixed_sizes_are_what_the_network_gives(num: int) -> None:
    network = network_of("rise-tiny", (5, 6, 7), 9)
    fixed = FixedBatches(network, torch.device("cpu"))
    planes = random_planes((5, 6, 7), num)
    with torch.inference_mode():
        fixed(random_planes((5, 6, 7), num + 1, seed=1))
        logits, value = (part.numpy() for part in fixed(planes))
        kept = logits.copy()
        fixed(random_planes((5, 6, 7), num, seed=2))
    assert largest_error(torch_evaluation(network, planes), Evaluation(logits, value)) < 1e-5
    assert (kept == logits).all(), "the next batch is not written over what was handed out"
    with pytest.raises(ValueError, match="expected up to 512 rows, got 513"):
        fixed(random_planes((5, 6, 7), 513))


class Recording:
    """Stands for a CUDA graph: repeats what it was told while it recorded, on the CPU."""

    def __init__(self) -> None:
        self.repeated: Any = lambda: None

    def replay(self) -> None:
        self.repeated()


@pytest.mark.parametrize("fault", ["", "nothing is recorded", "planes are not read again", "no memory is left"])
def test_a_recording_is_used_only_where_it_gives_what_the_network_gives(
    monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    planes = torch.zeros(4, 2, 3, 3)
    calls: list[tuple[Tensor, ...]] = []
    on = SimpleNamespace(current=0, recorded_on=-1)

    def network(planes: Tensor) -> tuple[Tensor, ...]:
        calls.append((planes.flatten(1) + 1, planes.sum((1, 2, 3))))
        return calls[-1]

    @contextlib.contextmanager
    def making_current(stream: Any) -> Iterator[None]:
        before, on.current = on.current, stream.device
        yield
        on.current = before

    @contextlib.contextmanager
    def recording(graph: Recording, stream: Any) -> Iterator[None]:
        if fault == "no memory is left":
            raise torch.OutOfMemoryError("CUDA out of memory")
        on.recorded_on = on.current
        with making_current(stream):
            yield
        outputs, first = calls[-1], [each.clone() for each in calls[-1]]

        def repeat() -> None:
            given = first if fault == "planes are not read again" else network(planes)
            for output, each in zip(outputs, given, strict=True):
                output.copy_(each)

        if fault != "nothing is recorded":
            graph.repeated = repeat

    stream = SimpleNamespace(device=1, wait_stream=lambda other: None)
    fakes = {
        "Stream": lambda device: stream,
        "current_stream": lambda device: stream,
        "stream": making_current,
        "CUDAGraph": Recording,
        "graph": recording,
        "synchronize": lambda device: None,
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    fixed = FixedBatches(network, torch.device("cpu"))
    with torch.inference_mode():
        if fault:
            with pytest.raises(RuntimeError, match="out of memory" if "memory" in fault else "other results than"):
                fixed._capture(planes, planes)
            return
        found = fixed._capture(planes, planes)
        assert on.recorded_on == 1, "the network's device is the current one"
        planes.copy_(torch.from_numpy(random_planes((2, 3, 3), 4)))
        found.repeat()
        torch.testing.assert_close(found.outputs, network(planes))


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize("reference", ["resnet?channels=4&blocks=2", "rise-tiny", "alphavile?size=tiny"])
def test_stacked_experts_are_each_what_they_are_alone(reference: str, precision: Any) -> None:
    shape = (5, 4, 4)
    torch.manual_seed(0)
    networks = [plugins().network(reference, shape, 16).eval() for _ in range(3)]
    stacked = StackedExperts(networks, precision=precision)
    planes = random_planes(shape, 45)
    for experts in (np.arange(45) % 3, np.zeros(45, np.int64), np.array([2] * 44 + [0])):
        found = stacked.evaluate_planes_by(experts, planes)
        for expert, network in enumerate(networks):
            rows = experts == expert
            if not rows.any():
                continue
            alone = TorchEvaluator(network, precision=precision).evaluate_planes(planes[rows])
            ours = Evaluation(found.logits[rows], found.value[rows])
            # Sums in another order, in bfloat16 with 8 digits.
            assert largest_error(alone, ours) < (1e-5 if precision == "float32" else 0.05)


def test_experts_that_are_not_alike_cannot_be_stacked() -> None:
    networks = [plugins().network(f"resnet?channels={n}&blocks=1", (2, 3, 3), 9) for n in (4, 8)]
    with pytest.raises(ValueError, match="expected experts of one architecture, got 2"):
        StackedExperts(networks)


def test_experts_are_stacked_where_that_is_asked_for(tmp_path: Path) -> None:
    save(tmp_path)
    stacked = load_experts(tmp_path, TicTacToe(), plugins(), routing=ROUTINGS["stacked"])
    assert isinstance(stacked.experts, StackedExperts)
    assert not isinstance(load_experts(tmp_path, TicTacToe(), plugins()).experts, StackedExperts)
