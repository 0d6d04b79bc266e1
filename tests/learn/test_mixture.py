"""Experts and their gate, trained together."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from learning_games import TicTacToe, make_data, thirds
from torch import nn

from moemcts.errors import ForeignData
from moemcts.experts import MIXTURE, ExpertSet
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.data.phase_statistics import phase_statistics
from moemcts.learn.gates.network_gate import NetworkGate
from moemcts.learn.inference.torch_evaluator import TorchEvaluator
from moemcts.learn.networks import catalogue
from moemcts.learn.networks.gate import GateNetwork
from moemcts.learn.networks.mixture import MixtureNetwork, balance_loss
from moemcts.learn.networks.outputs import value_of
from moemcts.learn.schemes import mixture as schemes_mixture
from moemcts.learn.schemes.catalogue import Separated
from moemcts.learn.schemes.mixture import Mixture
from moemcts.learn.schemes.scheme import Team
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.progress import Progress
from moemcts.learn.training.trainer import Trainer
from moemcts.plugins import plugins
from moemcts.store import read_json, write_json

SCHEME = Mixture(balance=0.01)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return make_data(tmp_path_factory.mktemp("data"), num_samples=1500)


def config(**changes: Any) -> TrainerConfig:
    small = {"epochs": 2, "batch_size": 64, "validation_interval": 9, "save_interval": 5, "validation_fraction": 0.2}
    return TrainerConfig(**{**small, "device": "cpu", "threads": 1, **changes})


def make_network() -> nn.Module:
    return catalogue.resnet((2, 3, 3), 9, channels=4, blocks=1)


def untrained(num_phases: int = 3) -> NetworkGate:
    gate = plugins().gate(f"learned?phases={num_phases}&channels=8", TicTacToe())
    assert isinstance(gate, NetworkGate)
    return gate


def fit(data: Dataset, folder: Path, watch: Any = lambda progress: None, **changes: Any) -> Team:
    trainer = Trainer(config(**changes), on_progress=watch)
    return SCHEME.fit(trainer, make_network, data, untrained(), folder)


def tensors(team: Team) -> list[torch.Tensor]:
    assert isinstance(team.gate, NetworkGate)
    gate = [torch.from_numpy(np.array(array)) for array in team.gate.file.arrays.values()]
    return gate + [tensor for one in team.trained for tensor in one.network.state_dict().values()]


def same(a: Team, b: Team) -> bool:
    return all(torch.equal(x, y) for x, y in zip(tensors(a), tensors(b), strict=True))


def mixture(balance: float = 0.0, num_experts: int = 3) -> MixtureNetwork:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        gate = GateNetwork(2, num_experts, channels=4)
        nn.init.normal_(gate.last.weight)
        return MixtureNetwork(gate, [make_network() for _ in range(num_experts)], balance=balance)


def planes(count: int = 6) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).random((count, 2, 3, 3), dtype=np.float32))


def test_the_mixture_answers_with_the_mean_of_its_experts() -> None:
    network = mixture().eval()
    with torch.inference_mode():
        logits, value, *_ = network(planes())
        weights = network.gate(planes())
        answers = [expert(planes()) for expert in network.experts]
    policy = sum(weights[:, k, None] * answers[k][0].softmax(dim=1) for k in range(3))
    assert torch.allclose(logits.exp(), policy, atol=1e-6)
    assert torch.allclose(value, sum(weights[:, k] * answers[k][1] for k in range(3)), atol=1e-6)
    assert torch.allclose(weights.sum(dim=1), torch.ones(6), atol=1e-6)


def test_more_than_two_answers_are_mixed_as_what_they_are() -> None:
    class Four(nn.Module):
        """Policy, value of two players, outcome, plies to the end: each expert sure of its own."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

        def forward(self, x: torch.Tensor) -> Any:
            sure = torch.full((len(x), 3), -30.0)
            sure[:, self.number] = 30.0
            value = torch.full((len(x), 2), float(self.number))
            return sure, value, sure.clone(), torch.full((len(x),), self.number / 10)

    gate = GateNetwork(2, 3, channels=4)
    network = MixtureNetwork(gate, [Four(k) for k in range(3)], balance=0.0).eval()
    logits, value, outcome, plies = network(planes(2))
    third = torch.full((2, 3), 1 / 3)
    assert torch.allclose(logits.exp(), third)
    assert torch.allclose(outcome.exp(), third)
    assert torch.allclose(value, torch.ones(2, 2))
    assert torch.allclose(plies, torch.full((2,), 0.1))


def test_a_mixture_of_outcomes_has_the_mixed_value() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        experts = [catalogue.resnet((2, 3, 3), 9, channels=4, blocks=1, value_head="wdlp") for _ in range(2)]
        network = MixtureNetwork(GateNetwork(2, 2, channels=4), experts, balance=0.0).eval()
        nn.init.normal_(network.gate.last.weight)
        outputs = network(planes())
    assert outputs.wdl is not None
    assert torch.allclose(value_of(outputs.wdl), outputs.value, atol=1e-6)
    assert outputs.plies is not None
    assert outputs.plies.shape == (6,)


def test_the_loss_of_the_policy_is_the_likelihood_of_the_mixture() -> None:
    network = mixture().eval()
    actions = torch.tensor([0, 3, 8, 1, 2, 2])
    logits, *_ = network(planes())
    loss = nn.functional.cross_entropy(logits, actions, reduction="none")
    weights = network.gate(planes())
    chosen = torch.stack([expert(planes())[0].softmax(1)[torch.arange(6), actions] for expert in network.experts], 1)
    assert torch.allclose(loss, -(weights * chosen).sum(dim=1).log(), atol=1e-6)
    # An expert learns from a sample as much as it is responsible for it (Jacobs et al. 1991, equation 1.3 on).
    responsibility = weights * chosen / (weights * chosen).sum(dim=1, keepdim=True)
    (gradient,) = torch.autograd.grad(loss.sum(), network.gate.last.bias)
    assert torch.allclose(gradient, (weights - responsibility).sum(dim=0), atol=1e-5)


@pytest.mark.parametrize("balance", [-0.1, math.inf, math.nan])
def test_a_balance_that_nothing_can_be_learned_beside_is_refused(balance: float) -> None:
    with pytest.raises(ValueError, match="expected a balance of at least 0"):
        Mixture(balance=balance)


def test_balance_is_least_where_all_phases_are_used_alike() -> None:
    even = torch.eye(4).repeat(3, 1) * 0.9 + 0.025
    assert balance_loss(even).item() == pytest.approx(1.0)
    one_sided = torch.tensor([[1.0, 0.0, 0.0, 0.0]]).repeat(8, 1)
    assert balance_loss(one_sided).item() == pytest.approx(4.0)
    assert balance_loss(torch.full((8, 4), 0.25)).item() == pytest.approx(1.0)


def test_balance_moves_the_gate_but_not_the_measured_loss() -> None:
    losses, gradients = [], []
    for balance in (0.0, 0.5):
        network = mixture(balance).train()
        logits, value, *_ = network(planes())
        loss = nn.functional.cross_entropy(logits, torch.tensor([0, 3, 8, 1, 2, 2])) + value.square().mean()
        losses.append(loss.item())
        (gradient,) = torch.autograd.grad(loss, network.gate.last.weight)
        gradients.append(gradient)
    assert losses[0] == losses[1]
    network = mixture().train()
    (expected,) = torch.autograd.grad(0.5 * balance_loss(network.gate(planes())), network.gate.last.weight)
    assert torch.allclose(gradients[1] - gradients[0], expected, atol=1e-6)
    assert expected.abs().max() > 1e-3


def test_a_trained_mixture_is_what_the_search_evaluates(data: Dataset, tmp_path: Path) -> None:
    team = fit(data, tmp_path)
    _, held_out = data.split(0.2, 0)
    views = held_out.views(np.arange(len(held_out)))
    team_of = ExpertSet(team.gate, [TorchEvaluator(one.network) for one in team.trained])
    assert team_of.routing is MIXTURE
    evaluation = team_of.evaluate(views)
    target = held_out.actions(np.arange(len(held_out)))
    policy = -evaluation.logits[np.arange(len(target)), target].mean()
    assert policy == pytest.approx(team.trained[0].measurement["validation"]["policy"], abs=1e-4)  # rounded weights
    error = np.square(evaluation.value - held_out.returns(np.arange(len(held_out)))[:, 0]).mean()
    # The measurement of the training is that of the experts behind the gate that it left.
    assert error == pytest.approx(team.trained[0].measurement["validation"]["value"], abs=1e-4)  # rounded weights


def test_gate_and_experts_learn(data: Dataset, tmp_path: Path) -> None:
    team = fit(data, tmp_path, epochs=12, learning_rate=0.01)
    assert team.trained[0].measurement["validation"]["policy"] < np.log(9) - 0.2
    found = phase_statistics(data, team.gate)
    assert [phase.mean_ply for phase in found.phases] == sorted(phase.mean_ply for phase in found.phases)
    assert found.mean_top_weight > 0.4
    assert min(phase.share for phase in found.phases) > 0.05
    states = [one.network.state_dict() for one in team.trained]
    assert not torch.equal(states[0]["policy.2.weight"], states[1]["policy.2.weight"])


def test_phases_are_numbered_by_some_positions_spread_over_all(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fit(data, tmp_path)
    asked: list[int] = []
    views = Dataset.views

    def noted(dataset: Dataset, rows: Any) -> Any:
        asked.extend(rows.tolist())
        return views(dataset, rows)

    monkeypatch.setattr(schemes_mixture, "ORDERING", 100)
    monkeypatch.setattr(Dataset, "views", noted)
    # What was trained is read again: only the numbering is done anew.
    again = fit(data, tmp_path)
    training, _ = data.split(0.2, 0)
    numbering = asked[-100:]
    assert numbering[0] == 0
    assert numbering[-1] == len(training) - 1
    assert len(asked) < len(training)
    assert same(whole, again)


@pytest.mark.parametrize("changes", [{}, {"optimiser": "nag", "schedule": "one_cycle", "clip": 1.0}])
def test_a_mixture_killed_at_random_steps_ends_in_the_same_weights(
    data: Dataset, tmp_path: Path, changes: dict[str, Any]
) -> None:
    unbroken = fit(data, tmp_path / "unbroken", **changes)
    rng, kills = random.Random(repr(changes)), [0]

    def watch(progress: Progress) -> None:
        if rng.random() < 0.2 and kills[0] < 8:
            raise RuntimeError

    while True:
        try:
            resumed = fit(data, tmp_path / "killed", watch, **changes)
            break
        except RuntimeError:
            kills[0] += 1
    assert kills[0] > 3
    assert same(unbroken, resumed)


def test_a_mixture_does_not_go_on_with_another_balance(data: Dataset, tmp_path: Path) -> None:
    trainer = Trainer(config(epochs=1))
    for first, second in ((0.01, 0.05), (0.05, 0.01)):
        folder = tmp_path / str(first)
        begun = Mixture(balance=first).fit(trainer, make_network, data, untrained(2), folder)
        assert same(begun, Mixture(balance=first).fit(trainer, make_network, data, untrained(2), folder))
        with pytest.raises(ForeignData, match="was begun with balance "):
            Mixture(balance=second).fit(trainer, make_network, data, untrained(2), folder)
    # As trainings from before the balance was written down, all of which had the default.
    (path,) = (tmp_path / "0.01").rglob("identity.json")
    write_json(path, {key: value for key, value in read_json(path).items() if key != "balance"})
    assert Mixture().fit(trainer, make_network, data, untrained(2), tmp_path / "0.01")


def test_the_seed_decides_the_mixture(data: Dataset, tmp_path: Path) -> None:
    runs = [fit(data, tmp_path / str(i), epochs=1, seed=seed) for i, seed in enumerate((1, 1, 2))]
    assert same(runs[0], runs[1])
    assert not same(runs[0], runs[2])


def test_a_team_is_fitted_by_any_scheme(data: Dataset, tmp_path: Path) -> None:
    trainer = Trainer(config(epochs=1))
    joint = SCHEME.fit(trainer, make_network, data, untrained(), tmp_path / "joint")
    assert isinstance(joint.gate, NetworkGate)
    assert joint.gate.is_trained
    assert len(joint.trained) == 3
    staged = Separated().fit(trainer, make_network, data, thirds(), tmp_path / "staged")
    assert staged.gate.phase_names == ("early", "middle", "late")
    # A gate that was learned is one like any other: its phases have experts of their own.
    again = Separated().fit(trainer, make_network, data, joint.gate, tmp_path / "again")
    assert len(again.trained) == 3
