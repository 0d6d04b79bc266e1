"""Searches that nobody waits for any more end, and leave nothing behind."""

from __future__ import annotations

import numpy as np
import pytest

from moemcts.agents import Decision, Seat
from moemcts.cancellation import Cancelled, cancelled_unless, check_cancelled
from moemcts.evaluation import Evaluation, UniformEvaluator
from moemcts.game import Game, Views
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


@pytest.mark.parametrize("reuse", [False, True])
def test_a_search_that_nobody_waits_for_ends_at_its_next_question(reuse: bool) -> None:
    game = plugins().game("connect-four")
    evaluator = Counting(game.spec)
    agent = SearchAgent(game, evaluator, SearchConfig(simulations=50, reuse=reuse))
    with pytest.raises(Cancelled), cancelled_unless(lambda: evaluator.calls < 3):
        decide(game, agent)
    assert evaluator.calls == 3
    anew = SearchAgent(game, Counting(game.spec), agent.config)
    assert decide(game, agent) == decide(game, anew)


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
