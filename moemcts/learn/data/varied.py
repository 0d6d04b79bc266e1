"""Games of agents that draw nothing at random are made different from each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from moemcts.agents import Agent, Decision, RandomAgent, Seat
from moemcts.errors import AgentFailure, Failure
from moemcts.game import Views


class Varied:
    """Plays at random for some plies and then as another agent, so that no two games are the same."""

    def __init__(self, agent: Agent, random_plies: int) -> None:
        self.name = f"{agent.name} after {random_plies} random plies"
        self._agent = agent
        self._random_plies = random_plies

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        is_random = views.plies() < self._random_plies
        decisions: dict[int, Decision] = {}
        failures: dict[int, Failure] = {}
        for agent, rows in ((RandomAgent(), np.flatnonzero(is_random)), (self._agent, np.flatnonzero(~is_random))):
            if not len(rows):
                continue
            try:
                answers = agent.act(views.take(rows), [seats[int(row)] for row in rows])
            except AgentFailure as failure:
                answers = failure.decisions
                failures |= {int(rows[row]): fault for row, fault in failure.failures.items()}
            decisions |= {int(row): answer for row, answer in zip(rows, answers, strict=True)}
        in_order = [decisions[row] for row in range(len(seats))]
        if failures:
            raise AgentFailure(failures, in_order)
        return in_order
