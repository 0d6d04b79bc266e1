"""Searches that nobody waits for any more end, and leave nothing behind."""

from __future__ import annotations

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
from moemcts.search import SearchAgent, SearchConfig


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
