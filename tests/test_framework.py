"""Gates, expert sets, evaluators, agents and names behave as their docstrings say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from games_for_tests import HashedTree, NativeConnectFour, TreeGame
from hypothesis import given
from hypothesis import strategies as st

from moemcts.agents import PolicyAgent, RandomAgent, Seat, choose, tempered
from moemcts.errors import UsageError, unknown_name
from moemcts.evaluation import (
    CachedEvaluator,
    Evaluation,
    Evaluator,
    RolloutEvaluator,
    UniformEvaluator,
    is_batch_dependent,
    policy_probabilities,
)
from moemcts.experts import EACH, MAJORITY, MIXTURE, ExpertSet, Routing, route_mixture
from moemcts.game import FloatArray, Game, Packed, Views
from moemcts.gates import PlyGate, RoundRobinGate, SinglePhase
from moemcts.plugins import plugins
from moemcts.references import format_reference, parse_reference
from moemcts.search import SearchAgent, SearchConfig
from moemcts.search.rollouts import TruncatedRollouts
from moemcts.testing import check_agent, check_evaluator, check_game, check_gate


class Constant:
    """Returns the same logits and value for every view, and counts the views."""

    def __init__(self, number: float, num_actions: int = 7) -> None:
        self.number, self.num_actions, self.num_views = number, num_actions, 0

    def evaluate(self, views: Views) -> Evaluation:
        self.num_views += len(views)
        size = len(views)
        return Evaluation(
            np.full((size, self.num_actions), self.number, np.float32), np.full(size, self.number, np.float32)
        )


def some_views(*moves: str):  # type: ignore[no-untyped-def]
    game = NativeConnectFour()
    states = [game.parse_state(text) for text in moves]
    return game.views([(state, state.active_players[0]) for state in states])


OPENING, MIDDLE, LATE = "", "0 1 2", "0 1 2 3 4 5"


def test_cuts_are_the_first_ply_of_the_next_phase() -> None:
    gate = PlyGate([3, 6], ["a", "b", "c"])
    assert list(gate.phases(some_views("", "0 1", "0 1 2", "0 1 2 3 4", "0 1 2 3 4 5"))) == [0, 0, 1, 1, 2]
    assert gate.weights(some_views(MIDDLE)).tolist() == [[0, 1, 0]]


def test_plies_are_cut_where_games_are_though_they_could_last_much_longer() -> None:
    game = plugins().game("tictactoe")
    assert plugins().gate("plies", game).cuts == (3, 6)  # type: ignore[attr-defined]
    game.spec = replace(game.spec, max_plies=300)
    first, second = plugins().gate("plies", game).cuts  # type: ignore[attr-defined]
    assert 1 <= first < second < 6


def test_a_control_gives_each_ply_to_another_phase() -> None:
    gate = plugins().gate("round-robin?phases=4", plugins().game("tictactoe"))
    assert (gate.name, gate.phase_names) == ("round-robin", ("turn 0", "turn 1", "turn 2", "turn 3"))
    assert list(RoundRobinGate().phases(some_views("", "0", "0 1", "0 1 2", "0 1 2 3"))) == [0, 1, 2, 0, 1]
    with pytest.raises(ValueError, match="expected at least 2 phases, got 1"):
        RoundRobinGate(1)


@pytest.mark.parametrize(("cuts", "names"), [([], []), ([5, 5], []), ([6, 3], []), ([3], ["only one"])])
def test_cuts_that_make_no_phases_are_refused(cuts: list[int], names: list[str]) -> None:
    with pytest.raises(ValueError, match="expected"):
        PlyGate(cuts, names)


def test_an_expert_set_has_one_expert_per_phase() -> None:
    with pytest.raises(ValueError, match="expected 3 experts, one per phase of the gate, got 2"):
        ExpertSet(PlyGate([3, 6]), [Constant(0), Constant(1)])


def test_each_view_is_evaluated_by_the_expert_of_its_phase() -> None:
    experts = [Constant(0.0), Constant(0.1), Constant(0.2)]
    team = ExpertSet(PlyGate([3, 6]), experts, routing=EACH)
    evaluation = team.evaluate(some_views(LATE, OPENING, MIDDLE, OPENING))
    assert evaluation.value.tolist() == pytest.approx([0.2, 0.0, 0.1, 0.0])
    assert [expert.num_views for expert in experts] == [2, 1, 1]


def test_the_majority_decides_for_all_and_ties_go_to_the_earlier_phase() -> None:
    team = ExpertSet(PlyGate([3, 6]), [Constant(0.0), Constant(0.1), Constant(0.2)], routing=MAJORITY)
    assert team.evaluate(some_views(LATE, OPENING, LATE)).value.tolist() == pytest.approx([0.2] * 3)
    assert team.evaluate(some_views(LATE, MIDDLE)).value.tolist() == pytest.approx([0.1] * 2)


def test_a_routing_of_ones_own_says_what_follows_from_it() -> None:
    def route_last(views: Views, weights: FloatArray, experts: Sequence[Evaluator]) -> Evaluation:
        return experts[int(weights.argmax(axis=1).max())].evaluate(views)

    experts = [Constant(0.0), Constant(0.1), Constant(0.2)]
    team = ExpertSet(PlyGate([3, 6]), experts, routing=Routing(name="last", route=route_last, is_batch_dependent=True))
    assert is_batch_dependent(team)
    assert team.evaluate(some_views(MIDDLE, OPENING)).value.tolist() == pytest.approx([0.1, 0.1])
    with pytest.raises(ValueError, match="each or stacked, with a queue, got last"):
        SearchAgent(NativeConnectFour(), team, SearchConfig(simulations=4), queue=8)
    one = ExpertSet(SinglePhase(), [team])
    assert is_batch_dependent(one), "what experts depend on, the set of them does"


def test_a_mixture_is_convex_in_probabilities_and_values() -> None:
    class Soft(PlyGate):
        def weights(self, views):  # type: ignore[no-untyped-def,misc]
            return np.tile(np.array([[0.25, 0.75]], np.float32), (len(views), 1))

    class Sure:
        def __init__(self, action: int, value: float) -> None:
            self.action, self.value = action, value

        def evaluate(self, views: Views) -> Evaluation:
            logits = np.zeros((len(views), 7), np.float32)
            logits[:, self.action] = 50
            return Evaluation(logits, np.full(len(views), self.value, np.float32))

    views = some_views(OPENING, MIDDLE)
    evaluation = ExpertSet(Soft([3]), [Sure(2, 1.0), Sure(5, -1.0)], routing=MIXTURE).evaluate(views)
    probabilities = policy_probabilities(evaluation.logits, views.legal_mask())
    assert probabilities[:, 2] == pytest.approx([0.25, 0.25], abs=1e-5)
    assert probabilities[:, 5] == pytest.approx([0.75, 0.75], abs=1e-5)
    assert evaluation.value == pytest.approx([-0.5, -0.5])


@pytest.mark.parametrize("row", [[0.25, 0.7], [1.5, -0.5], [np.nan, 1.0]])
def test_a_mixture_refuses_weights_that_are_not_convex(row: list[float]) -> None:
    weights = np.array([[0.5, 0.5], row], np.float32)
    with pytest.raises(ValueError, match=f"expected phase weights .* got {row[0]:g}, {row[1]:g}$"):
        route_mixture(some_views(OPENING, MIDDLE), weights, [Constant(0.3), Constant(-0.2)])


@pytest.mark.parametrize("routing", [EACH, MIXTURE])
def test_experts_of_one_set_value_the_same_players(routing: Routing) -> None:
    class Both:
        def evaluate(self, views: Views) -> Evaluation:
            value = np.tile(np.array([0.5, -0.5], np.float32), (len(views), 1))
            return Evaluation(np.zeros((len(views), 7), np.float32), value)

    team = ExpertSet(PlyGate([3]), [Both(), Constant(0.1)], routing=routing)
    with pytest.raises(ValueError, match=r"values of one shape, \[N\] or \[N, P\], got \(2, 2\) and \(1,\)"):
        team.evaluate(some_views(OPENING, LATE))


def test_hard_weights_mix_to_what_each_expert_says() -> None:
    experts = [Constant(0.3), Constant(-0.2), Constant(0.9)]
    views = some_views(OPENING, MIDDLE, LATE)
    mixed = ExpertSet(PlyGate([3, 6]), experts, routing=MIXTURE).evaluate(views)
    routed = ExpertSet(PlyGate([3, 6]), experts).evaluate(views)
    assert mixed.value == pytest.approx(routed.value)
    legal = views.legal_mask()
    assert policy_probabilities(mixed.logits, legal) == pytest.approx(policy_probabilities(routed.logits, legal))


def test_a_cache_asks_once_for_each_view() -> None:
    inner = Constant(0.5)
    cache = CachedEvaluator(inner, size=2)
    first = cache.evaluate(some_views(OPENING, MIDDLE, OPENING))
    assert inner.num_views == 2
    again = cache.evaluate(some_views(MIDDLE, OPENING))
    assert inner.num_views == 2
    assert first.value[1] == again.value[0]
    cache.evaluate(some_views(LATE))
    cache.evaluate(some_views(MIDDLE, LATE))
    assert inner.num_views == 3
    cache.evaluate(some_views(OPENING))
    assert inner.num_views == 4
    assert (cache.hits, cache.misses) == (5, 4)


RULES = TreeGame(seed=1, num_players=3, branching=2, depth=3, simultaneous=False)


def cached(game: Game, inner: Evaluator) -> Evaluator:
    return CachedEvaluator(inner, size=3)


def rolled_out(game: Game, inner: Evaluator) -> Evaluator:
    return TruncatedRollouts(game, inner, 2)


@pytest.mark.parametrize("game", [NativeConnectFour(), HashedTree(RULES)])
@pytest.mark.parametrize("wrapping", [cached, rolled_out])
@pytest.mark.parametrize("kind", [UniformEvaluator, RolloutEvaluator])
def test_of_no_views_nothing_is_said(game: Game, wrapping: Any, kind: Any) -> None:
    wrapped = wrapping(game, kind(game.spec))
    views = game.views([(game.initial_state(), 0)])
    for batch in (views.take([]), views, views.take([])):
        answer = wrapped.evaluate(batch)
        own = kind(game.spec).evaluate(batch)
        assert answer.logits.shape == own.logits.shape
        assert answer.value.shape == own.value.shape


def test_rollouts_depend_on_position_and_seed_only() -> None:
    game = NativeConnectFour()
    views = some_views(OPENING, MIDDLE, LATE)
    values = RolloutEvaluator(game.spec, num_rollouts=3, seed=4).evaluate(views).value
    again = RolloutEvaluator(game.spec, num_rollouts=3, seed=4).evaluate(views.take([2, 0])).value
    assert values.shape == (3, 2)
    assert values[[2, 0]].tolist() == again.tolist()
    assert values.sum(axis=1).tolist() == [0, 0, 0]


def test_probabilities_are_zero_where_nothing_is_legal() -> None:
    logits = np.array([[1, 2, 3], [1, 2, 3]], np.float32)
    mask = np.array([[True, False, True], [False, False, False]])
    probabilities = policy_probabilities(logits, mask)
    assert probabilities[0].sum() == pytest.approx(1)
    assert probabilities[0, 1] == 0
    assert probabilities[1].tolist() == [0, 0, 0]


def test_temperature_zero_takes_the_first_of_the_largest() -> None:
    rng = np.random.default_rng(0)
    assert choose(np.array([1, 5, 5]), 0.0, rng) == 1
    drawn = [choose(np.array([1, 3, 0]), 1.0, rng) for _ in range(4000)]
    assert drawn.count(2) == 0
    # 4,000 draws of probability 3/4: four standard errors are 0.027.
    assert drawn.count(1) / 4000 == pytest.approx(0.75, abs=0.027)
    with pytest.raises(ValueError, match="positive weight"):
        choose(np.zeros(3), 1.0, rng)


@pytest.mark.parametrize("temperature", [0.1, 1.0, 2.5])
def test_draws_are_those_of_numpy(temperature: float) -> None:
    weights = np.random.default_rng(0).integers(0, 20, (500, 30))
    ours, numpys = np.random.default_rng(1), np.random.default_rng(1)
    for row in weights:
        assert choose(row, temperature, ours) == numpys.choice(30, p=tempered(row, temperature))
    assert ours.bit_generator.state == numpys.bit_generator.state


@pytest.mark.parametrize("weight", [-1.0, np.inf, np.nan])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_what_is_no_weight_is_not_drawn_from(weight: float) -> None:
    with pytest.raises(
        ValueError, match=r"expected (at least one positive weight|finite weights, none of them negative), got"
    ):
        choose(np.array([weight, 3.0]), 1.0, np.random.default_rng(0))


def test_agents_play_legally() -> None:
    game = NativeConnectFour()
    check_agent(RandomAgent(), game)
    check_agent(PolicyAgent(UniformEvaluator(game.spec), temperature=1.0), game)


def test_an_agents_choice_depends_on_its_seat_only() -> None:
    views = some_views(*[OPENING] * 5)
    alone = RandomAgent().act(views.take([0]), [Seat(0, np.random.default_rng(3))])
    seats = [Seat(0, np.random.default_rng(i)) for i in range(5)]
    assert RandomAgent().act(views, seats)[3] == alone[0]


def test_games_gates_and_evaluators_that_keep_the_laws_pass() -> None:
    for rules in (TreeGame(1, 3, 4, 5, True), TreeGame(2, 2, 3, 6, False), TreeGame(3, 1, 3, 4, False)):
        game = HashedTree(rules)
        assert len(check_game(game)) > 10
        check_gate(PlyGate([2, 4]), game)
        check_gate(SinglePhase(), game)
        check_gate(RoundRobinGate(), game)
        check_evaluator(UniformEvaluator(game.spec), game)
        check_evaluator(RolloutEvaluator(game.spec), game)


@given(st.lists(st.binary(max_size=5), min_size=1, max_size=20), st.data())
def test_packed_rows_are_taken_in_any_order(rows: list[bytes], data: st.DataObject) -> None:
    packed = Packed.of(rows)
    order = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=30))
    taken = packed.take(np.array(order, dtype=np.int64))
    assert len(taken) == len(order)
    found = [bytes(taken.data[a:b]) for a, b in zip(taken.offsets[:-1], taken.offsets[1:], strict=True)]
    assert found == [rows[i] for i in order]


values = st.integers(-1000, 1000) | st.booleans() | st.sampled_from(["word", "PommeFFA-v1", "a.b"])


@given(st.dictionaries(st.sampled_from(["cuts", "a", "long_name"]), values | st.lists(values, min_size=1, max_size=4)))
def test_references_survive_parse_of_format(options: dict[str, object]) -> None:
    assert parse_reference(format_reference("gate", options)) == ("gate", options)


def test_an_option_without_a_value_is_refused() -> None:
    with pytest.raises(UsageError, match="expected option=value"):
        parse_reference("steps?cuts")


def test_unknown_names_come_with_the_nearest_one() -> None:
    error = unknown_name("gate", "step", ["steps", "mixedness", "none"])
    assert str(error) == "no gate named 'step'; did you mean 'steps'? (steps, mixedness, none)"
    error = unknown_name("gate", "x", ["steps", "mixedness"])
    assert str(error) == "no gate named 'x'; expected one of steps, mixedness"
    assert "did you mean" not in str(unknown_name("gate", "zzz", ["steps"]))


def test_networks_value_every_player_where_nobody_answers_for_the_others() -> None:
    class Crowd(NativeConnectFour):
        spec = replace(NativeConnectFour.spec, name="crowd", num_players=3, utility_sum=None)

    complete = plugins().complete_network
    assert complete("resnet?blocks=2", Crowd()) == "resnet?blocks=2&num_values=3"
    assert complete("resnet?num_values=1", Crowd()) == "resnet?num_values=1"
    assert complete("resnet", NativeConnectFour()) == "resnet"
    # The simple agents answer for the others, as in the papers: the value of one player is enough.
    assert complete("rise-tiny", plugins().game("pommerman")) == "rise-tiny"
    # Who is said to answer, or nobody, takes the place of a game's default agent.
    assert complete("rise-tiny", plugins().game("pommerman"), faced="") == "rise-tiny?num_values=4"
    assert complete("resnet", Crowd(), faced="random") == "resnet"
    assert complete("rezise-tiny", Crowd()) == "rezise-tiny"  # making it says that there is none
