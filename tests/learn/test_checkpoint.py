"""Experts come back as they were, or not at all."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from learning_games import ShuffledTicTacToe, TicTacToe, crowd
from networks_for_tests import GATE, NETWORK, damage, positions, save, trained_network
from torch import nn

from moemcts.errors import DamagedFile, ForeignData, MoemctsError
from moemcts.experts import MAJORITY
from moemcts.learn.checkpoint import load_experts, load_networks, save_experts
from moemcts.learn.inference.torch_evaluator import TorchEvaluator, folded
from moemcts.learn.weights import load_state, read_state
from moemcts.plugins import plugins
from moemcts.store import read_toml, write_toml


def test_loaded_experts_evaluate_like_those_that_were_saved(tmp_path: Path) -> None:
    game = TicTacToe()
    networks = save(tmp_path)
    experts = load_experts(tmp_path, game, plugins())
    views = positions(game)
    evaluation = experts.evaluate(views)
    phases = experts.gate.weights(views).argmax(axis=1)
    for row in range(len(views)):
        alone = TorchEvaluator(networks[phases[row]]).evaluate(views.take([row]))
        np.testing.assert_allclose(evaluation.logits[row], alone.logits[0], atol=1e-5)  # batch sizes differ
        np.testing.assert_allclose(evaluation.value[row], alone.value[0], atol=1e-5)
    for i, network in enumerate(networks):
        state, _ = read_state(tmp_path / f"expert-{i}.safetensors")
        assert all(torch.equal(tensor, state[name]) for name, tensor in network.state_dict().items())


def test_the_routing_is_the_callers_choice(tmp_path: Path) -> None:
    save(tmp_path)
    assert load_experts(tmp_path, TicTacToe(), plugins(), routing=MAJORITY).routing is MAJORITY


def test_experts_of_another_game_or_encoding_are_refused_with_both_sides(tmp_path: Path) -> None:
    save(tmp_path)
    with pytest.raises(ForeignData, match=r"made for tictactoe with planes \w+, but hashed-tree here has planes \w+"):
        load_experts(tmp_path, crowd(), plugins())
    with pytest.raises(ForeignData, match="another game or another encoding"):
        load_experts(tmp_path, ShuffledTicTacToe(), plugins())


def edit(folder: Path, old: str, new: str) -> None:
    manifest = folder / "manifest.toml"
    assert old in manifest.read_text()
    manifest.write_text(manifest.read_text().replace(old, new))


def test_experts_of_another_gate_are_refused_with_both_sides(tmp_path: Path) -> None:
    save(tmp_path)
    edit(tmp_path, GATE, "plies?cuts=3,7")
    message = r"gate plies \{'cuts': \[3, 6\]\}, .* 'plies\?cuts=3,7' is here plies \{'cuts': \[3, 7\]\}"
    with pytest.raises(ForeignData, match=message):
        load_experts(tmp_path, TicTacToe(), plugins())


def test_experts_of_another_network_are_refused(tmp_path: Path) -> None:
    save(tmp_path)
    edit(tmp_path, NETWORK, "resnet?channels=5&blocks=1")
    with pytest.raises(ForeignData, match=r"belongs to another network: expected body.0.0.weight 5x2x3x3, got 4x2x3x3"):
        load_experts(tmp_path, TicTacToe(), plugins())


@pytest.mark.parametrize(
    ("kind", "told"),
    [(torch.uint8, "whole"), (torch.bool, "whole"), (torch.int64, "whole"), (torch.complex64, "complex")],
)
def test_weights_of_another_kind_of_numbers_are_refused(kind: torch.dtype, told: str) -> None:
    network = trained_network()
    state = {
        name: tensor.to(kind) if tensor.is_floating_point() else tensor for name, tensor in network.state_dict().items()
    }
    with pytest.raises(ForeignData, match=rf"expected body.0.0.weight 4x2x3x3, got 4x2x3x3 of {told} numbers"):
        load_state(network, state, "a file")


@pytest.mark.parametrize("kind", [torch.float64, torch.float16, torch.bfloat16])
def test_weights_of_other_digits_are_taken(kind: torch.dtype) -> None:
    network = trained_network()
    state = {
        name: tensor.to(kind) if tensor.is_floating_point() else tensor for name, tensor in network.state_dict().items()
    }
    load_state(network, state, "a file")
    assert all(parameter.dtype == torch.float32 for parameter in network.parameters())


class Watched:
    """Makes what plugins make, and remembers where the weights of networks were."""

    def __init__(self) -> None:
        self.gate = plugins().gate
        self.devices: list[str] = []

    def network(self, *of: Any) -> nn.Module:
        network: nn.Module = plugins().network(*of)
        self.devices.append(next(network.parameters()).device.type)
        return network


def test_a_size_that_only_the_manifest_claims_takes_no_memory(tmp_path: Path) -> None:
    save(tmp_path)
    edit(tmp_path, NETWORK, "resnet?channels=5&blocks=1")
    makers = Watched()
    with pytest.raises(ForeignData, match="belongs to another network"):
        load_networks(tmp_path, TicTacToe(), makers)
    assert makers.devices == ["meta"]


def test_a_network_that_looks_at_its_numbers_while_it_is_made_is_loaded(tmp_path: Path) -> None:
    class Looking(Watched):
        def network(self, *of: Any) -> nn.Module:
            assert torch.ones(1).item() == 1
            return super().network(*of)

    save(tmp_path)
    makers = Looking()
    assert len(load_networks(tmp_path, TicTacToe(), makers).networks) == 3
    assert makers.devices == ["cpu"] * 3


@pytest.mark.parametrize("harm", ["flip", "cut", "remove", "no manifest", "empty manifest", "other key"])
def test_damaged_experts_are_refused_with_one_line(tmp_path: Path, harm: str) -> None:
    save(tmp_path)
    if harm == "no manifest":
        (tmp_path / "manifest.toml").unlink()
    elif harm == "empty manifest":
        (tmp_path / "manifest.toml").write_text("")
    elif harm == "other key":
        edit(tmp_path, "fingerprint", "fingerpaint")
    else:
        damage(tmp_path / "expert-1.safetensors", harm)
    with pytest.raises(MoemctsError if harm == "no manifest" else DamagedFile) as error:
        load_experts(tmp_path, TicTacToe(), plugins())
    assert str(tmp_path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (["network"], 3, "network: Input should be a valid string, got 3"),
        (["encoding"], [1], "encoding: Input should be a table, got [1]"),
        (["encoding", "planes"], 5, "encoding.planes: Input should be a valid string, got 5"),
        (["gate"], "plies", "gate: Input should be a table, got 'plies'"),
        (["gate", "fingerprint"], [1], "gate.fingerprint: Input should be a valid string, got [1]"),
        (["gate", "parameters"], 4, "gate.parameters: Input should be a valid dictionary, got 4"),
        (["experts"], {"a": 1}, "experts: Input should be a valid list, got {'a': 1}"),
        (["experts", 1], 7, "experts.1: Input should be a table, got 7"),
        (["experts", 2, "sha256"], 7, "experts.2.sha256: Input should be a valid string, got 7"),
        (["seed"], "a", "seed: Input should be a valid integer, got 'a'"),
    ],
)
def test_fields_of_another_type_are_named(tmp_path: Path, path: list[Any], value: Any, told: str) -> None:
    save(tmp_path)
    manifest = read_toml(tmp_path / "manifest.toml")
    table: Any = manifest
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value
    write_toml(tmp_path / "manifest.toml", manifest)
    with pytest.raises(DamagedFile) as error:
        load_experts(tmp_path, TicTacToe(), plugins())
    assert str(error.value) == f"{tmp_path / 'manifest.toml'} is not a valid manifest of experts: {told}"


@pytest.mark.parametrize("path", [["format"], ["gate", "fingerprint"], ["encoding"], ["experts", 1, "file"]])
def test_fields_that_are_missing_are_named(tmp_path: Path, path: list[Any]) -> None:
    save(tmp_path)
    manifest = read_toml(tmp_path / "manifest.toml")
    table: Any = manifest
    for key in path[:-1]:
        table = table[key]
    del table[path[-1]]
    write_toml(tmp_path / "manifest.toml", manifest)
    with pytest.raises(
        DamagedFile, match=rf"is not a valid manifest of experts: {'.'.join(map(str, path))} is missing$"
    ):
        load_experts(tmp_path, TicTacToe(), plugins())


def test_a_mistake_of_a_gate_is_not_blamed_on_the_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path)
    monkeypatch.setattr("moemcts.gates.CutGate.phases", lambda *_: {}["phase"])
    with pytest.raises(KeyError, match="phase"):
        load_experts(tmp_path, TicTacToe(), plugins())


def test_weights_that_are_no_numbers_are_named(tmp_path: Path) -> None:
    networks = [trained_network() for _ in range(3)]
    with torch.no_grad():
        networks[1].get_parameter("body.0.0.weight")[0] = torch.nan
    save(tmp_path, networks=networks)
    with pytest.raises(DamagedFile, match=r"expert-1.* cannot be used: body.0.0.weight holds numbers that are not"):
        load_experts(tmp_path, TicTacToe(), plugins())


def test_there_is_one_network_per_phase(tmp_path: Path) -> None:
    game = TicTacToe()
    with pytest.raises(ValueError, match="expected 3 networks, one per phase of the gate, got 1"):
        save_experts(
            tmp_path,
            [trained_network()],
            game=game,
            game_reference="tictactoe",
            gate=plugins().gate(GATE, game),
            gate_reference=GATE,
            network_reference=NETWORK,
            scheme="single",
            seed=0,
        )


@pytest.mark.parametrize("batch", [1, 8, 65])
@pytest.mark.parametrize(
    "reference",
    [
        "rise-tiny",
        "rise-small",
        "resnet?num_values=4",
        "resnet?value_head=wdlp",
        "rise?attention=se",
        "rise?attention=eca&kernels=5,3",
        "levit?channels=8&blocks=2&key_channels=4",
        "cnn",
    ],
)
def test_folding_batch_norms_changes_nothing_but_rounding(reference: str, batch: int) -> None:
    shape = (5, 11, 11)
    network = plugins().network(reference, shape, 6).train()
    for _ in range(3):
        network(torch.randn(16, *shape) * 2 + 1)
    network.eval()
    planes = torch.randn(batch, *shape)
    with torch.inference_mode():
        logits, value, *_ = network(planes)
    evaluation = TorchEvaluator(network).evaluate_planes(planes.numpy())
    np.testing.assert_allclose(evaluation.logits, logits.numpy(), atol=2e-4)  # float32, other order of summation
    np.testing.assert_allclose(evaluation.value, value.numpy(), atol=2e-4)
    assert evaluation.value.shape == value.shape
    assert not any(isinstance(module, nn.BatchNorm2d) for module in folded(network).modules())


def test_an_evaluator_is_not_changed_by_further_training() -> None:
    network = trained_network()
    evaluator = TorchEvaluator(network)
    planes = np.ones((1, 2, 3, 3), dtype=np.float32)
    before = evaluator.evaluate_planes(planes).logits
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 1
    assert (evaluator.evaluate_planes(planes).logits == before).all()


def test_loaded_networks_are_ready_to_be_asked(tmp_path: Path) -> None:
    save(tmp_path)
    assert not any(network.training for network in load_networks(tmp_path, TicTacToe(), plugins()).networks)


@pytest.mark.parametrize("file", ["../expert-1.safetensors", "/etc/passwd", "a\0b"])
def test_a_manifest_names_files_beside_it(tmp_path: Path, file: str) -> None:
    save(tmp_path)
    manifest = read_toml(tmp_path / "manifest.toml")
    manifest["experts"][1]["file"] = file
    write_toml(tmp_path / "manifest.toml", manifest)
    with pytest.raises(DamagedFile, match=r"experts.1.file: Input should be the name of a file in the same folder"):
        load_networks(tmp_path, TicTacToe(), plugins())
