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
from moemcts.learn.inference import backends, choice
from moemcts.learn.inference.backends import BACKENDS, OpenvinoEvaluator, pieces, run_model
from moemcts.learn.inference.choice import choose_backend, measure, random_planes
from moemcts.learn.inference.evaluators import Inference, make_evaluator, resolve
from moemcts.learn.inference.export import TOLERANCE, largest_error, onnx_bytes, torch_evaluation
from moemcts.learn.inference.folder import Team, export_experts
from moemcts.learn.inference.positions import Positions, positions_of_dataset, positions_of_play
from moemcts.learn.inference.quantise import agreement, agreements, quantised
from moemcts.learn.inference.torch_evaluator import TorchEvaluator
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


@pytest.mark.parametrize("num", range(1, 200))
def test_pieces_of_a_batch_cover_it_and_waste_a_quarter_at_most(num: int) -> None:
    found = pieces(num, OpenvinoEvaluator.SIZES)
    assert sum(count for _, count in found) == num
    assert all(count <= size and 3 * size <= 4 * count for size, count in found)
    assert all(size in OpenvinoEvaluator.SIZES for size, _ in found)


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
    assert choose_backend(Unheard(), (2, 3, 3)).backend == "torch"


class Named(nn.Module):
    """Gives more than logits and value."""

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return planes.flatten(1)[:, :9], planes.mean(dim=(1, 2, 3)), planes


@pytest.mark.parametrize("backend", BACKENDS)
def test_further_outputs_of_a_network_are_left_out(backend: str) -> None:
    evaluation = make_evaluator(Named(), (2, 3, 3), backend=backend).evaluate_planes(random_planes((2, 3, 3), 5))
    assert (evaluation.logits.shape, evaluation.value.shape) == ((5, 9), (5,))


def test_the_choice_is_measured_once_and_remembered(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = trained_network()
    first = choose_backend(network, (2, 3, 3))
    assert set(first.rates) == set(BACKENDS)
    assert first.rates[first.backend] == max(first.rates.values())
    (path,) = (own_cache / "moemcts" / "backends").iterdir()
    assert read_toml(path)["backend"] == first.backend

    def fail(*_: Any, **__: Any) -> Any:
        raise AssertionError("measured again")

    monkeypatch.setattr(choice, "measure", fail)
    assert choose_backend(network, (2, 3, 3)) == first
    assert choose_backend(trained_network(), (2, 3, 3)) == first, "other weights are as fast"
    with pytest.raises(AssertionError, match="measured again"):
        choose_backend(trained_network(channels=8), (2, 3, 3))
    path.write_text("backend = ")
    with pytest.raises(AssertionError, match="measured again"):
        choose_backend(network, (2, 3, 3))


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert choose_backend(trained_network(), (2, 3, 3)).backend in BACKENDS


def test_a_measurement_takes_the_quickest(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measure(trained_network(), (2, 3, 3), ["torch", "onnxruntime"], budget=0.05)
    assert set(found.rates) == {"torch", "onnxruntime"}
    # PyTorch needs over 30 calls per batch, onnxruntime one.
    assert found.backend == "onnxruntime"


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
    with pytest.raises(MissingExtra, match=rf"{backend} is not installed; pip install 'moemcts\[{extra}\]'") as error:
        make_evaluator(trained_network(), (2, 3, 3), backend=backend)
    assert error.value.exit_code == 3


def test_auto_is_torch_where_nothing_else_is_installed(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    without(monkeypatch, *EXPORTED)
    assert choose_backend(trained_network(), (2, 3, 3)).backend == "torch"
    assert not own_cache.exists()


@pytest.mark.parametrize(
    ("backend", "precision", "message"),
    [
        ("onnx", "float32", "no backend named 'onnx'; did you mean 'onnxruntime'?"),
        ("auto", "int4", "no precision named 'int4'; did you mean 'int8'?"),
        ("torch", "int8", "torch has no int8 here"),
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
    from moemcts.naming import resolve_agent

    save(tmp_path)
    game = TicTacToe()
    chosen = choose_backend(load_networks(tmp_path, game, plugins()).networks[0], (2, 3, 3)).backend
    assert resolve_agent(f"{tmp_path}?simulations=0", game).name == f"{tmp_path}?simulations=0&backend={chosen}"
    assert resolve_agent(f"{tmp_path}", game).name == f"{tmp_path}?backend={chosen}"
    named = f"{tmp_path}?backend=openvino"
    assert resolve_agent(named, game).name == named
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
    assert written == choose_backend(trained_network(), (2, 3, 3)).backend
    assert Experiment.load(tmp_path / "run").config == experiment.config


def test_a_run_with_a_backend_that_is_missing_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from moemcts.runs import Experiment
    from moemcts.runs.settings import ExperimentConfig, validate

    without(monkeypatch, "openvino")
    settings = validate({"game": "tictactoe", "match": {"backend": "openvino"}}, ExperimentConfig)
    with pytest.raises(MissingExtra, match="openvino"):
        Experiment.create(tmp_path / "run", settings)
    assert not (tmp_path / "run").exists()
