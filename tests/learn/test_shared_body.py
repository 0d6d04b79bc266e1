"""Experts on one body are the experts they would be alone, at the cost of one body."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from learning_games import TicTacToe, make_data, thirds
from torch import nn

from moemcts.errors import MoemctsError
from moemcts.experts import MAJORITY, MIXTURE, ExpertSet
from moemcts.learn.checkpoint import load_experts, save_experts
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.inference.shared_body import SharedBody, torch_experts
from moemcts.learn.inference.torch_evaluator import TorchEvaluator
from moemcts.learn.networks.shared_body import share_a_body
from moemcts.learn.schemes.catalogue import Separated, SharedStem, Single
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.progress import Progress
from moemcts.learn.training.trainer import Trained, Trainer
from moemcts.plugins import plugins

REFERENCE = "rise?channels=4&expanded=8&blocks=2&value_head=wdlp"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return make_data(tmp_path_factory.mktemp("data"))


def make_network() -> Any:
    return plugins().network(REFERENCE, (2, 3, 3), 9)


def fit(data: Dataset, folder: Path, *, scheme: Any = None, on_progress: Any = None) -> list[Trained]:
    config = TrainerConfig(
        epochs=1, batch_size=32, validation_fraction=0.2, save_interval=3, device="cpu", threads=1, learning_rate=0.01
    )
    trainer = Trainer(config, on_progress=on_progress or (lambda progress: None))
    return list((scheme or SharedStem()).fit(trainer, make_network, data, thirds(), folder).trained)


@pytest.fixture(scope="module")
def trained(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> list[Trained]:
    return fit(data, tmp_path_factory.mktemp("shared"))


def equal(a: nn.Module, b: nn.Module) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


def test_experts_share_the_body_of_the_first_stage_and_have_heads_of_their_own(
    trained: list[Trained], data: Dataset, tmp_path: Path
) -> None:
    networks = [one.network for one in trained]
    assert share_a_body(networks)
    for other in networks[1:]:
        assert equal(networks[0].body, other.body)
        assert not equal(networks[0].policy, other.policy)
        assert not equal(networks[0].value, other.value)
    stem = fit(data, tmp_path, scheme=Single())[0].network
    assert equal(networks[0].body, stem.body)
    lines = [json.loads(line) for line in (trained[0].path.parents[2] / "metrics.jsonl").read_text().splitlines()]
    assert {line["stage"] for line in lines} == {"all", "early, heads", "middle, heads", "late, heads"}


def test_frozen_bodies_are_as_in_play_while_heads_learn() -> None:
    network = make_network()
    network.is_body_frozen = True
    network.train()
    assert not any(module.training for module in network.body.modules())
    assert all(module.training for module in network.policy.modules())
    before = {name: tensor.clone() for name, tensor in network.body.state_dict().items()}
    network(torch.randn(5, 2, 3, 3)).logits.sum().backward()
    assert all(torch.equal(before[name], tensor) for name, tensor in network.body.state_dict().items())
    assert all(weight.grad is None for weight in network.body.parameters())
    assert all(weight.grad is not None for weight in network.policy.parameters())


def test_a_training_that_was_killed_while_heads_learned_ends_in_the_same_weights(
    trained: list[Trained], data: Dataset, tmp_path: Path
) -> None:
    def kill(progress: Progress) -> None:
        if progress.stage == "middle, heads" and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(data, tmp_path, on_progress=kill)
    again = fit(data, tmp_path, on_progress=kill)
    assert all(equal(a.network, b.network) for a, b in zip(again, trained, strict=True))
    assert not any(one.network.is_body_frozen for one in again)


def test_one_pass_through_the_body_gives_what_each_network_gives_alone(trained: list[Trained], data: Dataset) -> None:
    networks = [one.network for one in trained]
    shared = torch_experts(networks)
    assert isinstance(shared, SharedBody)
    passes: list[int] = []
    shared._networks[0].body.register_forward_hook(lambda module, inputs, output: passes.append(len(output)))
    views = data.views(np.random.default_rng(1).permutation(len(data))[:97])
    together = ExpertSet(thirds(), shared).evaluate(views)
    assert passes == [97]
    phases = thirds().weights(views).argmax(axis=1)
    assert set(phases.tolist()) == {0, 1, 2}
    alone = [TorchEvaluator(network).evaluate(views) for network in networks]
    for row, phase in enumerate(phases):
        # Batches of other sizes are summed in another order.
        assert together.logits[row] == pytest.approx(alone[phase].logits[row], abs=1e-5)
        assert together.value[row] == pytest.approx(alone[phase].value[row], abs=1e-5)
    for phase, expert in enumerate(shared):
        assert (expert.evaluate(views).logits == alone[phase].logits).all()


@pytest.mark.parametrize("routing", [MAJORITY, MIXTURE])
def test_other_routings_see_ordinary_experts(trained: list[Trained], data: Dataset, routing: Any) -> None:
    networks = [one.network for one in trained]
    views = data.views(np.arange(60))
    separate = [TorchEvaluator(network) for network in networks]
    expected = ExpertSet(thirds(), separate, routing=routing).evaluate(views)
    found = ExpertSet(thirds(), torch_experts(networks), routing=routing).evaluate(views)
    assert np.allclose(found.logits, expected.logits, atol=1e-5, rtol=0)  # one body or three, float32
    assert np.allclose(found.value, expected.value, atol=1e-5, rtol=0)


@pytest.mark.parametrize("is_shared", [True, False])
def test_bodies_are_shared_where_they_are_equal(
    trained: list[Trained], data: Dataset, tmp_path: Path, is_shared: bool
) -> None:
    experts = trained if is_shared else fit(data, tmp_path / "training", scheme=Separated())
    save_experts(
        tmp_path / "experts",
        [one.network for one in experts],
        game=TicTacToe(),
        game_reference="tictactoe",
        gate=thirds(),
        gate_reference="plies?cuts=3,6",
        network_reference=REFERENCE,
        scheme="shared_stem" if is_shared else "separated",
        seed=0,
    )

    class Makers:
        network = plugins().network

        def gate(self, reference: str, game: Any) -> Any:
            return thirds()

    loaded = load_experts(tmp_path / "experts", TicTacToe(), Makers())
    assert isinstance(loaded.experts, SharedBody) == is_shared
    assert len(loaded.experts) == 3


def test_a_network_without_heads_cannot_train_them_alone(data: Dataset, tmp_path: Path) -> None:
    class Whole(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = make_network()

        def forward(self, planes: torch.Tensor) -> Any:
            return self.inner(planes)

    config = TrainerConfig(epochs=1, batch_size=64, device="cpu", threads=1)
    with pytest.raises(MoemctsError, match=r"expected a network with a body and heads .* got Whole"):
        SharedStem().fit(Trainer(config), Whole, data, thirds(), tmp_path)
    assert not (tmp_path / "metrics.jsonl").exists()  # nothing was trained in vain
