"""Agents choose actions. An agent sits in the seat of a player; a player is a role in a game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from moemcts.coroutines import Coroutine, run_to_completion
from moemcts.errors import MoemctsError
from moemcts.evaluation import Evaluator, is_batch_dependent, policy_probabilities
from moemcts.game import Action, FloatArray, Game, IntArray, Player, Views, any_of
from moemcts.gates import PhaseGate


@dataclass(frozen=True, eq=False, slots=True)
class Policy:
    """Probabilities of the actions that were considered; all others have probability zero."""

    actions: IntArray
    """`[n]`, ascending."""
    shares: FloatArray
    """`[n]`, summing to one."""

    @classmethod
    def of(cls, actions: IntArray, weights: np.ndarray[Any, Any]) -> Self:
        """Returns `weights`, `[n]`, normalised to sum to one, without those that are zero; at least one must be
        positive.
        """
        is_positive = weights > 0
        shares = weights[is_positive] / weights.sum()
        return cls(np.asarray(actions[is_positive], dtype=np.int64), np.asarray(shares, dtype=np.float32))


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """The action an agent chooses, and what it computed in order to choose it."""

    action: Action
    policy: Policy | None = field(default=None, compare=False, repr=False)
    """How strongly it recommends each action, such as a search's visit shares; None if it does not weigh them."""
    value: float | None = None
    """The expected return, in [-1, 1]; None without an estimate."""
    simulations: int = 0
    nodes: int = 0
    depth: int = 0
    """Depth of the deepest line that was searched, in plies."""
    phase: str = ""
    """The position's phase with the largest weight; empty without a gate."""
    expert: int | None = None
    """The index of that phase's expert."""


@dataclass
class Seat:
    """One player's place in one game: its random generator and its agent's memory.

    An agent that draws only from `rng` and keeps state only in `memory` plays the same game whatever other games share
    its batches. When the agent fails in another game, it is asked again with the memory it started from. A list,
    dictionary, set or array may therefore be changed in place, as it is copied beforehand; an object of any other class
    must be replaced, never mutated.
    """

    player: Player
    rng: np.random.Generator
    memory: Any = None


class Agent(Protocol):
    """Decides on an action for each view of a batch."""

    name: str

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        """Returns a decision with a legal action for each view; view `i` is played from `seats[i]`.

        Raises AgentFailure if it has no answer for some of the views.
        """


def checked_agent(agent: Agent, reference: str) -> Agent:
    """Returns the agent; raises MoemctsError if it has no name or no method `act`."""
    name, act = getattr(agent, "name", None), getattr(agent, "act", None)
    if not isinstance(name, str):
        raise MoemctsError(f"agent {reference!r} is invalid: expected its name to be a string, got {name!r}")
    if not callable(act):
        raise MoemctsError(f"agent {reference!r} is invalid: expected a method act, got {act!r:.80}")
    return agent


@runtime_checkable
class CoroutineAgent(Agent, Protocol):
    """An agent that can be suspended whenever it waits for an evaluator, while other decisions make progress.

    Several of its coroutines may run concurrently.
    """

    def act_coroutine(self, views: Views, seats: Sequence[Seat]) -> Coroutine[Sequence[Decision]]:
        """Returns a coroutine with the result of `act`."""


def act_coroutine(agent: Agent, views: Views, seats: Sequence[Seat]) -> Coroutine[Sequence[Decision]]:
    """Returns a coroutine that results in an agent's decisions; it requests no evaluations unless the agent is a
    `CoroutineAgent`.
    """
    return agent.act_coroutine(views, seats) if isinstance(agent, CoroutineAgent) else act_blocking(agent, views, seats)


def act_blocking(agent: Agent, views: Views, seats: Sequence[Seat]) -> Coroutine[Sequence[Decision]]:
    """Returns a coroutine that calls `Agent.act` and so requests no evaluations."""
    yield from ()
    return agent.act(views, seats)


class RandomAgent:
    """Plays legal actions with equal probability."""

    name = "random"

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        mask = views.legal_mask()
        return [Decision(action=any_of(np.flatnonzero(row), seat.rng)) for row, seat in zip(mask, seats, strict=True)]


class PolicyAgent:
    """Plays from the policy of an evaluator, without search.

    Temperature 0 takes the most probable action, 1 samples from the policy.
    """

    def __init__(self, evaluator: Evaluator, *, temperature: float = 0.0, name: str = "policy") -> None:
        self.name = name
        self._evaluator = evaluator
        self._temperature = temperature

    @property
    def evaluator(self) -> Evaluator:
        return self._evaluator

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        return run_to_completion(self.act_coroutine(views, seats))

    def act_coroutine(self, views: Views, seats: Sequence[Seat]) -> Coroutine[Sequence[Decision]]:
        """Makes one request, or one per view if the evaluator is batch-dependent."""
        if len(views) > 1 and is_batch_dependent(self._evaluator):
            decisions: list[Decision] = []
            for row, seat in enumerate(seats):
                decisions += yield from self.act_coroutine(views.take([row]), [seat])
            return decisions
        evaluation = yield self._evaluator, views
        values = evaluation.value if evaluation.value.ndim == 1 else evaluation.value[:, 0]
        probabilities = policy_probabilities(evaluation.logits, views.legal_mask())
        all_actions = np.arange(probabilities.shape[1])
        return [
            Decision(
                action=choose(row, self._temperature, seat.rng),
                policy=Policy.of(all_actions, row),
                value=float(value),
                phase=phase,
                expert=expert,
            )
            for row, seat, value, (phase, expert) in zip(
                probabilities, seats, values, phases(self._evaluator, views), strict=True
            )
        ]


class Named:
    """Delegates to another agent under a name chosen by the user."""

    def __init__(self, agent: Agent, name: str) -> None:
        self.name = name
        self._agent = agent

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        return self._agent.act(views, seats)

    def act_coroutine(self, views: Views, seats: Sequence[Seat]) -> Coroutine[Sequence[Decision]]:
        """Returns the agent's coroutine for these views."""
        return act_coroutine(self._agent, views, seats)


class Translated:
    """Delegates to an agent made for another encoding of the same game: same positions, different planes."""

    def __init__(self, agent: Agent, played_game: Game, own_game: Game) -> None:
        """Takes the game that is played, and the one that the agent was made for."""
        self.name = agent.name
        self.agent = agent
        self._played_game = played_game
        self._own_game = own_game

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        return self.agent.act(self.translated(views), seats)

    def act_coroutine(self, views: Views, seats: Sequence[Seat]) -> Coroutine[Sequence[Decision]]:
        """Returns the agent's coroutine for the translated views."""
        return act_coroutine(self.agent, self.translated(views), seats)

    def translated(self, views: Views) -> Views:
        """Returns the views in the agent's encoding."""
        packed = self._played_game.pack([state for state, _ in views])
        return self._own_game.unpack(packed, views.players())


def phases(evaluator: Evaluator, views: Views) -> list[tuple[str, int | None]]:
    """Returns the name and the index of each view's phase with the largest weight; `("", None)` without a gate."""
    gate: PhaseGate | None = getattr(evaluator, "gate", None)
    if gate is None:
        return [("", None)] * len(views)
    return [(gate.phase_names[phase], int(phase)) for phase in gate.weights(views).argmax(axis=1)]


def choose(weights: np.ndarray[Any, Any], temperature: float, rng: np.random.Generator) -> int:
    """Returns an index drawn with probability proportional to `weights ** (1 / temperature)`.

    At temperature 0, returns the first index of the largest weight. Raises ValueError if no weight is positive, or if
    one of the weights sampled from is negative or not finite.
    """
    if not weights.max() > 0:
        raise ValueError(f"expected at least one positive weight, got {weights!r}")
    if temperature == 0:
        return int(weights.argmax())
    # Draws as `rng.choice(len(weights), p=shares)` does, in a third of the time.
    bounds = tempered(weights, temperature).cumsum()
    if not bounds[-1] > 0:
        raise ValueError(f"expected finite weights, none of them negative, got {weights!r}")
    bounds /= bounds[-1]
    return int(bounds.searchsorted(rng.random(), side="right"))


def tempered(weights: np.ndarray[Any, Any], temperature: float) -> NDArray[np.float64]:
    """Returns probabilities `[N]` proportional to `weights ** (1 / temperature)`, for a temperature above 0."""
    with np.errstate(divide="ignore"):
        logits = np.log(weights, dtype=np.float64) / temperature
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum(), dtype=np.float64)
