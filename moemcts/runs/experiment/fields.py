"""The field: who sits in the seats that are not an arm's, an agent that all arms play or the single network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from moemcts.agents import Agent
from moemcts.arena.match import MatchResult
from moemcts.errors import UsageError
from moemcts.game import Game
from moemcts.naming import SELF, default_opponents, experts_of, names_experts, resolve_agent
from moemcts.plugins import plugins
from moemcts.report.contest import Contest
from moemcts.report.duels import AgainstSingle
from moemcts.report.fields import FIELD, AgainstField
from moemcts.report.solo import Solo
from moemcts.runs.arms import SINGLE, Arm


class Field(ABC):
    """The opponents of the arms, and the form in which their matches are reported."""

    name: str
    model: str
    """The opponent model of the search: the reference of an agent, or `self`."""
    decided_by: Mapping[str, Any]
    """What decides its play apart from the name: the weights of experts."""
    has_agent: bool = False
    """Whether its seats belong to an agent that is not an arm."""

    def contestants(self, arms: Sequence[Arm]) -> list[Arm]:
        """Returns the arms that play; none if only the single network, the first arm, would."""
        return list(arms)

    def seated(self, arms: Sequence[Arm]) -> list[Arm]:
        """Returns the arms whose agents the field uses."""
        return []

    @abstractmethod
    def agents(self, arm_agents: Mapping[str, Agent], num_seats: int) -> list[Agent]:
        """Returns the agents of the field's seats, given the agents of the arms in `seated`, by name."""

    @property
    def extra(self) -> dict[str, Agent]:
        """Further agents, to be evaluated beside the networks without search."""
        return {}

    @abstractmethod
    def contest(
        self, results: Sequence[MatchResult], limit: str, singles: Collection[str], seeds: Sequence[int]
    ) -> Contest:
        """Returns the matches of the training seeds, one each, as a contest for reports.

        `limit` describes how moves were chosen; `singles` are the arms with one network for all phases.
        """


@dataclass(frozen=True)
class AgentField(Field):
    """An agent: every arm plays the same games against it, including the single network."""

    name: str
    player: Agent
    model: str
    decided_by: Mapping[str, Any]
    has_agent: bool = True

    def agents(self, arm_agents: Mapping[str, Agent], num_seats: int) -> list[Agent]:
        return [self.player] * num_seats

    @property
    def extra(self) -> dict[str, Agent]:
        return {FIELD: self.player}

    def contest(
        self, results: Sequence[MatchResult], limit: str, singles: Collection[str], seeds: Sequence[int]
    ) -> Contest:
        field = f"the agent {self.name}"
        return AgainstField(tuple(results), tuple(seeds), limit=limit, field=field, singles=singles)


@dataclass(frozen=True)
class SingleField(Field):
    """The single network, as the opponent of the experts in a game of two players."""

    name: str = SINGLE
    model: str = SELF
    decided_by: Mapping[str, Any] = field(default_factory=dict)

    def contestants(self, arms: Sequence[Arm]) -> list[Arm]:
        return list(arms[1:])

    def seated(self, arms: Sequence[Arm]) -> list[Arm]:
        return list(arms[:1])

    def agents(self, arm_agents: Mapping[str, Agent], num_seats: int) -> list[Agent]:
        return [arm_agents[SINGLE]] * num_seats

    def contest(
        self, results: Sequence[MatchResult], limit: str, singles: Collection[str], seeds: Sequence[int]
    ) -> Contest:
        return AgainstSingle(tuple(results), tuple(seeds), limit=limit)


@dataclass(frozen=True)
class SinglesField(SingleField):
    """The single network in all other seats of a game of more than two players; as a baseline, it is an arm too."""

    def contestants(self, arms: Sequence[Arm]) -> list[Arm]:
        return list(arms) if arms[1:] else []

    def contest(
        self, results: Sequence[MatchResult], limit: str, singles: Collection[str], seeds: Sequence[int]
    ) -> Contest:
        field = "the single network of the same training seed"
        return AgainstField(tuple(results), tuple(seeds), limit=limit, field=field, singles=singles)


@dataclass(frozen=True)
class NoField(Field):
    """The field of a game of one player: no opponents; arms are compared by their scores from the same starts."""

    score_unit: float
    name: str = SINGLE
    """The name that runs of such games have always had."""
    model: str = SELF
    decided_by: Mapping[str, Any] = field(default_factory=dict)

    def agents(self, arm_agents: Mapping[str, Agent], num_seats: int) -> list[Agent]:
        return []

    def contest(
        self, results: Sequence[MatchResult], limit: str, singles: Collection[str], seeds: Sequence[int]
    ) -> Contest:
        return Solo(tuple(results), tuple(seeds), limit=limit, score_unit=self.score_unit, singles=singles)


def make_field(reference: str, game: Game) -> Field:
    """Returns the field that a reference names; if empty, the game's default agent or else the single network.

    Raises UsageError for an unknown agent, or for any reference in a game of one player.
    """
    if game.spec.num_players == 1:
        if reference:
            raise UsageError(f"expected no match.field, as {game.spec.name} has one player, got {reference!r}")
        return NoField(score_unit=game.spec.score_unit)
    name = reference or plugins().default_agent(game) or SINGLE
    if name == SINGLE:
        return SingleField() if game.spec.num_players == 2 else SinglesField()
    # A search within every step of a search would be too slow.
    model = default_opponents(game) if names_experts(name) else name
    return AgentField(name, resolve_agent(name, game), model, experts_of([name]))
