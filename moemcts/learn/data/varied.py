"""Who sits where in games to learn from, and how games of agents that draw nothing at random come to differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from moemcts.agents import Agent, Decision, RandomAgent, Seat
from moemcts.errors import AgentFailure, Failure
from moemcts.game import Views


def seated(
    players: Sequence[Agent], num_seats: int, *, against: Agent | None = None, random_plies: int = 0
) -> list[Agent]:
    """Returns one agent per seat: a player for each, one for all, or one among opponents of another kind.

    Each plays after `random_plies` at random, which are no samples.
    """
    found = [*players, *[against] * (num_seats - 1)] if against else [*players] * (num_seats // len(players))
    if not random_plies:
        return found
    # Who sits in several seats stays one agent, which is asked for all of them at once.
    varied = {id(agent): Varied(agent, random_plies) for agent in found}
    return [varied[id(agent)] for agent in found]


def plies_at_random(agent: Agent) -> int:
    """Returns before which ply an agent plays at random, though it is another one that is learned from."""
    return agent.random_plies if isinstance(agent, Varied) else 0


class Varied:
    """Plays at random for some plies and then as another agent, so that no two games are the same."""

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
                failures |= {int(rows[row]): fault for row, fault in failure.failures.items()}
            decisions |= {int(row): answer for row, answer in zip(rows, answers, strict=True)}
        in_order = [decisions[row] for row in range(len(seats))]
        if failures:
            raise AgentFailure(failures, in_order)
        return in_order
