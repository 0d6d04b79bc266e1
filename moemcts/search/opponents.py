"""Agents that a search assumes in the other seats, and their replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from moemcts.agents import Agent, Seat
from moemcts.errors import AgentFailure, MoemctsError
from moemcts.game import Action, Player, Views

Opponents = Agent | Mapping[Player, Agent] | None
"""One agent for all seats, agents by seat, or none."""


def opponent_of(opponents: Opponents, player: Player) -> Agent | None:
    """Returns the agent in a player's seat; None if there is none."""
    return opponents.get(player) if isinstance(opponents, Mapping) else opponents


def replies(agents: Sequence[Agent], views: Views, seats: Sequence[Seat]) -> list[Action]:
    """Returns the action that each view's agent chooses; every agent is called once, with all of its views.

    Raises MoemctsError with the agent's name if it fails or chooses an illegal action.
    """
    actions = [0] * len(views)
    for agent in {id(agent): agent for agent in agents}.values():
        rows = [row for row, other in enumerate(agents) if other is agent]
        try:
            decisions = agent.act(views.take(rows), [seats[row] for row in rows])
        except AgentFailure as failure:
            # The failed rows are not those of the searching agent's views.
            raise MoemctsError(f"{agent.name}, believed to be the opponent: {failure}") from failure
        for row, decision in zip(rows, decisions, strict=True):
            actions[row] = int(decision.action)
    legal = views.legal_mask()
    for row, action in enumerate(actions):
        # A game need not detect illegal actions, with which a search might never end or return nonsense.
        if not 0 <= action < legal.shape[1] or not legal[row, action]:
            raise MoemctsError(
                f"{agents[row].name}, believed to be the opponent: expected a legal action of player "
                f"{seats[row].player}, one of {np.flatnonzero(legal[row]).tolist()}, got {action}"
            )
    return actions
