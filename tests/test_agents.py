"""A decision is a value that says what was known."""

from __future__ import annotations

import numpy as np
import pytest
from games_for_tests import NativeTicTacToe

from moemcts.agents import Decision, Policy, PolicyAgent, RandomAgent, Seat
from moemcts.evaluation import UniformEvaluator
from moemcts.game import Views
from moemcts.search import SearchAgent, SearchConfig
from moemcts.search.playouts import PlayoutAgent

GAME = NativeTicTacToe()


def views() -> Views:
    return GAME.views([(GAME.parse_state("0 4"), 0), (GAME.parse_state("0 4 8"), 1)])


def seats() -> list[Seat]:
    return [Seat(player, np.random.default_rng(player)) for player in (0, 1)]


def test_a_search_hands_on_the_shares_of_its_visits() -> None:
    agent = SearchAgent(GAME, UniformEvaluator(GAME.spec), SearchConfig(simulations=40))
    results, decisions = agent.search(views(), seats()), agent.act(views(), seats())
    for result, decision in zip(results, decisions, strict=True):
        assert decision.policy is not None
        assert decision.policy.shares.sum() == pytest.approx(1)
        shares = dict(zip(decision.policy.actions.tolist(), decision.policy.shares.tolist(), strict=True))
        total = result.visits.sum()
        visited = zip(result.actions.tolist(), result.visits.tolist(), strict=True)
        assert shares == {action: pytest.approx(count / total) for action, count in visited if count}
        assert decision.simulations == 40


def test_agents_that_weigh_nothing_recommend_nothing() -> None:
    flat = PlayoutAgent(GAME, playouts=40, depth=1)
    uct = PlayoutAgent(GAME, playouts=40, exploration=1.4)
    assert all(one.policy is None for one in [*RandomAgent().act(views(), seats()), *flat.act(views(), seats())])
    assert all(one.policy is not None and one.value is not None for one in uct.act(views(), seats()))


def test_a_policy_has_legal_actions_only() -> None:
    agent = PolicyAgent(UniformEvaluator(GAME.spec))
    for row, decision in enumerate(agent.act(views(), seats())):
        assert decision.policy is not None
        assert decision.policy.actions.tolist() == np.flatnonzero(views().legal_mask()[row]).tolist()


def test_a_decision_is_a_value() -> None:
    policy = Policy(np.array([1]), np.array([1.0], dtype=np.float32))
    assert Decision(action=1, policy=policy, value=0.5) == Decision(action=1, value=0.5)
    with pytest.raises(AttributeError):
        Decision(action=1).action = 2  # type: ignore[misc]
