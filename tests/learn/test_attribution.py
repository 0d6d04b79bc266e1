"""Integrated gradients add up to what they explain."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest
import torch
from learning_games import TicTacToe, make_data
from torch import nn

from moemcts.errors import MissingExtra, MoemctsError
from moemcts.game import Views
from moemcts.learn.attribution import explain
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.networks import catalogue


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> Views:
    data: Dataset = make_data(tmp_path_factory.mktemp("data"), num_samples=60)
    return data.views(np.arange(20))


class Linear(nn.Module):
    """Value and logits that are linear in the planes."""

    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(0)
        self.value = torch.from_numpy(rng.standard_normal((2, 3, 3)).astype(np.float32))

    def forward(self, planes: torch.Tensor) -> Any:
        return planes[:, 1].flatten(1), (planes * self.value).sum(dim=(1, 2, 3)) + 0.5


def network(**options: Any) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(4)
        made = catalogue.resnet((2, 3, 3), 9, channels=8, blocks=2, **options)
        # Batch norms that have seen something, so that layers are not near zero.
        made.train()
        for _ in range(20):
            made(torch.rand(64, 2, 3, 3))
    return made.eval()


def test_of_a_linear_answer_every_input_gets_its_product(views: Views) -> None:
    net = Linear()
    found = explain(net, views, steps=4)
    expected = views.observations() * net.value.numpy()
    assert np.allclose(found.value.planes, expected, atol=1e-6)
    assert np.allclose(found.value.by_plane(), expected.sum(axis=(2, 3)), atol=1e-6)
    assert np.allclose(found.value.by_cell(), expected.sum(axis=1), atol=1e-6)
    assert np.allclose(found.value.baselines, 0.5)
    # The policy looks at plane 1 alone.
    assert (found.policy.planes[:, 0] == 0).all()


@pytest.mark.parametrize("is_mean", [False, True])
def test_attributions_are_complete(views: Views, is_mean: bool) -> None:
    baseline = views.observations().mean(axis=0) if is_mean else None
    found = explain(network(), views, steps=300, baseline=baseline)
    for attribution in (found.policy, found.value):
        change = attribution.answers - attribution.baselines
        assert np.abs(change).max() > 0.01
        # Activations with kinks are integrated numerically: 1 % of the largest change at 300 steps.
        assert attribution.gaps.max() < 0.01 * np.abs(change).max()
        total = attribution.planes.sum(axis=(1, 2, 3))
        assert np.allclose(total, change, atol=0.01 * np.abs(change).max())
    coarse = explain(network(), views, steps=4, baseline=baseline)
    assert coarse.policy.gaps.mean() > found.policy.gaps.mean()


def test_the_likeliest_legal_action_is_explained(views: Views) -> None:
    net = network()
    found = explain(net, views, steps=8)
    with torch.inference_mode():
        logits, value, *_ = net(torch.from_numpy(views.observations()))
    masked = np.where(views.legal_mask(), logits.numpy(), -np.inf)
    assert (found.actions == masked.argmax(axis=1)).all()
    probabilities = np.exp(masked) / np.exp(masked).sum(axis=1, keepdims=True)
    assert np.allclose(np.exp(found.policy.answers), probabilities.max(axis=1), atol=1e-5)
    assert np.allclose(found.value.answers, value.numpy(), atol=1e-6)


def test_of_all_players_values_the_viewers_is_explained(views: Views) -> None:
    net = network(num_values=2)
    found = explain(net, views, steps=8)
    with torch.inference_mode():
        value = net(torch.from_numpy(views.observations()))[1]
    assert np.allclose(found.value.answers, value[:, 0].numpy(), atol=1e-6)


def test_a_finished_game_has_nothing_to_explain() -> None:
    game = TicTacToe()
    over = game.views([(game.parse_state("03142"), 1)])
    with pytest.raises(MoemctsError, match="in which the player is to move"):
        explain(network(), over)


def test_without_captum_the_line_says_what_to_install(views: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("captum"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"captum is not installed; .*pip install '\.\[explain\]'") as error:
        explain(network(), views, steps=2)
    assert error.value.exit_code == 3
