"""Agents that may fail: what goes wrong costs them the game it goes wrong in, not the match."""

from __future__ import annotations

from collections.abc import Sequence

from moemcts.agents import Agent, Decision, Seat
from moemcts.errors import AgentFailure, Failure
from moemcts.game import Views

_MOST_CHARACTERS = 200


class Guarded:
    """Plays as another agent; turns its errors and illegal actions into AgentFailure."""

    def __init__(self, agent: Agent) -> None:
        self.name = agent.name
        self._agent = agent

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        """Returns the other's decisions.

        Where it raises an error, it is asked for one view at a time with the randomness it began with, so that
        only those views fail that it has no answer to.
        """
        states = [seat.rng.bit_generator.state for seat in seats]
        try:
            return self._checked(views, seats)
        except (AgentFailure, MemoryError):
            raise
        except Exception as error:
            if len(seats) == 1:
                raise AgentFailure({0: Failure("crash", _one_line(error))}, [None]) from error
        decisions: list[Decision | None] = []
        failures: dict[int, Failure] = {}
        for row, (seat, state) in enumerate(zip(seats, states, strict=True)):
            seat.rng.bit_generator.state = state
            try:
                decisions += self.act(views.take([row]), [seat])
            except AgentFailure as failure:
                decisions += failure.decisions
                failures[row] = failure.failures[0]
        if failures:
            raise AgentFailure(failures, decisions)
        return [decision for decision in decisions if decision is not None]

    def _checked(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        failures: dict[int, Failure] = {}
        try:
            decisions = list(self._agent.act(views, seats))
        except AgentFailure as failure:
            decisions, failures = failure.decisions, failure.failures
        if len(decisions) != len(seats):
            raise ValueError(f"expected {len(seats)} decisions, one per view, got {len(decisions)}")
        for row, decision in enumerate(decisions):
            view = views[row]
            if row not in failures and decision.action not in view.state.legal_actions(view.player):
                what = f"action {decision.action} is not legal at ply {view.state.ply}"
                failures[row] = Failure("illegal move", what)
        if failures:
            raise AgentFailure(failures, decisions)
        return decisions


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or "no message"
    shown = text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + " ..."
    return f"{type(error).__name__}: {shown}"
