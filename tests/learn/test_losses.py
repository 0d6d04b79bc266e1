"""Weights reach every term of the loss."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from moemcts.learn.networks.outputs import Outputs, value_of
from moemcts.learn.training.cross_entropy import PolicyTargets, policy_loss
from moemcts.learn.training.losses import Losses, Targets, sample_losses, total_loss
from moemcts.learn.training.schedule import FINAL, one_cycle, schedule_values

SHARES = {"policy": 0.988, "value": 0.01, "wdl": 0.01, "plies": 0.002}
"""CrazyAra's (QueensGambit/CrazyAra, train_config.py)."""


def outputs(num: int = 4, players: int = 0) -> Outputs:
    """Returns leaves of a graph of gradients, as if a network with a head for win, draw and loss had made them."""
    generator = torch.Generator().manual_seed(1)
    shape = (num, players) if players else (num,)
    logits = torch.randn(num, 5, generator=generator, dtype=torch.float64)
    value = torch.rand(shape, generator=generator, dtype=torch.float64)
    wdl = torch.randn(*shape, 3, generator=generator, dtype=torch.float64)
    plies = torch.rand(num, generator=generator, dtype=torch.float64)
    return Outputs(*(leaf.requires_grad_(True) for leaf in (logits, value, wdl, plies)))


def targets(num: int = 4, players: int = 3) -> Targets:
    generator = torch.Generator().manual_seed(2)
    actions = torch.randint(0, 5, (num,), generator=generator)
    returns = torch.randint(-1, 2, (num, players), generator=generator).double()
    return Targets(actions, None, returns, torch.tensor([0, 30, 100, 250])[torch.arange(num) % 4])


def rows(given: Any, index: torch.Tensor) -> Any:
    return type(given)(*(None if column is None else column[index] for column in given))


def test_a_sample_without_weight_moves_nothing() -> None:
    made, weights = outputs(), torch.tensor([1.0, 0.0, 2.0, 0.0])
    total_loss(sample_losses(made, targets()), weights, SHARES).backward()
    for leaf in made:
        assert leaf is not None
        assert leaf.grad is not None
        assert leaf.grad.reshape(4, -1).abs().sum(dim=1).ne(0).tolist() == [True, False, True, False]


@pytest.mark.parametrize("is_searched", [False, True])
@pytest.mark.parametrize("term", list(SHARES))
def test_the_gradient_of_every_term_grows_with_the_weight(term: str, is_searched: bool) -> None:
    wanted = targets()
    if is_searched:
        wanted = wanted._replace(policy=torch.rand(4, 5, dtype=torch.float64).softmax(dim=1))
    output = {"policy": "logits"}.get(term, term)
    gradients = []
    for weights in ([1.0, 1.0, 1.0, 1.0], [3.0, 0.5, 1.0, 0.0]):
        made = outputs()
        alone = {name: float(name == term) for name in SHARES}
        total_loss(sample_losses(made, wanted), torch.tensor(weights, dtype=torch.float64), alone).backward()
        for name, leaf in made._asdict().items():
            assert (leaf.grad.abs().max() > 0) == (name == output)
        gradients.append(getattr(made, output).grad.reshape(4, -1))
    factors = torch.tensor([3.0, 0.5, 1.0, 0.0], dtype=torch.float64)[:, None]
    assert torch.allclose(gradients[1], factors * gradients[0], atol=0, rtol=1e-12)


def test_weight_two_is_the_sample_twice() -> None:
    made, wanted = outputs(), targets()
    weights = torch.tensor([2.0, 1, 1, 1], dtype=torch.float64)
    weighted = total_loss(sample_losses(made, wanted), weights, SHARES) * 4
    index = torch.tensor([0, 0, 1, 2, 3])
    twice = total_loss(sample_losses(rows(made, index), rows(wanted, index)), torch.ones(5), SHARES) * 5
    assert weighted.item() == pytest.approx(twice.item(), abs=1e-12)  # another order of summation


def test_one_hot_visits_equal_the_action() -> None:
    made, wanted = outputs(), targets()
    visited = wanted._replace(policy=PolicyTargets.of(wanted.actions))
    by_action, by_visits = sample_losses(made, wanted), sample_losses(made, visited)
    assert torch.allclose(by_action.policy, by_visits.policy, atol=1e-12, rtol=0)
    assert (by_action.correct == by_visits.correct).all()


def drawn_targets(num_actions: int, num: int, generator: torch.Generator) -> PolicyTargets:
    """Returns rows of one to six actions."""
    counts = torch.randint(1, 7, (num,), generator=generator)
    actions = [torch.randperm(num_actions, generator=generator)[:count] for count in counts]
    shares = [torch.softmax(torch.randn(int(count), generator=generator), 0) for count in counts]
    return PolicyTargets(
        torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)]), *map(torch.cat, (actions, shares))
    )


@pytest.mark.parametrize("is_searched", [False, True], ids=["played", "searched"])
@pytest.mark.parametrize("num_actions", [6, 4864])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_native_cross_entropy_is_that_of_pytorch(dtype: torch.dtype, num_actions: int, is_searched: bool) -> None:
    generator = torch.Generator().manual_seed(3)
    # As a network hands them over: cells of planes whose channels lie next to one another.
    drawn = 3 * torch.randn(num_actions, 32, generator=generator).t()
    logits = drawn.to(dtype).requires_grad_(True)
    exact = logits.detach().double().requires_grad_(True)
    actions = torch.randint(num_actions, (64,), generator=generator)[::2]
    targets = drawn_targets(num_actions, 32, generator) if is_searched else actions
    factors = torch.rand(32, generator=generator)
    found, wanted = policy_loss(logits, targets), policy_loss(exact, targets)
    assert torch.allclose(found.losses.double(), wanted.losses, atol=2e-6, rtol=1e-6)
    assert found.best.tolist() == exact.argmax(dim=1).tolist()
    assert found.wanted.tolist() == wanted.wanted.tolist()
    (found.losses * factors).sum().backward()
    (wanted.losses * factors).sum().backward()
    assert logits.grad is not None
    assert exact.grad is not None
    assert logits.grad.dtype == dtype
    rounding = 1e-5 if dtype is torch.float32 else 2**-8
    assert torch.allclose(logits.grad.double(), exact.grad, atol=2e-6, rtol=rounding)


def test_the_first_of_equally_many_visits_is_wanted() -> None:
    targets = PolicyTargets(
        torch.tensor([0, 3, 5]), torch.tensor([4, 1, 2, 3, 0]), torch.tensor([0.4, 0.4, 0.2, 0.5, 0.5])
    )
    for dtype in (torch.float32, torch.float64):
        assert policy_loss(torch.zeros(2, 5, dtype=dtype), targets).wanted.tolist() == [1, 0]


def test_logits_that_the_core_does_not_know_are_those_of_pytorch() -> None:
    logits = torch.tensor([[0.5, 2.0, 1.0]])
    known = policy_loss(logits, torch.tensor([1]))
    for dtype in (torch.float16, torch.float64):
        found = policy_loss(logits.to(dtype), torch.tensor([1]))
        assert found.losses.item() == pytest.approx(known.losses.item(), rel=1e-6)
        assert found.best.tolist() == known.best.tolist()


def test_an_action_that_there_is_none_of_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected actions below 3, got 3"):
        policy_loss(torch.zeros(1, 3), torch.tensor([3]))


def test_losses_are_those_of_the_papers() -> None:
    made, wanted = outputs(), targets()
    losses, each = sample_losses(made, wanted), torch.arange(4)
    assert made.wdl is not None
    assert made.plies is not None
    assert losses.wdl is not None
    assert losses.plies is not None
    # As in QueensGambit/CrazyAra: the label of win, draw, loss is the result plus one; plies are cut at 100.
    label = (wanted.returns[:, 0] + 1).long()
    exact = {"atol": 1e-12, "rtol": 0}
    assert torch.allclose(losses.policy, -torch.softmax(made.logits, 1)[each, wanted.actions].log(), **exact)
    assert torch.allclose(losses.value, (made.value - wanted.returns[:, 0]) ** 2, **exact)
    assert torch.allclose(losses.wdl, -torch.softmax(made.wdl, 1)[each, label].log(), **exact)
    share = torch.tensor([0.0, 0.3, 1.0, 1.0], dtype=torch.float64)
    assert torch.allclose(losses.plies, (made.plies - share) ** 2, atol=1e-7, rtol=0)  # float32 shares
    total = 0.988 * losses.policy + 0.01 * losses.value + 0.01 * losses.wdl + 0.002 * losses.plies
    assert torch.allclose(total_loss(losses, torch.ones(4), SHARES), total.mean(), **exact)


def test_terms_without_outputs_are_left_out() -> None:
    logits, value, *_ = outputs()
    losses = sample_losses(Outputs(logits, value), targets())
    assert list(losses.terms()) == ["policy", "value"]
    expected = (0.988 * losses.policy + 0.01 * losses.value).mean()
    assert total_loss(losses, torch.ones(4), SHARES).item() == pytest.approx(expected.item(), abs=1e-12)


def test_vectors_are_measured_on_all_players() -> None:
    made, wanted = outputs(players=3), targets(players=3)
    losses = sample_losses(made, wanted)
    assert made.wdl is not None
    assert losses.wdl is not None
    assert torch.allclose(losses.value, ((made.value - wanted.returns) ** 2).mean(dim=1), atol=1e-12, rtol=0)
    for player in range(3):
        column = Targets(wanted.actions, None, wanted.returns[:, player:], wanted.plies_to_end)
        alone = sample_losses(Outputs(made.logits, made.value[:, player], made.wdl[:, player]), column)
        assert alone.wdl is not None
        losses = Losses(*losses[:3], losses.wdl - alone.wdl / 3)
        assert losses.wdl is not None
    assert torch.allclose(losses.wdl, torch.zeros(4, dtype=torch.float64), atol=1e-12, rtol=0)


def test_shared_or_partial_wins_count_as_wins() -> None:
    made = outputs(3)._replace(wdl=torch.tensor([[0.0, 0.0, 90.0], [0.0, 90.0, 0.0], [90.0, 0.0, 0.0]]).double())
    wanted = targets(3)._replace(returns=torch.tensor([[1 / 3], [0.0], [-0.2]]).double())
    assert sample_losses(made, wanted).wdl.abs().max() < 1e-9  # type: ignore[union-attr]


def test_the_value_is_the_chance_of_a_win_less_that_of_a_loss() -> None:
    chances = torch.tensor([[0.2, 0.5, 0.3], [0.7, 0.2, 0.1]], dtype=torch.float64)
    assert torch.allclose(value_of(chances.log()), torch.tensor([0.1, -0.6], dtype=torch.float64), atol=1e-12, rtol=0)


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
        schedule_values("one_cycle", step, num_steps, learning_rate=rate, momentum=0.95, min_momentum=0.8)
        for step in range(num_steps)
    ]
    for p in paces:
        share = (p.learning_rate - FINAL * rate) / (rate - FINAL * rate)
        assert p.momentum == pytest.approx(0.95 - 0.15 * share)
        assert 0 < p.learning_rate <= rate * (1 + 1e-9)


def test_constant_is_constant() -> None:
    paces = {
        schedule_values("constant", step, 9, learning_rate=0.1, momentum=0.9, min_momentum=0.8) for step in range(9)
    }
    assert paces == {(0.1, 0.9)}
