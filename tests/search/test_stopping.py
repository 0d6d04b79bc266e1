"""Searches that nobody waits for any more end, and leave nothing behind."""

from __future__ import annotations

import numpy as np
import pytest

from moemcts.agents import Decision, Seat
from moemcts.evaluation import Evaluation, UniformEvaluator
from moemcts.game import Game, Views
from moemcts.play import Table, play, seats_of
from moemcts.plugins import plugins
from moemcts.search import SearchAgent, SearchConfig
from moemcts.stopping import Stopped, check_wanted, wanted_while


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
    with pytest.raises(Stopped), wanted_while(lambda: evaluator.calls < 3):
        decide(game, agent)
    assert evaluator.calls == 3
    anew = SearchAgent(game, Counting(game.spec), agent.config)
    assert decide(game, agent) == decide(game, anew)


def test_a_stop_is_no_failure_of_the_agent() -> None:
    game = plugins().game("connect-four")
    agent = SearchAgent(game, UniformEvaluator(game.spec), SearchConfig(simulations=8))
    table = Table(state=game.initial_state(), agents=[agent] * 2, seats=seats_of(2, 0), chance=np.random.default_rng(0))
    with pytest.raises(Stopped), wanted_while(lambda: False):
        next(play(game, [table]))


def test_who_waits_outside_is_asked_too() -> None:
    answers = {"outside": True, "inside": True}
    with wanted_while(lambda: answers["outside"]):
        with wanted_while(lambda: answers["inside"]):
            check_wanted()
            answers["outside"] = False
            with pytest.raises(Stopped):
                check_wanted()
            answers.update(outside=True, inside=False)
            with pytest.raises(Stopped):
                check_wanted()
        check_wanted()
    check_wanted()
