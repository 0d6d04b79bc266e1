"""The Gumbel root: the native one is the definition's, and its policy is better than the priors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from games_for_tests import HashedTree, NativeConnectFour, NativeTicTacToe
from hypothesis import given, settings
from hypothesis import strategies as st
from searching_for_tests import native_results, searched_alike, varied_trees

from moemcts.agents import Seat
from moemcts.evaluation import Evaluation, UniformEvaluator
from moemcts.game import Views
from moemcts.search import Search, SearchAgent, SearchConfig
from moemcts.search.gumbel import GumbelRoot, best, considered_visits, improved, logits

PLAIN = GumbelRoot(considered=16, visit_offset=50.0, value_scale=1.0, noise=1.0)
configs = st.builds(
    SearchConfig,
    root=st.just("gumbel"),
    simulations=st.integers(1, 60),
    considered_actions=st.sampled_from([1, 2, 3, 4, 16]),
    gumbel_noise=st.sampled_from([0.0, 1.0]),
    visit_offset=st.sampled_from([0.0, 50.0]),
    value_scale=st.sampled_from([0.1, 1.0]),
    first_play_urgency=st.sampled_from(["loss", "parent"]),
    virtual_loss=st.sampled_from([0.0, 1.0]),
    leaves_per_tree=st.sampled_from([1, 3]),
)


@settings(max_examples=120, deadline=None)
@given(varied_trees, configs, st.integers(0, 2**63))
def test_native_visits_are_those_of_the_definition(rules, config, seed):  # type: ignore[no-untyped-def]
    _, player, _, expected, result = searched_alike(HashedTree(rules), config, seed)
    assert result.num_nodes == expected.num_nodes
    seat = next(seat for seat in expected.root.seats if seat.player == player)
    value = float(expected.root.values[player])
    found = logits(config.gumbel, seat.visits, seat.value_sums, seat.priors, value)  # type: ignore[arg-type]
    noise, _ = expected.plans[player]
    assert np.array_equal(result.improved, improved(found))
    assert result.chosen == seat.actions[best(noise, found, seat.visits, [True] * len(noise))]


@settings(max_examples=40, deadline=None)
@given(configs, st.integers(0, 2**63))
def test_with_the_solver_too_it_is_the_definition(config, seed):  # type: ignore[no-untyped-def]
    game = NativeConnectFour()
    root = game.parse_state("3 2 3 2 4 2")
    searched_alike(game, config.model_copy(update={"solver": True}), seed, root=root)


def test_actions_with_a_proof_enter_the_improved_policy_with_its_result() -> None:
    game = NativeTicTacToe()
    config = SearchConfig(root="gumbel", simulations=400, value_scale=1.0, solver=True, gumbel_noise=0.0)
    # Two moves are proven to draw, after playouts of theirs that did not.
    root = game.parse_state("7 4")
    (result,) = native_results(game, [(root, 0)], config, UniformEvaluator(game.spec), [3])
    assert result.proven.sum() == 2
    drawn = result.improved[result.proven]  # type: ignore[index]
    assert config.gumbel is not None
    scale = config.gumbel.value_scale * (config.gumbel.visit_offset + result.visits.max())
    others = [0.5 * scale * float(value) for value in result.values[~result.proven]]
    assert drawn == pytest.approx(1 / (2 + sum(math.exp(value) for value in others)))


@pytest.mark.parametrize(
    ("num_considered", "simulations", "expected"),
    [(1, 4, [0, 1, 2, 3]), (2, 5, [0, 0, 1, 1, 2]), (4, 8, [0, 0, 0, 0, 1, 1, 2, 2]), (16, 3, [0, 0, 0])],
)
def test_half_of_the_actions_are_dropped_again_and_again(
    num_considered: int, simulations: int, expected: list[int]
) -> None:
    assert considered_visits(num_considered, simulations) == expected


@given(
    st.lists(st.tuples(st.integers(0, 20), st.floats(-1, 1), st.floats(0.01, 1)), min_size=2, max_size=30),
    st.floats(-1, 1),
)
def test_the_improved_policy_is_worth_more_than_the_priors_if_values_are_exact(
    actions: list[tuple[int, float, float]], evaluation: float
) -> None:
    """Values count where they were found: tried actions are worth what was found, all others their mixed value."""
    visits, values = [n for n, _, _ in actions], [q for _, q, _ in actions]
    priors = np.array([prior for _, _, prior in actions]) / sum(prior for _, _, prior in actions)
    sums = [n * q for n, q in zip(visits, values, strict=True)]
    found = logits(PLAIN, visits, sums, priors.tolist(), evaluation)
    policy = improved(found)
    scale = (PLAIN.visit_offset + max(visits)) * PLAIN.value_scale
    completed = 2 * (np.array(found) - np.log(priors)) / scale - 1
    assert policy @ completed >= priors @ completed - 1e-5


class PriorsOnly:
    """Fixed priors, and values that belong to the first moves of connect four."""

    def __init__(self, priors: list[float], values: list[float]) -> None:
        self.logits, self.values = np.log(priors, dtype=np.float32), values

    def evaluate(self, views: Views) -> Evaluation:
        states = [views[row].state for row in range(len(views))]
        value = [0.0 if not state.ply else -self.values[first_column(state)] for state in states]
        return Evaluation(np.tile(self.logits, (len(views), 1)), np.array(value, dtype=np.float32))


def first_column(state: object) -> int:
    (row,) = np.nonzero(state.observation(1)[1, 0])  # type: ignore[attr-defined]
    return int(row[0])


def test_few_simulations_improve_the_policy_on_average() -> None:
    """With 2 simulations for 7 actions, in 2,000 searches; the priors' own value is 0.1, a standard error 0.01.

    The values are those of the first moves, so that a search of two descents sees two of them exactly.
    """
    values = [0.6, -0.4, 0.3, 0.1, -0.2, 0.5, -0.2]
    game = NativeConnectFour()
    evaluator = PriorsOnly([1 / 7] * 7, values)
    config = SearchConfig(root="gumbel", simulations=2)
    root = game.initial_state()
    results = native_results(game, [(root, 0)] * 2000, config, evaluator, list(range(2000)))
    assert np.mean([values[result.best_action] for result in results]) > 0.1 + 0.1
    mean = [result.policy(7) @ values for result in results]
    assert np.mean(mean) > 0.1 + 0.05


def test_without_simulations_to_spare_the_choice_is_drawn_from_the_priors() -> None:
    """One simulation of 2,000 searches: the action with the largest noise and prior is drawn as the priors say."""
    priors = [0.4, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05]
    game = NativeConnectFour()
    evaluator = PriorsOnly(priors, [0.0] * 7)
    config = SearchConfig(root="gumbel", simulations=1)
    results = native_results(game, [(game.initial_state(), 0)] * 2000, config, evaluator, list(range(2000)))
    shares = np.bincount([result.best_action for result in results], minlength=7) / 2000
    # Four standard errors of a share of 0.4.
    assert np.abs(shares - priors).max() < 4 * math.sqrt(0.4 * 0.6 / 2000)


def test_an_agent_learns_from_the_improved_policy_and_plays_what_is_left() -> None:
    game = NativeConnectFour()
    config = SearchConfig(root="gumbel", simulations=16)
    agent = SearchAgent(game, UniformEvaluator(game.spec), config)
    views = game.views([(game.parse_state("0 1 0 1 0 1"), 0)])
    (decision,) = agent.act(views, [Seat(0, np.random.default_rng(0))])
    assert decision.action == 0
    assert decision.policy is not None
    assert decision.policy.shares.sum() == pytest.approx(1, abs=1e-6)
    assert len(decision.policy.actions) == 7
    assert decision.policy.actions[decision.policy.shares.argmax()] == 0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"simulations": None, "seconds": 1.0}, "expected simulations with root=gumbel, .*; or set root=puct"),
        (
            {"noise_fraction": 0.25},
            "expected no noise_fraction with root=gumbel, .*, got .*; set noise_fraction=0.0 or root=puct",
        ),
        ({"reuse": True}, "expected no reuse with root=gumbel"),
        ({"q_veto_delta": 0.4}, "expected no q_veto_delta with root=gumbel, .*, got q_veto_delta=0.4"),
        ({"q_value_weight": 1.0}, "expected no q_value_weight with root=gumbel, .*, got q_value_weight=1.0"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, object], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        SearchConfig(root="gumbel", **options)  # type: ignore[arg-type]


def test_files_of_configurations_stay_as_they_were() -> None:
    assert not {"root", "considered_actions", "gumbel_noise"} & set(SearchConfig().model_dump())
    again = SearchConfig.model_validate(SearchConfig(root="gumbel", considered_actions=4).model_dump())
    assert again.gumbel == GumbelRoot(considered=4, visit_offset=50.0, value_scale=1.0, noise=1.0)


def test_more_simulations_than_planned_go_to_the_best_action() -> None:
    game = NativeConnectFour()
    search = Search(game, SearchConfig(root="gumbel", simulations=8))
    search.reset(game.views([(game.initial_state(), 0)]), [0])
    search.run(UniformEvaluator(game.spec))
    search.limit(20)
    (result,) = search.run(UniformEvaluator(game.spec))
    assert result.visits.sum() == 20
