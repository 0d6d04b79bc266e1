"""Agents choose actions: who sits in a seat, as opposed to the player, which is the seat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from moemcts.errors import MoemctsError
from moemcts.evaluation import Evaluator, looks_at_batches, policy_probabilities
from moemcts.game import Action, FloatArray, Game, IntArray, Player, Views
from moemcts.gates import PhaseGate
from moemcts.thoughts import Thought, think


@dataclass(frozen=True, eq=False, slots=True)
class Policy:
    """Shares of the actions that were considered; all others have none."""

    actions: IntArray
    """`[n]`, ascending."""
    shares: FloatArray
    """`[n]`, summing to one."""

    @classmethod
    def of(cls, actions: IntArray, weights: np.ndarray[Any, Any]) -> Self:
        """Returns the shares of weights, `[n]`, of which one at least is positive; the rest is left out."""
        kept = weights > 0
        shares = weights[kept] / weights.sum()
        return cls(np.asarray(actions[kept], dtype=np.int64), np.asarray(shares, dtype=np.float32))


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What an agent does in a position, and what it knew when it decided."""

    action: Action
    policy: Policy | None = field(default=None, compare=False, repr=False)
    """How much it recommends each action: the shares of a search's visits; None where it weighs none."""
    value: float | None = None
    """The return that it expects, in [-1, 1]; None where it expects nothing in particular."""
    simulations: int = 0
    nodes: int = 0
    depth: int = 0
    """Plies of the deepest line it looked at."""
    phase: str = ""
    """The position's weightiest phase, where a gate was asked."""
    expert: int | None = None
    """The number of that phase's expert."""


@dataclass
class Seat:
    """One player's place in one game: its source of randomness and what its agent remembers.

    An agent that draws only from `rng` and remembers only in `memory` plays the same game whatever other games
    share its batches. Where it fails in another game, it is asked again with the memory that it began with: a list, a
    dictionary, a set or an array may be changed in place, and is copied for that; an object of any other class is
    replaced by another one, never changed.
    """

    player: Player
    rng: np.random.Generator
    memory: Any = None


class Agent(Protocol):
    """Decides on an action for each of many views at once."""

    name: str

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        """Returns a decision for a legal action of each view; `seats[i]` is the place that view `i` is played from.

        Raises AgentFailure for the views to which it has no answer.
        """


def named_agent(agent: Agent, reference: str) -> Agent:
    """Returns the agent of a reference; raises MoemctsError where it has no name or does not decide."""
    name, act = getattr(agent, "name", None), getattr(agent, "act", None)
    if not isinstance(name, str):
        raise MoemctsError(f"agent {reference!r} is wrong: expected its name as text, got {name!r}")
    if not callable(act):
        raise MoemctsError(f"agent {reference!r} is wrong: expected a method act, got {act!r:.80}")
    return agent


@runtime_checkable
class Thinker(Agent, Protocol):
    """An agent that can be interrupted: between its questions to evaluators other agents, or itself, decide elsewhere.

    It may be under way with several thoughts at once.
    """

    def thought(self, views: Views, seats: Sequence[Seat]) -> Thought[Sequence[Decision]]:
        """Returns what comes to the decisions of `act`."""


def thought_of(agent: Agent, views: Views, seats: Sequence[Seat]) -> Thought[Sequence[Decision]]:
    """Returns what comes to an agent's decisions; one that cannot be interrupted asks nobody in between."""
    return agent.thought(views, seats) if isinstance(agent, Thinker) else at_once(agent, views, seats)


def at_once(agent: Agent, views: Views, seats: Sequence[Seat]) -> Thought[Sequence[Decision]]:
    """Returns what comes to an agent's decisions, and asks nobody in between."""
    yield from ()
    return agent.act(views, seats)


class RandomAgent:
    """Plays legal actions with equal probability."""

    name = "random"

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        mask = views.legal_mask()
        return [
            Decision(action=int(seat.rng.choice(np.flatnonzero(row)))) for row, seat in zip(mask, seats, strict=True)
        ]


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
        return think(self.thought(views, seats))

    def thought(self, views: Views, seats: Sequence[Seat]) -> Thought[Sequence[Decision]]:
        """Asks once, or about each view alone where the answers to all would depend on each other."""
        if len(views) > 1 and looks_at_batches(self._evaluator):
            decisions: list[Decision] = []
            for row, seat in enumerate(seats):
                decisions += yield from self.thought(views.take([row]), [seat])
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
    """Plays as another agent, under the name that a user gave it."""

    def __init__(self, agent: Agent, name: str) -> None:
        self.name = name
        self._agent = agent

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        return self._agent.act(views, seats)

    def thought(self, views: Views, seats: Sequence[Seat]) -> Thought[Sequence[Decision]]:
        """Asks what the agent asks."""
        return thought_of(self._agent, views, seats)


class Translated:
    """Plays as another agent that sees positions as another game encodes them: the same positions, other planes."""

    def __init__(self, agent: Agent, seen: Game, own: Game) -> None:
        """Takes the game that is played and the one that the agent is of."""
        self.name = agent.name
        self.agent = agent
        self._seen = seen
        self._own = own

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        return self.agent.act(self.translated(views), seats)

    def thought(self, views: Views, seats: Sequence[Seat]) -> Thought[Sequence[Decision]]:
        """Asks what the agent asks."""
        return thought_of(self.agent, self.translated(views), seats)

    def translated(self, views: Views) -> Views:
        """Returns views as the agent sees them."""
        packed = self._seen.pack([state for state, _ in views])
        return self._own.unpack(packed, views.players())


def phases(evaluator: Evaluator, views: Views) -> list[tuple[str, int | None]]:
    """Returns the name of each view's weightiest phase and its number; of evaluators without a gate nothing."""
    gate: PhaseGate | None = getattr(evaluator, "gate", None)
    if gate is None:
        return [("", None)] * len(views)
    return [(gate.phase_names[phase], int(phase)) for phase in gate.weights(views).argmax(axis=1)]


def choose(weights: np.ndarray[Any, Any], temperature: float, rng: np.random.Generator) -> int:
    """Returns an index drawn with probability proportional to `weights ** (1 / temperature)`.

    At temperature 0 that is the first of the largest weights. Raises ValueError if no weight is positive, or where one
    that is drawn from is negative or not finite.
    """
    if not weights.max() > 0:
        raise ValueError(f"expected a positive weight, got {weights!r}")
    if temperature == 0:
        return int(weights.argmax())
    # As `rng.choice(len(weights), p=shares)` draws, in a third of its time.
    bounds = tempered(weights, temperature).cumsum()
    if not bounds[-1] > 0:
        raise ValueError(f"expected finite weights, none of them negative, got {weights!r}")
    bounds /= bounds[-1]
    return int(bounds.searchsorted(rng.random(), side="right"))


def tempered(weights: np.ndarray[Any, Any], temperature: float) -> NDArray[np.float64]:
    """Returns shares `[N]` in proportion to `weights ** (1 / temperature)`, at a temperature above 0."""
    with np.errstate(divide="ignore"):
        logits = np.log(weights, dtype=np.float64) / temperature
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum(), dtype=np.float64)
