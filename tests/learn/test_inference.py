"""Whatever runs a network, it says the same; int8 nearly so."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from learning_games import GreedyAgent, TicTacToe, make_data, thirds
from test_checkpoint import GATE, positions, save, trained_network
from torch import Tensor, nn

from moemcts.agents import RandomAgent
from moemcts.errors import DamagedFile, ForeignData, MissingExtra, MoemctsError, UsageError
from moemcts.evaluation import Evaluation
from moemcts.experts import ROUTINGS
from moemcts.gates import PlyGate
from moemcts.learn.checkpoint import LoadedNetworks, load_experts, load_networks
from moemcts.learn.inference import backends, choice, fidelity
from moemcts.learn.inference.backends import BACKENDS, PAIRS, run_model
from moemcts.learn.inference.choice import Choice, Networks, choose, remembered
from moemcts.learn.inference.evaluators import Inference, make_evaluator, resolve
from moemcts.learn.inference.export import (
    TOLERANCE,
    TOLERANCES,
    largest_error,
    onnx_bytes,
    torch_evaluation,
)
from moemcts.learn.inference.fidelity import Fidelity
from moemcts.learn.inference.folder import Team, export_experts
from moemcts.learn.inference.graphs import FixedBatches
from moemcts.learn.inference.measurement import SIZES, measure
from moemcts.learn.inference.positions import Positions, positions_of_dataset, positions_of_play, usual_positions
from moemcts.learn.inference.quantise import agreement, agreements, quantised
from moemcts.learn.inference.stacked import StackedExperts
from moemcts.learn.inference.torch_evaluator import TorchEvaluator
from moemcts.learn.planes import random_planes
from moemcts.plugins import plugins
from moemcts.store import read_toml

EXPORTED = [backend for backend in BACKENDS if backend != "torch"]
for _library in ("onnx", *EXPORTED):
    pytest.importorskip(_library)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def network_of(reference: str, shape: tuple[int, int, int], num_actions: int) -> nn.Module:
    """Returns a network whose batch norms have seen something."""
    torch.manual_seed(0)
    network: nn.Module = plugins().network(reference, shape, num_actions)
    with torch.no_grad():
        for _ in range(3):
            network.train()(torch.from_numpy(random_planes(shape, 16)))
    return network.eval()


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


class Crooked(nn.Module):
    """Exports to something else than it computes: the trace takes one side of a branch on its input."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(18, 9)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.layer(planes.flatten(1))
        return (logits + 1 if planes.any() else logits), logits.mean(dim=1)


def test_a_model_that_computes_something_else_is_refused() -> None:
    with pytest.raises(MoemctsError, match=r"computes something else than torch: expected errors up to 0.0001, got"):
        make_evaluator(Crooked(), (2, 3, 3), backend="onnxruntime")


class Unheard(nn.Module):
    """Uses an operation that ONNX has no word for."""

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        return torch.special.bessel_j0(planes.flatten(1)[:, :9]), planes.mean(dim=(1, 2, 3))


def test_a_network_that_onnx_cannot_express_says_so_and_auto_leaves_it_to_torch() -> None:
    with pytest.raises(MoemctsError, match="Unheard cannot be exported to ONNX") as error:
        onnx_bytes(Unheard(), (2, 3, 3))
    assert "\n" not in str(error.value)
    assert choose_backend(Unheard(), (2, 3, 3)).inference.backend == "torch"


class Named(nn.Module):
    """Gives more than logits and value."""

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return planes.flatten(1)[:, :9], planes.mean(dim=(1, 2, 3)), planes


@pytest.mark.parametrize("backend", BACKENDS)
def test_further_outputs_of_a_network_are_left_out(backend: str) -> None:
    evaluation = make_evaluator(Named(), (2, 3, 3), backend=backend).evaluate_planes(random_planes((2, 3, 3), 5))
    assert (evaluation.logits.shape, evaluation.value.shape) == ((5, 9), (5,))


def choose_backend(network: nn.Module, shape: tuple[int, int, int], **options: Any) -> Choice:
    """Returns what runs a network here."""
    return choose(Networks(networks=[network], observation_shape=shape), **options)


def test_the_choice_is_measured_once_and_remembered(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = trained_network()
    first = choose_backend(network, (2, 3, 3))
    assert set(first.rates) == {str(pair) for pair in PAIRS if pair.precision != "int8" and is_able(pair)}
    assert all(set(rates) == set(SIZES) for rates in first.rates.values())
    (path,) = (own_cache / "moemcts" / "inference").iterdir()

    def fail(*_: Any, **__: Any) -> Any:
        raise AssertionError("measured again")

    monkeypatch.setattr(choice, "measure", fail)
    assert choose_backend(network, (2, 3, 3)) == first
    assert choose_backend(trained_network(), (2, 3, 3)).rates == first.rates, "other weights are as fast"
    assert [entry["rates"] for entry in remembered()] == [first.rates]
    assert remembered()[0]["network"].endswith("weights on 2 x 3 x 3")
    with pytest.raises(AssertionError, match="measured again"):
        choose_backend(trained_network(channels=8), (2, 3, 3))
    path.write_text("{")
    with pytest.raises(AssertionError, match="measured again"):
        choose_backend(network, (2, 3, 3))


def is_able(pair: Inference) -> bool:
    """Returns whether this processor computes in a pair's precision."""
    if pair != Inference("openvino", "bf16"):
        return True
    import openvino

    return "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


RATES = {
    "torch": {1: 10.0, 8: 20.0, 64: 100.0},
    "torch bf16": {1: 9.0, 8: 25.0, 64: 119.0},
    "onnxruntime": {1: 50.0, 8: 60.0, 64: 60.0},
}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"batch_size": 1}, "onnxruntime"),
        ({"batch_size": 16}, "onnxruntime"),
        # bf16 is 1.19 times as fast: not worth what it rounds.
        ({"batch_size": 100}, "torch"),
        ({"batch_size": 100, "precision": "bf16"}, "torch bf16"),
        ({"batch_size": 8, "backend": "torch"}, "torch bf16"),
        ({"batch_size": 1, "backend": "torch"}, "torch"),
        ({"batch_size": 1, "backend": "torch", "precision": "float32"}, "torch"),
    ],
)
def test_the_quickest_that_is_worth_it_is_taken(
    options: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "measure", lambda *_, **__: RATES)
    assert str(choose_backend(trained_network(), (2, 3, 3), **options).inference) == expected


@pytest.mark.parametrize(("limit", "expected"), [(1.0, "torch bf16"), (0.0, "torch")])
def test_fewer_digits_are_taken_only_where_they_keep_the_policy(
    limit: float, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "measure", lambda *_, **__: {"torch": {8: 1.0}, "torch bf16": {8: 3.0}})
    monkeypatch.setattr(fidelity, "LIMITS", Fidelity(top1=0, kl=limit, regret=limit, value=limit))
    found = choose_backend(trained_network(), (2, 3, 3), batch_size=8)
    assert str(found.inference) == expected
    assert set(found.fidelities) == {"torch bf16"}
    judged = found.fidelities["torch bf16"]
    assert judged.is_kept == (expected == "torch bf16")
    assert 0 < judged.value < 0.01
    assert 0 <= judged.kl < 0.005


def test_fidelity_is_by_the_formulas_and_does_not_mind_which_of_two_equal_moves_is_first() -> None:
    legal = np.ones((2, 2), np.bool_)
    ours = Evaluation(np.log(np.array([[0.5, 0.5], [0.7, 0.3]], np.float32)), np.array([0.5, 0], np.float32))
    theirs = Evaluation(np.log(np.array([[0.4, 0.6], [0.45, 0.55]], np.float32)), np.array([0.1, 0], np.float32))
    found = fidelity.fidelity(ours, theirs, legal)
    assert found.regret == pytest.approx((0 + 0.4) / 2, abs=1e-6)
    assert (found.top1, found.value) == (0, pytest.approx(0.2))
    assert not found.is_kept


def test_an_expert_is_judged_on_the_positions_of_its_own_phase() -> None:
    networks = [trained_network(), trained_network()]
    views = positions(TicTacToe(), 40)
    phases = np.arange(40) % 2
    mine = Positions(views.observations(), views.legal_mask(), phases)
    exact = TorchEvaluator(networks[0])

    class Wrong:
        """Is right about the boards of phase 0."""

        def evaluate_planes(self, planes: Any) -> Evaluation:
            found = exact.evaluate_planes(planes)
            is_own = np.array([(board == mine.planes[phases == 0]).all(axis=(1, 2, 3)).any() for board in planes])
            return Evaluation(found.logits, found.value + np.where(is_own, 0, 1).astype(np.float32))

        evaluate = None

    judged: Any = [Wrong(), TorchEvaluator(networks[1])]
    assert fidelity.team_fidelity(networks, judged, mine).value < 1e-5
    assert fidelity.team_fidelity(networks[:1], judged[:1], mine).value > 0.1


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
    assert 1e-5 < largest_error(expected, found) < TOLERANCES["bf16"]
    assert fidelity.fidelity(expected, found, np.ones_like(expected.logits, np.bool_)).is_kept


def test_a_processor_without_bfloat16_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain:
        def read_model(self, *_: Any) -> Any: ...

        def get_property(self, *_: Any) -> list[str]:
            return ["FP32"]

    monkeypatch.setattr(backends, "_openvino_core", Plain)
    with pytest.raises(MoemctsError, match="openvino finds no bfloat16 in this processor to run expert 1 in"):
        run_model(b"", "openvino", "bf16", name="expert 1")


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert choose_backend(trained_network(), (2, 3, 3)).inference.backend in BACKENDS
    assert remembered() == []


def test_a_measurement_takes_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "openvino")
    found = measure(trained_network(), (2, 3, 3), sizes=(1, 4), budget=0.05)
    assert set(found) == {"torch", "torch bf16", "onnxruntime"}
    # PyTorch needs over 30 calls per batch, onnxruntime one.
    assert found["onnxruntime"][1] > found["torch"][1]


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Lets packages look as if they were not installed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        backends.importlib.util, "find_spec", lambda name, *rest: None if name in names else find(name, *rest)
    )


@pytest.mark.parametrize(("backend", "extra"), [("onnxruntime", "fast"), ("openvino", "openvino")])
def test_a_missing_library_is_named_with_what_to_install(
    backend: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, backend)
    with pytest.raises(MissingExtra, match=rf"{backend} is not installed; .*pip install '\.\[{extra}\]'") as error:
        make_evaluator(trained_network(), (2, 3, 3), backend=backend)
    assert error.value.exit_code == 3


def test_auto_is_torch_where_nothing_else_is_installed(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    without(monkeypatch, *EXPORTED)
    assert choose_backend(trained_network(), (2, 3, 3)).inference.backend == "torch"
    assert choose_backend(trained_network(), (2, 3, 3), precision="float32") == Choice(Inference(), {}, {})


@pytest.mark.parametrize(
    ("backend", "precision", "message"),
    [
        ("onnx", "float32", "no backend named 'onnx'; did you mean 'onnxruntime'?"),
        ("auto", "int4", "no precision named 'int4'; did you mean 'int8'?"),
        ("torch", "int8", "torch has no int8 here; expected backend=onnxruntime or backend=openvino"),
        ("onnxruntime", "bf16", "onnxruntime has no bf16 here; expected backend=torch or backend=openvino"),
    ],
)
def test_names_that_mean_nothing_are_refused(backend: str, precision: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        resolve(backend, precision, trained_network(), (2, 3, 3))


@pytest.mark.parametrize("backend", EXPORTED)
@pytest.mark.parametrize("harm", ["empty", "cut", "text"])
def test_a_damaged_model_is_refused_with_one_line(backend: str, harm: str) -> None:
    model = onnx_bytes(trained_network(), (2, 3, 3))
    bad = {"empty": b"", "cut": model[: len(model) // 2], "text": b"not a model"}[harm]
    with pytest.raises(DamagedFile, match=f"expert 1 is no ONNX model that {backend} can run") as error:
        run_model(bad, backend, name="expert 1")  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


# Experts in a folder.


def exported(folder: Path, precision: Any, *, num: int = 40) -> tuple[LoadedNetworks, dict[str, Any]]:
    """Returns the experts of a folder, and the manifest of their exports in the usual place."""
    game = TicTacToe()
    loaded = load_networks(folder, game, plugins())
    found = positions_of_play(game, loaded.gate, [RandomAgent(), GreedyAgent()], per_phase=num)
    team = Team(networks=loaded.networks, phase_names=loaded.gate.phase_names, manifest=loaded.manifest)
    return loaded, export_experts(team, found, folder / precision, precision=precision, source="test")


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


def test_exports_say_what_they_are_of_and_how_exact(tmp_path: Path) -> None:
    import onnx

    save(tmp_path)
    loaded, manifest = exported(tmp_path, "float32")
    assert manifest == read_toml(tmp_path / "float32" / "manifest.toml")
    assert manifest["positions"]["counts"] == dict.fromkeys(loaded.gate.phase_names, 40)
    for entry, original in zip(manifest["experts"], loaded.manifest["experts"], strict=True):
        assert 0 <= entry["largest_error"] < TOLERANCE
        assert entry["weights"] == original["sha256"]
        model = onnx.load(tmp_path / "float32" / entry["file"])
        notes = {note.key: note.value for note in model.metadata_props}
        assert notes["phase"] == entry["phase"]
        assert notes["weights"] == original["sha256"]
        assert notes["encoding.planes"] == loaded.manifest["encoding"]["planes"]
        assert [node.name for node in model.graph.output] == ["logits", "value"]


def test_int8_experts_nearly_agree_and_their_manifest_says_how_nearly(tmp_path: Path) -> None:
    save(tmp_path)
    loaded, manifest = exported(tmp_path, "int8")
    by_torch = load_experts(tmp_path, TicTacToe(), plugins())
    views = positions(TicTacToe(), 200)
    expected = by_torch.evaluate(views)
    for backend in EXPORTED:
        int8 = load_experts(tmp_path, TicTacToe(), plugins(), inference=Inference(backend, "int8"))  # type: ignore[arg-type]
        found = agreement(expected, int8.evaluate(views), views.legal_mask())
        # A network with random weights likes many moves almost equally, which makes the best one a toss-up.
        assert found.top1 > 0.8
        assert found.kl < 0.01
        assert 0 < found.value < 0.05
    for entry in manifest["experts"]:
        assert set(entry["agreement"]) == set(loaded.gate.phase_names)
        assert all(each["num_positions"] == 20 and each["kl"] < 0.01 for each in entry["agreement"].values())


def test_quantising_is_repeatable() -> None:
    network = trained_network()
    planes = positions(TicTacToe()).observations()
    assert quantised(network, planes) == quantised(network, planes)


def test_int8_needs_models_and_says_how_to_make_them(tmp_path: Path) -> None:
    save(tmp_path)
    with pytest.raises(
        MoemctsError, match=rf"has no int8 models; make them: moemcts export {tmp_path} --precision int8"
    ):
        load_experts(tmp_path, TicTacToe(), plugins(), inference=Inference("onnxruntime", "int8"))


def test_exports_of_other_weights_are_refused(tmp_path: Path) -> None:
    save(tmp_path)
    exported(tmp_path, "int8")
    save(tmp_path)
    with pytest.raises(ForeignData, match=r"was made of weights .*, but the experts have .*; make it again: moemcts"):
        load_experts(tmp_path, TicTacToe(), plugins(), inference=Inference("onnxruntime", "int8"))


@pytest.mark.parametrize("harm", ["flip", "cut", "remove", "manifest"])
def test_damaged_exports_are_refused_with_one_line(tmp_path: Path, harm: str) -> None:
    save(tmp_path)
    exported(tmp_path, "int8")
    file = tmp_path / "int8" / "expert-1.onnx"
    content = bytearray(file.read_bytes())
    if harm == "flip":
        content[len(content) // 2] ^= 4
        file.write_bytes(content)
    elif harm == "cut":
        file.write_bytes(content[:100])
    elif harm == "remove":
        file.unlink()
    else:
        (tmp_path / "int8" / "manifest.toml").write_text("format = 1\n")
    with pytest.raises(DamagedFile) as error:
        load_experts(tmp_path, TicTacToe(), plugins(), inference=Inference("onnxruntime", "int8"))
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)


def test_exports_are_not_taken_for_experts_nor_written_over_them(tmp_path: Path) -> None:
    save(tmp_path)
    loaded, _ = exported(tmp_path, "int8")
    with pytest.raises(ForeignData, match="holds exported models"):
        load_networks(tmp_path / "int8", TicTacToe(), plugins())
    team = Team(networks=loaded.networks, phase_names=loaded.gate.phase_names, manifest=loaded.manifest)
    found = positions_of_play(TicTacToe(), loaded.gate, [RandomAgent()], per_phase=4)
    with pytest.raises(UsageError, match="holds something else"):
        export_experts(team, found, tmp_path, precision="float32", source="test")


# Positions.


def test_positions_of_play_and_of_data_come_from_every_phase(tmp_path: Path) -> None:
    gate = thirds()
    of_play = positions_of_play(TicTacToe(), gate, [RandomAgent()], per_phase=30)
    of_data = positions_of_dataset(make_data(tmp_path), gate, per_phase=30)
    for found in (of_play, of_data):
        assert found.counts(3) == [30, 30, 30]
        plies = found.planes.reshape(len(found), -1).sum(axis=1)
        assert (np.searchsorted(gate.cuts, plies, side="right") == found.phases).all()
        assert (found.legal.sum(axis=1) == 9 - plies).all()
        for half in found.halves():
            assert half.counts(3) == [15, 15, 15]
    again = positions_of_play(TicTacToe(), gate, [RandomAgent()], per_phase=30)
    assert (again.planes == of_play.planes).all()


def test_a_phase_that_is_never_met_has_no_positions() -> None:
    never = PlyGate([9])
    found = positions_of_play(TicTacToe(), never, [RandomAgent()], per_phase=4)
    assert found.counts(2) == [4, 0]


def test_agreement_is_one_with_oneself_and_less_with_another() -> None:
    views = positions(TicTacToe())
    network, other = trained_network(), trained_network()
    ours, theirs = (TorchEvaluator(each).evaluate(views) for each in (network, other))
    same = agreement(ours, ours, views.legal_mask())
    assert (same.num_positions, same.top1, same.kl, same.value) == (len(views), 1, 0, 0)
    differs = agreement(ours, theirs, views.legal_mask())
    assert differs.top1 < 1
    assert differs.kl > 0
    assert differs.value > 0


def test_agreement_is_over_legal_moves_and_by_the_formula() -> None:
    legal = np.array([[True, True, False], [False, False, False]])
    ours = Evaluation(np.log(np.array([[0.5, 0.5, 9], [1, 1, 1]], np.float32)), np.array([0.5, 0], np.float32))
    theirs = Evaluation(np.log(np.array([[0.25, 0.75, 1], [1, 2, 3]], np.float32)), np.array([0.1, 0], np.float32))
    found = agreement(ours, theirs, legal)
    assert found.kl == pytest.approx(0.5 * np.log(2) + 0.5 * np.log(2 / 3), abs=1e-6)
    assert found.top1 == 0
    assert found.value == pytest.approx(0.2)


def test_agreements_are_by_phase_and_leave_out_the_empty_ones() -> None:
    evaluator = TorchEvaluator(trained_network())
    views = positions(TicTacToe())
    phases = np.array(list(itertools.islice(itertools.cycle([0, 2]), len(views))))
    found = agreements(
        evaluator, evaluator, Positions(views.observations(), views.legal_mask(), phases), ("a", "b", "c")
    )
    assert list(found) == ["a", "c"]
    assert sum(each.num_positions for each in found.values()) == len(views)


def test_the_agent_says_which_backend_it_took(tmp_path: Path) -> None:
    from moemcts.naming import resolve_agent, says_more

    def judged(game: Any) -> Positions:
        return usual_positions(game, thirds(), RandomAgent())

    save(tmp_path)
    game = TicTacToe()
    chosen = load_networks(tmp_path, game, plugins()).choice(positions=lambda: judged(game)).inference
    named = f"backend={chosen.backend}" + ("" if chosen.precision == "float32" else f"&precision={chosen.precision}")
    assert resolve_agent(f"{tmp_path}?simulations=0", game).name == f"{tmp_path}?simulations=0&{named}"
    assert resolve_agent(f"{tmp_path}", game).name == f"{tmp_path}?{named}"
    named = f"{tmp_path}?backend=openvino"
    assert resolve_agent(named, game).name == named, "without a precision it is float32"
    said = resolve_agent(f"{tmp_path}?backend=auto&precision=auto", game).name
    assert said == f"{tmp_path}?backend={chosen.backend}&precision={chosen.precision}"
    assert says_more(said, f"{tmp_path}?backend=auto&precision=auto")
    assert resolve_agent(said, game).name == said
    assert GATE in (tmp_path / "manifest.toml").read_text()


def test_a_run_writes_down_the_backend_that_auto_meant(tmp_path: Path) -> None:
    from moemcts.runs import Experiment
    from moemcts.runs.settings import ExperimentConfig, validate

    settings = validate(
        {"game": "tictactoe", "network": "resnet?channels=4&blocks=1", "match": {"backend": "auto"}}, ExperimentConfig
    )
    experiment = Experiment.create(tmp_path / "run", settings)
    written = read_toml(tmp_path / "run" / "config.toml")["match"]["backend"]
    assert written == experiment.config.match.backend
    assert written == choose_backend(trained_network(), (2, 3, 3), precision="float32").inference.backend
    assert "precision" not in read_toml(tmp_path / "run" / "config.toml")["match"]
    assert Experiment.load(tmp_path / "run").config.match == experiment.config.match


def test_a_run_with_a_backend_that_is_missing_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from moemcts.runs import Experiment
    from moemcts.runs.settings import ExperimentConfig, validate

    without(monkeypatch, "openvino")
    settings = validate({"game": "tictactoe", "match": {"backend": "openvino"}}, ExperimentConfig)
    with pytest.raises(MissingExtra, match="openvino"):
        Experiment.create(tmp_path / "run", settings)
    assert not (tmp_path / "run").exists()


# Ways to compute for GPUs, on a CPU.


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
