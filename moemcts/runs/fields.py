"""Who sits in the seats that are not an arm's: an agent, against which all arms play, or the single network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from moemcts.agents import Agent
from moemcts.arena.match import MatchResult
from moemcts.game import Game
from moemcts.plugins import plugins
from moemcts.report.contest import Contest
from moemcts.report.duels import AgainstSingle
from moemcts.report.fields import FIELD, AgainstField
from moemcts.runs.arms import SINGLE, Arm


class Field(ABC):
    """Who the arms play against, and how such matches are read."""

    name: str

    @abstractmethod
    def contestants(self, arms: Sequence[Arm]) -> list[Arm]:
        """Returns the arms that play; the first arm is the single network."""

    @abstractmethod
    def agent(self, agents: Mapping[str, Agent]) -> Agent:
        """Returns who sits there, given the agents of all arms by name."""

    @abstractmethod
    def extra(self, agents: Mapping[str, Agent]) -> dict[str, Agent]:
        """Returns who else is measured beside networks without search."""

    @abstractmethod
    def contest(self, results: Sequence[MatchResult], limit: str, singles: Collection[str]) -> Contest:
        """Returns the matches of all training seeds as a report reads them.

        `limit` says how moves were chosen, `singles` are the arms of one network for all phases.
        """

    @property
    @abstractmethod
    def model(self) -> str:
        """Who the search believes to sit there: an agent, or `self`."""


@dataclass(frozen=True)
class AgentField(Field):
    """An agent: every arm plays the same games against it, the single network too."""

    name: str
    game: Game

    def contestants(self, arms: Sequence[Arm]) -> list[Arm]:
        return list(arms)

    def agent(self, agents: Mapping[str, Agent]) -> Agent:
        return plugins().agent(self.name, self.game)

    def extra(self, agents: Mapping[str, Agent]) -> dict[str, Agent]:
        return {FIELD: self.agent(agents)}

    def contest(self, results: Sequence[MatchResult], limit: str, singles: Collection[str]) -> Contest:
        return AgainstField(tuple(results), limit=limit, field=self.name, singles=singles)

    @property
    def model(self) -> str:
        return self.name


@dataclass(frozen=True)
class SingleField(Field):
    """The single network: the experts play it."""

    name: str = SINGLE

    def contestants(self, arms: Sequence[Arm]) -> list[Arm]:
        single, *teams = arms
        return teams or [single]

    def agent(self, agents: Mapping[str, Agent]) -> Agent:
        return agents[SINGLE]

    def extra(self, agents: Mapping[str, Agent]) -> dict[str, Agent]:
        return {}

    def contest(self, results: Sequence[MatchResult], limit: str, singles: Collection[str]) -> Contest:
        return AgainstSingle(tuple(results), limit=limit)

    @property
    def model(self) -> str:
        return "self"


def make_field(reference: str, game: Game) -> Field:
    """Returns the field that a user names; where none is named, the game's default agent or the single network."""
    name = reference or _default(game)
    return SingleField() if name == SINGLE else AgentField(name, game)


def _default(game: Game) -> str:
    return plugins().default_agent(game) or SINGLE
