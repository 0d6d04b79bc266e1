"""Groups of trees in flight find what one group finds."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from moemcts.agents import Agent, Decision, PolicyAgent, Seat
from moemcts.coroutines import Coroutine, CoroutineRunner
from moemcts.evaluation import Evaluation, RolloutEvaluator, UniformEvaluator
from moemcts.experts import MAJORITY, ROUTINGS, ExpertSet
from moemcts.game import FloatArray, Game, Views
from moemcts.gates import PhaseGate, PlyGate, SinglePhase
from moemcts.plugins import plugins
from moemcts.search import SearchAgent, SearchConfig


def decisions(agent: SearchAgent, views: Views, seats: Sequence[Seat], num_groups: int) -> list[Decision]:
    """Returns what an agent decides about views that it is asked about in groups, one while another is evaluated."""
    bounds = np.linspace(0, len(seats), min(num_groups, len(seats)) + 1).astype(int).tolist()
    with CoroutineRunner[int, Sequence[Decision]]() as runner:
        for start, stop in itertools.pairwise(bounds):
            runner.start(start, agent.act_coroutine(views.take(range(start, stop)), seats[start:stop]))
        found = dict(runner.next_result() for _ in bounds[1:])
    return [decision for start in bounds[:-1] for decision in found[start]]


def play(game: Game, in_flight: int, *, num: int, reuse: bool = False, opponents: Any = None) -> list[Decision]:
    """Returns what an agent decides in the first rounds of some games."""
    config = SearchConfig(simulations=24, leaves_per_tree=3, noise_fraction=0.2, reuse=reuse)
    # An evaluation of random playouts depends on its row alone, to the last bit.
    agent = SearchAgent(game, RolloutEvaluator(game.spec), config, opponents=opponents)
    states = [game.initial_state(number) for number in range(num)]
    seats = [Seat(state.active_players[0], np.random.default_rng(number)) for number, state in enumerate(states)]
    found: list[Decision] = []
    for _ in range(2):
        views = game.views([(state, state.active_players[0]) for state in states])
        decided = decisions(agent, views, seats, in_flight)
        found += decided
        states = [
            state.play([decision.action, *(state.legal_actions(player)[0] for player in state.active_players[1:])])
            for state, decision in zip(states, decided, strict=True)
        ]
        seats = [
            Seat(state.active_players[0], seat.rng, seat.memory) for seat, state in zip(seats, states, strict=True)
        ]
    return found


@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize(("name", "opponents"), [("tictactoe", None), ("antichess", None), ("pommerman", "simple")])
def test_results_do_not_depend_on_how_many_groups_are_in_flight(name: str, opponents: str | None, reuse: bool) -> None:
    game = plugins().game(name)
    model = None if opponents is None else plugins().agent(opponents, game)
    expected = play(game, 1, num=5, reuse=reuse, opponents=model)
    for in_flight in (2, 3, 8):
        found = play(game, in_flight, num=5, reuse=reuse, opponents=model)
        for ours, theirs in zip(found, expected, strict=True):
            assert (ours.action, ours.value, ours.nodes, ours.depth) == (
                theirs.action,
                theirs.value,
                theirs.nodes,
                theirs.depth,
            )
            assert ours.policy is not None
            assert theirs.policy is not None
            assert (np.asarray(ours.policy.shares) == np.asarray(theirs.policy.shares)).all()


@pytest.mark.parametrize("queue", [None, 64])
def test_one_group_searches_while_another_is_evaluated(queue: int | None) -> None:
    game = plugins().game("antichess")
    selected = threading.Event()

    class Waits:
        """Answers the first batch only when the second group has selected."""

        def evaluate(self, views: Views) -> Evaluation:
            assert threading.current_thread() is not threading.main_thread()
            assert selected.wait(30), "nobody searched while this was evaluated"
            return UniformEvaluator(game.spec).evaluate(views)

    def search(number: int) -> Coroutine[int]:
        coroutine = SearchAgent(game, experts, SearchConfig(simulations=4), queue=queue).act_coroutine(
            views, seats[number]
        )
        request = next(coroutine)
        asked.append(number)
        if len(asked) == 2:
            selected.set()
        while True:
            answer = yield request
            try:
                request = coroutine.send(answer)
            except StopIteration as end:
                return len(end.value)

    asked: list[int] = []
    experts = ExpertSet(SinglePhase(), [Waits()])
    views = game.views([(game.initial_state(), 0)] * 2)
    seats = [[Seat(0, np.random.default_rng(number)) for _ in range(2)] for number in range(2)]
    with CoroutineRunner[int, int]() as runner:
        for number in range(2):
            runner.start(number, search(number))
        assert [runner.next_result() for _ in range(2)] == [(0, 2), (1, 2)]


def test_an_error_of_the_evaluator_comes_out_and_nothing_goes_on_behind_it() -> None:
    game = plugins().game("tictactoe")

    class Fails:
        def evaluate(self, views: Views) -> Evaluation:
            raise ArithmeticError("no numbers today")

    agent = SearchAgent(game, Fails(), SearchConfig(simulations=4))
    views = game.views([(game.initial_state(), 0)] * 2)
    before = threading.active_count()
    with pytest.raises(ArithmeticError, match="no numbers today"):
        decisions(agent, views, [Seat(0, np.random.default_rng(0)) for _ in range(2)], 2)
    assert threading.active_count() == before


@pytest.mark.parametrize("routing", ["majority", "mixture", "each", "stacked"])
def test_a_queue_is_for_experts_of_which_every_view_asks_one(routing: str) -> None:
    game = plugins().game("tictactoe")
    experts = ExpertSet(SinglePhase(), [UniformEvaluator(game.spec)], routing=ROUTINGS[routing])
    if routing in ("each", "stacked"):
        assert SearchAgent(game, experts, SearchConfig(simulations=4), queue=8).name == "search"
        return
    with pytest.raises(
        ValueError, match=f"a routing that asks one expert per view, each or stacked, with a queue, got {routing}"
    ):
        SearchAgent(game, experts, SearchConfig(simulations=4), queue=8)


def test_a_gate_that_mixes_its_experts_has_no_queue() -> None:
    class Even(PhaseGate):
        @property
        def phase_names(self) -> tuple[str, ...]:
            return "a", "b"

        def weights(self, views: Views) -> FloatArray:
            return np.full((len(views), 2), 0.5, dtype=np.float32)

    game = plugins().game("tictactoe")
    experts = ExpertSet(Even(), [UniformEvaluator(game.spec)] * 2)
    with pytest.raises(ValueError, match="with a queue, got mixture"):
        SearchAgent(game, experts, SearchConfig(simulations=4), queue=8)


@pytest.mark.parametrize("batch", [0, -5])
def test_a_batch_that_is_full_without_anything_is_refused(batch: int) -> None:
    game = plugins().game("tictactoe")
    experts = ExpertSet(SinglePhase(), [UniformEvaluator(game.spec)])
    with pytest.raises(ValueError, match=f"batch of at least 1 position, got {batch}"):
        SearchAgent(game, experts, SearchConfig(simulations=4), queue=batch)


@pytest.mark.parametrize("simulations", [0, 24])
def test_the_majority_is_that_of_one_search(simulations: int) -> None:
    """Positions of different phases, asked about together and alone."""
    game = plugins().game("tictactoe")
    team = ExpertSet(PlyGate([2, 4]), [RolloutEvaluator(game.spec, seed=seed) for seed in range(3)], routing=MAJORITY)
    agent: Agent = PolicyAgent(team)
    if simulations:
        agent = SearchAgent(game, team, SearchConfig(simulations=simulations, leaves_per_tree=4))
    states = [game.parse_state(moves) for moves in (".........", "X........", "X.X.O....", "XOX.O....", "X...O....")]
    views = game.views([(state, state.active_players[0]) for state in states])
    seats = [Seat(state.active_players[0], np.random.default_rng(0)) for state in states]
    together = agent.act(views, seats)
    for row, found in enumerate(together):
        alone = agent.act(views.take([row]), [Seat(seats[row].player, np.random.default_rng(0))])[0]
        assert (found.action, found.value) == (alone.action, alone.value)
    assert [decision.expert for decision in together] == [0, 0, 1, 2, 1]
    # What one batch of them all says is something else.
    alike = team.evaluate(views).value == [team.evaluate(views.take([row])).value[0] for row in range(len(states))]
    assert not alike.all()
