"""Search results, decisions and gate weights as JSON values for a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from moemcts.agents import Agent, Decision, Seat, Translated
from moemcts.game import CHANCE, Game, Player, State, Views
from moemcts.gates import PhaseGate, features_of
from moemcts.search.result import SearchResult

MAX_ACTIONS = 12
"""Maximum number of actions shown for a search, the most visited first."""
MAX_LINE = 16


class ObservedAgent:
    """Wraps an agent and keeps the results of its search, if any, for display."""

    def __init__(self, agent: Agent) -> None:
        self.name = agent.name
        self.agent = agent
        self._inner: Agent = agent
        self._translate: Callable[[Views], Views] = _identity
        if isinstance(agent, Translated):
            self._inner, self._translate = agent.agent, agent.translated
        self.results: dict[Player, SearchResult] = {}
        """Results of the last search, by player."""

    @property
    def gate(self) -> PhaseGate | None:
        """The gate of its experts, if any."""
        gate: PhaseGate | None = getattr(getattr(self._inner, "evaluator", None), "gate", None)
        return gate

    def phase(self, views: Views) -> dict[str, Any] | None:
        """Returns the output of its experts' gate for a view; None without a gate."""
        return None if self.gate is None else gate_json(self.gate, self._translate(views))

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        self.results = {}
        search, decide = getattr(self._inner, "search", None), getattr(self._inner, "decide", None)
        if search is None or decide is None:
            return self.agent.act(views, seats)
        views = self._translate(views)
        results: Sequence[SearchResult] = search(views, seats)
        self.results = {seat.player: result for seat, result in zip(seats, results, strict=True)}
        decisions: Sequence[Decision] = decide(views, seats, results)
        return decisions


def _identity(views: Views) -> Views:
    return views


def gate_json(gate: PhaseGate, views: Views) -> dict[str, Any]:
    """Returns a gate's weights for the first view, and the features that it decides by."""
    return {
        "gate": gate.name,
        "names": list(gate.phase_names),
        "weights": [round(float(weight), 4) for weight in gate.weights(views)[0]],
        "features": {name: round(float(values[0]), 3) for name, values in features_of(gate, views).items()},
        "parameters": dict(gate.parameters),
    }


def decision_json(
    game: Game, state: State, player: Player, decision: Decision, result: SearchResult | None
) -> dict[str, Any]:
    """Returns the data behind a decision, with names of actions; None for unknown values."""
    return {
        "value": None if decision.value is None else round(float(decision.value), 4),
        "simulations": decision.simulations,
        "nodes": decision.nodes,
        "depth": decision.depth,
        "phase": decision.phase,
        "expert": decision.expert,
        "actions": _searched_actions(game, state, player, result) or _policy_actions(game, state, player, decision),
        "line": [] if result is None else name_line(game, state, player, result.principal_variation),
    }


def name_line(game: Game, state: State, player: Player, actions: Sequence[Sequence[int]]) -> list[str]:
    """Returns the names of the actions of a line.

    After a step in which players act who were not searched, positions are unknown, and only the given player's actions
    are named.
    """
    names: list[str] = []
    position: State | None = state
    for joint in actions[:MAX_LINE]:
        movers = position.active_players if position is not None else ()
        try:
            if position is not None and len(joint) == len(movers) and CHANCE not in movers:
                pairs = zip(movers, joint, strict=True)
                names.append(" ".join(game.format_action(position, mover, action) for mover, action in pairs))
                position = position.play(list(joint))
            else:
                position = None
                names.append(game.format_action(state, player, joint[0]))
        except (ValueError, IndexError, KeyError):
            # The name depends on a position that is unknown.
            break
    return names


def _searched_actions(game: Game, state: State, player: Player, result: SearchResult | None) -> list[dict[str, Any]]:
    if result is None:
        return []
    total = max(int(result.visits.sum()), 1)
    order = np.argsort(-result.visits, kind="stable")[:MAX_ACTIONS]
    return [
        _action_json(game, state, player, int(result.actions[i]))
        | {
            "visits": int(result.visits[i]),
            "share": round(int(result.visits[i]) / total, 4),
            "value": round(float(result.values[i]), 4) if result.visits[i] else None,
            "prior": round(float(result.priors[i]), 4),
            "proven": bool(result.proven[i]),
        }
        for i in order
        if result.visits[i] or result.priors[i] > 0
    ]


def _policy_actions(game: Game, state: State, player: Player, decision: Decision) -> list[dict[str, Any]]:
    if decision.policy is None:
        return []
    order = np.argsort(-decision.policy.shares, kind="stable")[:MAX_ACTIONS]
    return [
        _action_json(game, state, player, int(decision.policy.actions[i]))
        | {"share": round(float(decision.policy.shares[i]), 4)}
        for i in order
    ]


def _action_json(game: Game, state: State, player: Player, action: int) -> dict[str, Any]:
    return {"action": action, "name": game.format_action(state, player, action)}


def without_numpy(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns values with NumPy arrays and scalars converted for JSON."""
    return {
        key: value.tolist() if isinstance(value, np.ndarray | np.generic) else value for key, value in values.items()
    }
