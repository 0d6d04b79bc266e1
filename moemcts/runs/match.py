"""Matches as users name them: agents, openings and limits in words, played in this process or in several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from moemcts.agents import Agent
from moemcts.arena.adjudication import Adjudication, check_adjudicable
from moemcts.arena.duel import DuelResult, duel, duel_lineups, duel_seatings
from moemcts.arena.games import GameRecord, Lineup, Progress
from moemcts.arena.guard import Guarded
from moemcts.arena.match import MatchResult, match, match_lineups
from moemcts.arena.openings import Opening, Order, Suite, read_openings, starts
from moemcts.arena.rating import Sprt
from moemcts.arena.schedule import Conditions
from moemcts.errors import UsageError
from moemcts.game import Game
from moemcts.naming import resolve_agent
from moemcts.plugins import plugins
from moemcts.references import parse_reference
from moemcts.runs.grid import identity_of


@dataclass(frozen=True, kw_only=True)
class MatchPlan:
    """A match in words and numbers: what a worker process needs to know of it."""

    game: str
    agents: tuple[str, ...]
    against: str | None = None
    """Who sits in all other seats, for each agent in turn; None where the agents play each other."""
    num_games: int = 100
    """In all, or of each agent against the others."""
    seed: int = 0
    openings: Path | None = None
    """A file; the game's own start positions, by seed, without one."""
    random_plies: int | None = None
    """Before games from the game's own start positions; None lets the game decide, see `starts`."""
    order: Order = "random"
    opening_plies: int | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)
    """Of experts that name no limit of their own."""
    max_plies: int | None = None
    adjudication: Adjudication | None = None
    sprt: Sprt | None = None
    max_parallel: int = 256
    num_workers: int = 1
    resolved: Mapping[str, str] = field(default_factory=dict)
    """References that say more, as which backend runs the networks, by those that users write."""


class Match:
    """The match of a plan: its agents and its schedule, made when they are first asked for."""

    def __init__(self, plan: MatchPlan) -> None:
        """Raises UsageError for what cannot be played: unknown names, agents without a seat, adjudication."""
        self.plan = plan
        self.game: Game = plugins().game(plan.game)
        self._resolved = dict(plan.resolved)
        if len(set(plan.agents)) < len(plan.agents):
            raise UsageError(f"expected different agents, got {', '.join(plan.agents)}")
        if plan.adjudication is not None:
            check_adjudicable(self.game)
        if plan.against is None:
            self._check_duel()
        elif plan.sprt is not None:
            raise UsageError("expected a sequential test between agents that play each other, got --against")

    @cached_property
    def agents(self) -> dict[str, Agent]:
        """The agents by what the plan calls them; the others under the empty name."""
        named = {name: self._agent(name) for name in self.plan.agents}
        return named if self.plan.against is None else named | {"": self._agent(self.plan.against)}

    @property
    def resolved(self) -> dict[str, str]:
        """By each agent's reference the one that names also what runs its networks here."""
        return self._resolved if self.agents else {}

    @cached_property
    def suite(self) -> Suite | None:
        """What is in the file of openings."""
        if self.plan.openings is None:
            return None
        return read_openings(self.game, self.plan.openings, plies=self.plan.opening_plies)

    @cached_property
    def openings(self) -> list[Opening]:
        """The openings that are played."""
        num_openings = -(-self.plan.num_games // self.num_seatings)
        if self.suite is not None:
            return self.suite.choose(num_openings, self.plan.order, self.plan.seed)
        return starts(self.game, num_openings, random_plies=self.plan.random_plies)

    @property
    def num_seatings(self) -> int:
        """How many games are played on one opening."""
        if self.plan.against is None:
            return len(duel_seatings(self.game, self.plan.agents))
        return self.game.spec.num_players

    @property
    def num_games(self) -> int:
        """How many games there are in all."""
        return self.plan.num_games * (1 if self.plan.against is None else len(self.plan.agents))

    @cached_property
    def lineups(self) -> list[Lineup]:
        """The schedule."""
        if self.plan.against is None:
            return duel_lineups(self.game, self.agents, num_games=self.plan.num_games, openings=self.openings)
        arms = {name: self.agents[name] for name in self.plan.agents}
        return match_lineups(self.game, arms, self.agents[""], num_games=self.plan.num_games, openings=self.openings)

    @cached_property
    def conditions(self) -> Conditions:
        """How the games are played; where time limits an agent, one after the other, so that none costs another's."""
        is_timed = any("seconds" in parse_reference(name)[1] for name in self._references)
        return Conditions(
            seed=self.plan.seed,
            max_parallel=1 if is_timed or "seconds" in self.plan.limits else self.plan.max_parallel,
            max_plies=self.plan.max_plies,
            adjudication=self.plan.adjudication,
            keep_thoughts=True,
        )

    def play(
        self,
        path: Path | None = None,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        on_game: Callable[[GameRecord], None] | None = None,
    ) -> DuelResult | MatchResult:
        """Plays the match and returns it; finished games are kept in the file `path` and not played again."""
        from moemcts.work.games import play_in_processes

        plan = self.plan
        workers = min(plan.num_workers, self.num_games)
        shared: dict[str, Any] = {
            "num_games": plan.num_games,
            "openings": self.openings,
            **{name: getattr(self.conditions, name) for name in Conditions.__dataclass_fields__},
            "path": path,
            "identity": self._identity(),
            "play": play_in_processes(one_worker(self), workers) if workers > 1 else None,
            "on_progress": on_progress,
            "on_game": on_game,
        }
        if plan.against is None:
            return duel(self.game, self.agents, sprt=plan.sprt, **shared)
        arms = {name: self.agents[name] for name in plan.agents}
        return match(self.game, arms, self.agents[""], **shared)

    @property
    def _references(self) -> tuple[str, ...]:
        return self.plan.agents if self.plan.against is None else (*self.plan.agents, self.plan.against)

    def _agent(self, reference: str) -> Agent:
        agent = Guarded(resolve_agent(self._resolved.get(reference, reference), self.game, self.plan.limits))
        # One of experts may say more than its reference; others of one kind may differ by their options only.
        self._resolved[reference] = agent.name if agent.name.startswith(reference) else reference
        agent.name = reference
        return agent

    def _check_duel(self) -> None:
        names, num_players = self.plan.agents, self.game.spec.num_players
        if not 2 <= len(names) <= num_players:
            raise UsageError(
                f"expected 2 to {num_players} agents that play each other in {self.game.spec.name}, got {len(names)}; "
                "moemcts tournament plays more, and with --against each plays the same games against the same others"
            )
        if self.plan.sprt is not None and self.num_seatings != 2:
            raise UsageError(f"expected two seatings for a sequential test, got {self.num_seatings}")

    def _identity(self) -> dict[str, Any]:
        """Returns what else decides the games: what runs the networks, their weights, limits, openings."""
        found = {"agents": self.resolved, "limits": dict(self.plan.limits)}
        return {**identity_of(self._references, self.openings), **found}


def one_worker(match: Match) -> MatchPlan:
    """Returns the plan of one of a match's workers: as much at once as all together, divided, by the same backends."""
    plan = match.plan
    parallel = max(1, plan.max_parallel // plan.num_workers)
    return replace(plan, num_workers=1, max_parallel=parallel, resolved=match.resolved)
