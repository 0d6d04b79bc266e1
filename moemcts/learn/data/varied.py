"""Seats agents in games to learn from, and makes games of deterministic agents differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from moemcts.agents import Agent, Decision, RandomAgent, Seat
from moemcts.errors import AgentFailure, Failure
from moemcts.game import Views


def seat_agents(
    players: Sequence[Agent], num_seats: int, *, against: Agent | None = None, random_plies: int = 0
) -> list[Agent]:
    """Returns one agent per seat: a player for each, one for all, or one among opponents of another kind.

    Each plays `random_plies` at random first, which are no samples.
    """
    agents = [*players, *[against] * (num_seats - 1)] if against else [*players] * (num_seats // len(players))
    if not random_plies:
        return agents
    # An agent in several seats stays one object, which decides for all of them at once.
    wrapped = {id(agent): RandomStartAgent(agent, random_plies) for agent in agents}
    return [wrapped[id(agent)] for agent in agents]


def num_random_plies(agent: Agent) -> int:
    """Returns the number of plies at the start of a game at which an agent plays at random."""
    return agent.random_plies if isinstance(agent, RandomStartAgent) else 0


class RandomStartAgent:
    """Plays at random for some plies and then as another agent, so that games differ."""

    def __init__(self, agent: Agent, random_plies: int) -> None:
        self.name = f"{agent.name} after {random_plies} random plies"
        self.random_plies = random_plies
        self._agent = agent

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        is_random = views.plies() < self.random_plies
        decisions: dict[int, Decision] = {}
        failures: dict[int, Failure] = {}
        for agent, rows in ((RandomAgent(), np.flatnonzero(is_random)), (self._agent, np.flatnonzero(~is_random))):
            if not len(rows):
                continue
            try:
                answers = agent.act(views.take(rows), [seats[int(row)] for row in rows])
            except AgentFailure as failure:
                answers = failure.decisions
                failures |= {int(rows[row]): reason for row, reason in failure.failures.items()}
            decisions |= {int(row): answer for row, answer in zip(rows, answers, strict=True)}
        in_order = [decisions[row] for row in range(len(seats))]
        if failures:
            raise AgentFailure(failures, in_order)
        return in_order
