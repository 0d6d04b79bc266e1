"""Weights reach every term of the loss."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from moemcts.learn.losses import sample_losses, total_loss
from moemcts.learn.schedule import FINAL, one_cycle, pace


def outputs(num: int = 4, players: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(num, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    value = torch.rand(num, players, generator=generator, dtype=torch.float64) if players else torch.rand(num)
    actions = torch.randint(0, 5, (num,), generator=generator)
    returns = torch.rand(num, 3, generator=generator, dtype=torch.float64)
    return logits, value.double().requires_grad_(True), actions, returns


def test_a_sample_without_weight_moves_nothing() -> None:
    logits, value, actions, returns = outputs()
    weights = torch.tensor([1.0, 0.0, 2.0, 0.0])
    total_loss(
        sample_losses(logits, value, actions, None, returns), weights, policy_weight=0.9, value_weight=0.1
    ).backward()
    assert logits.grad is not None
    assert value.grad is not None
    assert logits.grad.abs().sum(dim=1).ne(0).tolist() == [True, False, True, False]
    assert value.grad.ne(0).tolist() == [True, False, True, False]


def test_weight_two_is_the_sample_twice() -> None:
    logits, value, actions, returns = outputs()
    losses = sample_losses(logits, value, actions, None, returns)
    weighted = total_loss(losses, torch.tensor([2.0, 1, 1, 1]), policy_weight=1.0, value_weight=3.0) * 4
    rows = torch.tensor([0, 0, 1, 2, 3])
    repeated = sample_losses(logits[rows], value[rows], actions[rows], None, returns[rows])
    twice = total_loss(repeated, torch.ones(5), policy_weight=1.0, value_weight=3.0) * 5
    assert weighted.item() == pytest.approx(twice.item(), abs=1e-12)  # another order of summation


def test_one_hot_visits_equal_the_action() -> None:
    logits, value, actions, returns = outputs()
    by_action = sample_losses(logits, value, actions, None, returns)
    visits = torch.nn.functional.one_hot(actions, 5).double()
    by_visits = sample_losses(logits, value, actions, visits, returns)
    assert torch.allclose(by_action.policy, by_visits.policy, atol=1e-12, rtol=0)
    assert (by_action.correct == by_visits.correct).all()


def test_losses_are_cross_entropy_and_squared_error() -> None:
    logits, value, actions, returns = outputs()
    losses = sample_losses(logits, value, actions, None, returns)
    probabilities = torch.softmax(logits, dim=1)[torch.arange(4), actions]
    assert torch.allclose(losses.policy, -probabilities.log(), atol=1e-12, rtol=0)
    assert torch.allclose(losses.value, (value - returns[:, 0]) ** 2, atol=1e-12, rtol=0)


def test_a_vector_value_is_measured_on_all_players() -> None:
    logits, value, actions, returns = outputs(players=3)
    losses = sample_losses(logits, value, actions, None, returns)
    assert torch.allclose(losses.value, ((value - returns) ** 2).mean(dim=1), atol=1e-12, rtol=0)


def test_one_cycle_has_the_published_corners() -> None:
    assert one_cycle(0.0) == pytest.approx(FINAL)
    assert one_cycle(1 / 30) == pytest.approx(1 / 8)
    assert one_cycle(1 / 30 + 0.15) == pytest.approx(1.0)
    assert one_cycle(1 / 30 + 0.30) == pytest.approx(1 / 8)
    assert one_cycle(1 / 30 + 0.90) == one_cycle(1.0) == pytest.approx(FINAL)
    assert int(np.argmax([one_cycle(i / 1000) for i in range(1001)])) == 183


@given(st.integers(1, 300), st.floats(1e-5, 1.0))
def test_momentum_is_low_where_the_learning_rate_is_high(num_steps: int, rate: float) -> None:
    paces = [
        pace("one_cycle", step, num_steps, learning_rate=rate, momentum=0.95, min_momentum=0.8)
        for step in range(num_steps)
    ]
    for p in paces:
        share = (p.learning_rate - FINAL * rate) / (rate - FINAL * rate)
        assert p.momentum == pytest.approx(0.95 - 0.15 * share)
        assert 0 < p.learning_rate <= rate * (1 + 1e-9)


def test_constant_is_constant() -> None:
    paces = {pace("constant", step, 9, learning_rate=0.1, momentum=0.9, min_momentum=0.8) for step in range(9)}
    assert paces == {(0.1, 0.9)}
