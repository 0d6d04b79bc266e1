"""Searches that nobody waits for any more end, and leave nothing behind."""

from __future__ import annotations

import time

import numpy as np
import pytest

from moemcts.agents import Decision, Seat
from moemcts.cancellation import Cancelled, cancelled_unless, check_cancelled
from moemcts.evaluation import Evaluation, UniformEvaluator
from moemcts.experts import ExpertSet
from moemcts.game import Game, Views
from moemcts.gates import SinglePhase
from moemcts.play import Table, play, seats_of
from moemcts.plugins import plugins
from moemcts.search import Search, SearchAgent, SearchConfig


class Counting(UniformEvaluator):
    """Counts the questions that it answers."""

    calls = 0

    def evaluate(self, views: Views) -> Evaluation:
        self.calls += 1
        return super().evaluate(views)


def decide(game: Game, agent: SearchAgent) -> list[Decision]:
    state = game.initial_state()
    seats = [Seat(0, np.random.default_rng(number)) for number in range(4)]
    return list(agent.act(game.views([(state, 0)] * 4), seats))


@pytest.mark.parametrize("queue", [None, 8])
@pytest.mark.parametrize("reuse", [False, True])
def test_a_search_that_nobody_waits_for_ends_at_its_next_question(reuse: bool, queue: int | None) -> None:
    game = plugins().game("connect-four")
    evaluator = Counting(game.spec)
    experts, config = ExpertSet(SinglePhase(), [evaluator]), SearchConfig(simulations=50, reuse=reuse)
    agent = SearchAgent(game, experts, config, queue=queue)
    with pytest.raises(Cancelled), cancelled_unless(lambda: evaluator.calls < 3):
        decide(game, agent)
    assert evaluator.calls == 3
    assert decide(game, agent) == decide(game, SearchAgent(game, experts, config, queue=queue))


@pytest.mark.parametrize("name", ["uct?seconds=5", "flat?seconds=5", "alpha-beta?seconds=5"])
def test_what_an_agent_computes_natively_ends_when_nobody_waits_for_it(name: str) -> None:
    game = plugins().game("chess")
    agent, ends = plugins().agent(name, game), time.monotonic() + 0.1
    with pytest.raises(Cancelled), cancelled_unless(lambda: time.monotonic() < ends):
        agent.act(game.views([(game.initial_state(), 0)]), [Seat(0, np.random.default_rng(0))])


@pytest.mark.parametrize("num_threads", [1, 2])
def test_a_search_that_asks_no_more_questions_ends_when_nobody_waits_for_it(num_threads: int) -> None:
    """After the first question, every descent ends in a known result, and none is ever proven."""
    game = plugins().game("pommerman-1v1?max_steps=1")
    roots = game.views([(game.initial_state(seed), 0) for seed in range(4)])
    search = Search(game, SearchConfig(simulations=5_000_000, num_threads=num_threads))
    search.reset(roots, range(4))
    ends = time.monotonic() + 0.1
    with pytest.raises(Cancelled), cancelled_unless(lambda: time.monotonic() < ends):
        search.run(UniformEvaluator(game.spec))


def test_a_stop_is_no_failure_of_the_agent() -> None:
    game = plugins().game("connect-four")
    agent = SearchAgent(game, UniformEvaluator(game.spec), SearchConfig(simulations=8))
    table = Table(state=game.initial_state(), agents=[agent] * 2, seats=seats_of(2, 0), chance=np.random.default_rng(0))
    with pytest.raises(Cancelled), cancelled_unless(lambda: False):
        next(play(game, [table]))


def test_who_waits_outside_is_asked_too() -> None:
    answers = {"outside": True, "inside": True}
    with cancelled_unless(lambda: answers["outside"]):
        with cancelled_unless(lambda: answers["inside"]):
            check_cancelled()
            answers["outside"] = False
            with pytest.raises(Cancelled):
                check_cancelled()
            answers.update(outside=True, inside=False)
            with pytest.raises(Cancelled):
                check_cancelled()
        check_cancelled()
    check_cancelled()
