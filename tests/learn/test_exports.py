"""Exported experts are what they were made of; int8 nearly so."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learning_games import GreedyAgent, TicTacToe, make_data, thirds
from networks_for_tests import EXPORTED, damage, positions, save, skip_without_libraries, trained_network

from moemcts.agents import RandomAgent
from moemcts.errors import DamagedFile, ForeignData, MoemctsError, UsageError
from moemcts.evaluation import Evaluation
from moemcts.gates import PlyGate
from moemcts.learn.checkpoint import LoadedNetworks, load_experts, load_networks
from moemcts.learn.inference.evaluators import Inference
from moemcts.learn.inference.export import TOLERANCE
from moemcts.learn.inference.folder import Team, export_experts, read_models
from moemcts.learn.inference.positions import Positions, positions_of_dataset, positions_of_play
from moemcts.learn.inference.quantise import agreement, agreements, quantised
from moemcts.learn.inference.torch_evaluator import TorchEvaluator
from moemcts.plugins import plugins
from moemcts.store import read_toml, write_toml

skip_without_libraries()


def exported(folder: Path, precision: Any, *, num: int = 40) -> tuple[LoadedNetworks, dict[str, Any]]:
    """Returns the experts of a folder, and the manifest of their exports in the usual place."""
    game = TicTacToe()
    loaded = load_networks(folder, game, plugins())
    found = positions_of_play(game, loaded.gate, [RandomAgent(), GreedyAgent()], per_phase=num)
    team = Team(networks=loaded.networks, phase_names=loaded.gate.phase_names, manifest=loaded.manifest)
    return loaded, export_experts(team, found, folder / precision, precision=precision, source="test")


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


def test_a_network_that_is_not_quantised_is_named_whatever_the_library_says(monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime.quantization

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(onnxruntime.quantization, "quantize_static", fail)
    with pytest.raises(MoemctsError, match="cannot be quantised: AssertionError"):
        quantised(trained_network(), positions(TicTacToe()).observations())


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


def test_exports_of_other_weights_are_not_considered_where_nobody_asked_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    save(tmp_path)
    exported(tmp_path, "int8", num=4)
    save(tmp_path)
    loaded = load_networks(tmp_path, TicTacToe(), plugins())
    assert not any("int8" in pair for pair in loaded.choice().rates)
    with pytest.raises(ForeignData, match="make it again"):
        loaded.choice(precision="int8")


def test_int8_needs_a_position_more_than_it_is_calibrated_with(tmp_path: Path) -> None:
    save(tmp_path)
    with pytest.raises(
        MoemctsError, match=r"expected two positions or more of some phase, .* got 1 of 'phase 0', 1 of"
    ):
        exported(tmp_path, "int8", num=1)


@pytest.mark.parametrize("harm", ["flip", "cut", "remove", "manifest"])
def test_damaged_exports_are_refused_with_one_line(tmp_path: Path, harm: str) -> None:
    save(tmp_path)
    exported(tmp_path, "int8")
    if harm == "manifest":
        (tmp_path / "int8" / "manifest.toml").write_text("format = 1\n")
    else:
        damage(tmp_path / "int8" / "expert-1.onnx", harm)
    with pytest.raises(DamagedFile) as error:
        load_experts(tmp_path, TicTacToe(), plugins(), inference=Inference("onnxruntime", "int8"))
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("file", ["../expert-1.onnx", "/etc/passwd", "a\0b", 3])
def test_a_manifest_of_models_names_files_beside_it(tmp_path: Path, file: str | int) -> None:
    entry = {"file": "expert-0.onnx", "sha256": "", "weights": "w"}
    write_toml(tmp_path / "int8" / "manifest.toml", {"format": 1, "experts": [entry, {**entry, "file": file}]})
    with pytest.raises(
        DamagedFile, match=r"is not a valid manifest of exported models: experts.1.file: Input should be "
    ):
        read_models(tmp_path, "int8", ["w", "w"])


def test_exports_are_not_taken_for_experts_nor_written_over_them(tmp_path: Path) -> None:
    save(tmp_path)
    loaded, _ = exported(tmp_path, "int8")
    with pytest.raises(ForeignData, match="holds exported models"):
        load_networks(tmp_path / "int8", TicTacToe(), plugins())
    team = Team(networks=loaded.networks, phase_names=loaded.gate.phase_names, manifest=loaded.manifest)
    found = positions_of_play(TicTacToe(), loaded.gate, [RandomAgent()], per_phase=4)
    with pytest.raises(UsageError, match="holds something else"):
        export_experts(team, found, tmp_path, precision="float32", source="test")


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
