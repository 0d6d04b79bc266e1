"""Matches given by references and plain values: agents, openings and limits; played in one or several processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from moemcts.arena.adjudication import Adjudication, check_adjudicable
from moemcts.arena.duel import DuelResult
from moemcts.arena.games import Conditions
from moemcts.arena.match import MatchResult
from moemcts.arena.openings import Opening, OpeningSettings, Order, Suite, first_board, read_openings, starts
from moemcts.arena.pairings import paired_schedule, result_of, sequential_test
from moemcts.arena.playing import MatchCallbacks, play_match
from moemcts.arena.rating import Sprt
from moemcts.arena.records import Lineup
from moemcts.arena.schedules import DuelSchedule, MatchSchedule, duel_seatings, match_schedule
from moemcts.arena.solo import SoloResult
from moemcts.errors import UsageError
from moemcts.game import Game
from moemcts.naming import CHOSEN, TIMES, Contestant, contestants, identity_of, is_more_specific, names_experts
from moemcts.plugins import plugins
from moemcts.references import parse_reference
from moemcts.runs.environment import groups_in_flight
from moemcts.runs.programs import program_agent
from moemcts.store import parse_json
from moemcts.work import num_cores, workers

Result = DuelResult | MatchResult | SoloResult
"""The result of a match between the agents, against the same opponents, or of each agent alone."""


@dataclass(frozen=True, kw_only=True)
class MatchPlan:
    """A match as plain values: what a worker process needs to recreate it."""

    game: str
    agents: tuple[str, ...]
    against: str | None = None
    """The opponent in all other seats, for each agent in turn; None if the agents play each other, or each alone."""
    num_games: int = 100
    """Games in total, or of each agent against the opponents."""
    seed: int = 0
    openings: Path | None = None
    """A file of openings; if None, the game's own start positions, chosen by seed."""
    random_plies: int | None = None
    """Random plies before games from the game's own start positions; None lets the game decide, see `starts`."""
    order: Order = "random"
    opening_plies: int | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)
    """Limits for experts that name none of their own."""
    max_plies: int | None = None
    adjudication: Adjudication | None = None
    sprt: Sprt | None = None
    agent_timeout: float | None = None
    """Seconds per decision; an agent that exceeds them loses the game."""
    max_parallel: int = 256
    num_workers: int = 1
    """Number of processes; 0 for one per core."""
    resolved: Mapping[str, str] = field(default_factory=dict)
    """Resolved references, such as with the backend that runs the networks, by the reference that the user wrote."""


class Match:
    """The match of a plan; its agents and its schedule are created lazily."""

    def __init__(self, plan: MatchPlan) -> None:
        """Raises UsageError for unknown names, agents without a seat and unsupported adjudication."""
        self.plan = plan
        self.game: Game = plugins().game(plan.game)
        if len(set(plan.agents)) < len(plan.agents):
            raise UsageError(f"expected different agents, got {', '.join(plan.agents)}")
        if plan.adjudication is not None:
            check_adjudicable(self.game)
        if self.is_solo:
            self._check_solo()
        elif plan.against is None:
            self._check_duel()
        elif plan.sprt is not None:
            raise UsageError("expected no --against with a sequential test, which needs agents that play each other")

    @property
    def is_solo(self) -> bool:
        """Whether the game has one player; the agents then play the same starts, each alone."""
        return self.game.spec.num_players == 1

    @property
    def is_duel(self) -> bool:
        """Whether the agents play each other."""
        return self.plan.against is None and not self.is_solo

    @cached_property
    def contestants(self) -> dict[str, Contestant]:
        """The agents by their references."""
        return self._contestants(self.plan.agents)

    @cached_property
    def field(self) -> Contestant | None:
        """The opponent in all other seats, if any."""
        against = self.plan.against
        return None if against is None else self._contestants([against])[against]

    @cached_property
    def suite(self) -> Suite | None:
        """The contents of the file of openings, if any."""
        if self.plan.openings is None:
            return None
        return read_openings(self.game, self.plan.openings, plies=self.plan.opening_plies)

    @cached_property
    def openings(self) -> list[Opening]:
        """The openings to play."""
        num_openings = -(-self.plan.num_games // self.num_seatings)
        if self.suite is not None:
            return self.suite.choose(num_openings, self.plan.order, self.plan.seed)
        first = first_board(self.plan.seed)
        return starts(self.game, num_openings, random_plies=self.opening_settings.random_plies, seed=first)

    @cached_property
    def opening_settings(self) -> OpeningSettings:
        """How the games begin."""
        plan = self.plan
        return OpeningSettings.of(
            self.game, path=plan.openings, opening_plies=plan.opening_plies, random_plies=plan.random_plies
        )

    @property
    def num_seatings(self) -> int:
        """Games per opening."""
        return len(duel_seatings(self.game, self.plan.agents)) if self.is_duel else self.game.spec.num_players

    @property
    def num_games(self) -> int:
        """Games in total."""
        return self.plan.num_games * (1 if self.is_duel else len(self.plan.agents))

    @cached_property
    def schedule(self) -> DuelSchedule | MatchSchedule:
        """The games."""
        agents = {name: contestant.named for name, contestant in self.contestants.items()}
        shared: Any = {
            "num_games": self.plan.num_games,
            "openings": self.openings,
            "identity": self._identity(),
            "remake": partial(_recreate, replace(self.plan, resolved=self._resolved())),
        }
        if self.field is None:
            return paired_schedule(self.game, agents, **shared)
        return match_schedule(self.game, agents, self.field.named, **shared)

    @property
    def lineups(self) -> Sequence[Lineup]:
        """The games in the order of the schedule."""
        return self.schedule.lineups

    @cached_property
    def is_timed(self) -> bool:
        """Whether an agent has a time limit; games are then played one after the other, whatever the plan says."""
        return any(map(self.plan.limits.__contains__, TIMES)) or any(
            contestant.is_timed for contestant in self._all_contestants
        )

    @cached_property
    def conditions(self) -> Conditions:
        """How the games are played; with time limits not in parallel, so that no agent takes another's time."""
        plan, is_timed = self.plan, self.is_timed
        return Conditions(
            seed=plan.seed,
            max_parallel=1 if is_timed else plan.max_parallel,
            max_plies=plan.max_plies,
            adjudication=plan.adjudication,
            agent_timeout=plan.agent_timeout,
            keep_thoughts=True,
            in_flight=1 if is_timed else groups_in_flight(self.game),
        )

    def play(
        self, path: Path | None = None, *, callbacks: MatchCallbacks | None = None, keep_thoughts: bool = True
    ) -> Result:
        """Plays the match and returns its result; finished games are stored in the file `path` and not played again.

        Without `keep_thoughts`, the agents' thoughts are stored in that file only: they take up most of the memory.
        """
        schedule, sprt = self.schedule, self.plan.sprt
        count = 1 if self.is_timed else min(self.plan.num_workers or num_cores(), self.num_games)
        hint = "try fewer --workers or --parallel; with --out FILE the same command resumes"
        records = play_match(
            self.game,
            schedule,
            replace(self.conditions, keep_thoughts=keep_thoughts or path is not None),
            journal=path,
            workers=workers(count, hint=hint),
            stop=sequential_test(schedule, sprt),
            keep_thoughts=keep_thoughts,
            callbacks=callbacks or MatchCallbacks(),
        )
        return result_of(schedule, records, sprt=sprt)

    @property
    def _all_contestants(self) -> list[Contestant]:
        return [*self.contestants.values(), *([] if self.field is None else [self.field])]

    def _contestants(self, references: Sequence[str]) -> dict[str, Contestant]:
        return contestants(references, self.game, self.plan.limits, resolved=self.plan.resolved)

    def _resolved(self) -> dict[str, str]:
        return {contestant.reference: contestant.resolved for contestant in self._all_contestants}

    def _check_solo(self) -> None:
        alone = f"the agents play the same starts, each alone: {self.game.spec.name} has one player"
        if self.plan.against is not None:
            raise UsageError(f"expected no --against, as {alone}; give every agent as --agent, the baseline first")
        if self.plan.sprt is not None:
            raise UsageError(f"expected no sequential test, as {alone}, so nobody wins")

    def _check_duel(self) -> None:
        names, most = self.plan.agents, len(self.game.spec.sides)
        if not 2 <= len(names) <= most:
            number = "2" if most == 2 else f"2 to {most}"
            raise UsageError(
                f"expected {number} agents that play each other in {self.game.spec.name}, got {len(names)}; "
                "moemcts tournament plays more, and with --against each plays the same games against the same others"
            )
        if self.plan.sprt is not None and self.num_seatings != 2:
            raise UsageError(f"a sequential test needs two seatings, got {self.num_seatings}")

    def _identity(self) -> dict[str, Any]:
        """Returns what decides the games besides the schedule: backends, weights and limits."""
        references = [contestant.reference for contestant in self._all_contestants]
        return {
            **identity_of(references, self.plan.game),
            "agents": self._resolved(),
            "limits": dict(self.plan.limits),
        }


def resume_plan(plan: MatchPlan, path: Path | None) -> MatchPlan:
    """Returns the plan with the choices that were made for its agents when the match in `path` was begun, if it was.

    What `auto` was resolved to then, such as a backend, stays in effect for the whole match, even if another is faster
    now.
    """
    references = [*plan.agents, *([] if plan.against is None else [plan.against])]
    return plan if path is None else replace(plan, resolved={**resolved_references(path, references), **plan.resolved})


def resolved_references(path: Path, references: Sequence[str]) -> dict[str, str]:
    """Returns the resolved references of agents in a file of games, by the reference that the user wrote.

    The file may come from an untrusted source: it may not choose programs, and for experts only how their networks are
    run. Returns an empty dictionary for a file that holds no games; opening it raises the error.
    """
    if not path.is_file():
        return {}
    try:
        with path.open("rb") as file:
            header = parse_json(file.readline())
        # Tournaments store these as the agents' names, matches separately.
        known = {**header.get("agents", {}), **header["identity"].get("agents", {})}
        resolved = {name: str(known[name]) for name in references if name in known}
        return {
            name: reference
            for name, reference in resolved.items()
            if is_more_specific(reference, name) and _may_replace(reference, name)
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, UsageError):
        return {}


def _may_replace(resolved: str, reference: str) -> bool:
    """Returns whether a reference read from a file may replace the user's reference, which it resolves."""
    if not names_experts(reference):
        return not program_agent(resolved)
    written, options = parse_reference(reference)[1], parse_reference(resolved)[1]
    return all(option in CHOSEN or written.get(option) == value for option, value in options.items())


def _recreate(plan: MatchPlan) -> tuple[Game, Sequence[Lineup]]:
    """Returns the game and the lineups of a plan, recreated in the calling process."""
    match = Match(plan)
    return match.game, match.lineups
