"""Tournaments: games between many agents, and the strength of each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from moemcts.agents import Agent
from moemcts.arena.duel import DuelResult
from moemcts.arena.games import Conditions, Progress
from moemcts.arena.openings import Opening, openings_from_seeds
from moemcts.arena.playing import MatchCallbacks, play_match
from moemcts.arena.ranking import Ranking, Ratings, fit_ratings
from moemcts.arena.rating import Elo, elo
from moemcts.arena.records import num_duplicates
from moemcts.arena.schedules import duel_schedule, duel_seatings, seating_of
from moemcts.errors import ForeignData, unknown_name
from moemcts.game import Game

Kind = Literal["round-robin", "gauntlet", "ladder"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Table:
    """Agents that play together for some games."""

    names: tuple[str, ...]
    seating: tuple[str, ...]
    """By player, in the first game on an opening; it is rotated from game to game, see `duel_schedule`."""
    round: int = 0

    @property
    def key(self) -> str:
        """The name of the table's file, independent of other tables."""
        text = " ".join([*self.names, "/", *self.seating, str(self.round)])
        words = re.sub(r"[^A-Za-z0-9]+", "-", "_".join(self.names)).strip("-")[:60]
        return f"{words}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"


@dataclass(frozen=True)
class TournamentResult:
    """The games of all tables."""

    game: str
    kind: Kind
    names: tuple[str, ...]
    duels: tuple[DuelResult, ...]

    @property
    def num_games(self) -> int:
        return sum(len(duel.records) for duel in self.duels)

    @cached_property
    def joined(self) -> tuple[DuelResult, ...]:
        """The duels, with those of the same seatings combined, so that repeats of games from earlier rounds do not
        count.
        """
        return _join_duels(self.duels)

    def ratings(self) -> Ratings:
        """Returns the strengths fitted to all informative games; raises ValueError without games."""
        return fit_ratings(_rankings(self.joined))

    def standings(self) -> list[str]:
        """Returns the agents, the strongest first."""
        ratings = self.ratings()
        return [ratings.names[row] for row in np.argsort(-ratings.elo, kind="stable")]

    def counts(self, name: str, other: str) -> tuple[int, int, int]:
        """Returns in how many informative games one agent was worse than, equal to and better than another.

        Games without both are not counted.
        """
        for agent in (name, other):
            if agent not in self.names:
                raise unknown_name("agent", agent, self.names)
        counts_by_duel = [
            duel.counts(name, other) for duel in self.joined if name in duel.names and other in duel.names
        ]
        losses, draws, wins = (sum(counts) for counts in zip((0, 0, 0), *counts_by_duel, strict=True))
        return losses, draws, wins

    def elo(self, name: str, other: str) -> Elo | None:
        """Returns the difference in Elo between two agents, from games between them only.

        None if they never met, or if a duel of theirs is not even (`DuelResult.is_even`): equal agents do not score one
        half then, and `ratings` determines who is stronger.
        """
        losses, draws, wins = self.counts(name, other)
        is_even = all(duel.is_even for duel in self.duels if name in duel.names and other in duel.names)
        return elo(wins, draws, losses) if is_even and losses + draws + wins else None

    def to_json(self) -> dict[str, Any]:
        """Returns the statistics as JSON values, without the games."""
        records = [record for duel in self.duels for record in duel.records]
        failures = [record.failure for record in records if record.failure]
        return {
            "game": self.game,
            "kind": self.kind,
            "num_games": len(records),
            "num_counted": sum(len(duel.informative) for duel in self.joined),
            "num_duplicates": num_duplicates(records),
            "ratings": self.ratings().to_json() if records else None,
            "crosstable": [self._pair_json(*pair) for pair in combinations(self.names, 2)],
            "failures": failures,
        }

    def _pair_json(self, name: str, other: str) -> dict[str, Any]:
        losses, draws, wins = self.counts(name, other)
        difference = self.elo(name, other)
        return {
            "agent": name,
            "other": other,
            "wins": wins,
            "draws": draws,
            "losses": losses,
            "elo": None if difference is None else asdict(difference),
        }


@dataclass(frozen=True, kw_only=True)
class TournamentPlan:
    """Which agents meet, and how often.

    `round-robin`: every pair, or every set of as many agents as there are seats; with fewer agents than seats, all play
    at one table. `gauntlet`: the first against each of the others, which takes all other seats. `ladder`: `rounds`
    times, neighbours by the rating so far play together, as many as there are seats, so that agents meet others of
    similar strength; the first round is in the order in which they are named. Every round has new openings as long as
    there are enough; rounds after that reuse those of the first.
    """

    kind: Kind = "round-robin"
    num_games: int
    """Per table; all tables of a round play the same openings, with different random numbers."""
    rounds: int = 1
    openings: Sequence[Opening] | None = None
    identity: Callable[[Sequence[str]], Mapping[str, Any]] | None = None
    """Returns what else the games of the named agents depend on."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown_name("kind of tournament", self.kind, KINDS)


def play_tournament(
    game: Game,
    agents: Mapping[str, Agent],
    plan: TournamentPlan,
    conditions: Conditions,
    *,
    folder: Path | None = None,
    on_progress: Callable[[int, int, Progress], None] | None = None,
) -> TournamentResult:
    """Plays all tables of a tournament and returns their games.

    `folder` stores one file per table, from which a tournament is resumed; agents may be added to it. `on_progress` is
    called with the index of the current table, the number of tables, and the progress of the table. Raises ValueError
    for fewer than two agents, ForeignData if the folder holds another tournament.
    """
    names = tuple(agents)
    if len(names) < 2:
        raise ValueError(f"expected at least two agents, got {len(names)}")
    num_tables = _num_tables(plan.kind, len(names), game, plan.rounds)
    duels: list[DuelResult] = []
    for table in _tables(plan.kind, names, game, plan.rounds, duels):

        def report(progress: Progress, number: int = len(duels)) -> None:
            if on_progress is not None:
                on_progress(number, num_tables, progress)

        schedule = duel_schedule(
            game,
            {name: agents[name] for name in table.names},
            num_games=plan.num_games,
            openings=_openings(game, plan, table),
            seating=table.seating,
            identity=None if plan.identity is None else plan.identity(table.names),
        )
        try:
            records = play_match(
                game,
                schedule,
                replace(conditions, seed=_table_seed(conditions.seed, table)),
                journal=None if folder is None else folder / f"{table.key}.jsonl",
                callbacks=MatchCallbacks(on_progress=report),
            )
        except ForeignData as error:
            # The tables of a ladder depend on all games before.
            shared = "agents, openings and games a table" if plan.kind == "ladder" else "agents and openings"
            raise ForeignData(
                f"{folder} holds the games of a tournament other than that of seed {conditions.seed} with these "
                f"{shared}; resume it with its own settings, or choose another folder ({error})"
            ) from error
        duels.append(DuelResult.of(schedule, records, score=conditions.score))
    return TournamentResult(game.spec.name, plan.kind, names, tuple(duels))


def _openings(game: Game, plan: TournamentPlan, table: Table) -> Sequence[Opening]:
    """Returns the openings of a table: the same for all tables of a round, and independent of the number of rounds."""
    num_openings = -(-plan.num_games // len(duel_seatings(game, table.names, table.seating)))
    first = table.round * num_openings
    if plan.openings is None:
        return openings_from_seeds(num_openings, first=first)
    round_openings = plan.openings[first : first + num_openings]
    return round_openings if len(round_openings) == num_openings else plan.openings


def _table_seed(seed: int, table: Table) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed} {table.key}".encode(), digest_size=7).digest())


def _tables(
    kind: Kind, names: tuple[str, ...], game: Game, rounds: int, duels: Sequence[DuelResult]
) -> Iterator[Table]:
    """Yields the tables; `duels` are the results of those before, which determine the tables of a ladder."""
    num_sides = len(game.spec.sides)
    if kind == "gauntlet":
        all_others = [(names[0],) + (other,) * (num_sides - 1) for other in names[1:]]
        yield from (Table((names[0], other[-1]), seating_of(game, other)) for other in all_others)
    elif kind == "round-robin":
        size = min(num_sides, len(names))
        yield from (Table(together, seating_of(game, together)) for together in combinations(names, size))
    else:
        for number in range(rounds):
            order = _sort_by_rating(names, duels)
            tables = _neighbours(order, num_sides, number)
            yield from [Table(together, seating_of(game, together), number) for together in tables]


def _num_tables(kind: Kind, num_agents: int, game: Game, rounds: int) -> int:
    names = tuple(str(agent) for agent in range(num_agents))
    if kind == "ladder":
        return sum(len(_neighbours(names, len(game.spec.sides), number)) for number in range(rounds))
    return sum(1 for _ in _tables(kind, names, game, rounds, ()))


def _sort_by_rating(names: tuple[str, ...], duels: Sequence[DuelResult]) -> tuple[str, ...]:
    rankings = _rankings(_join_duels(duels))
    if not rankings:
        return names
    ratings = fit_ratings(rankings)
    strengths = dict(zip(ratings.names, ratings.elo.tolist(), strict=True))
    return tuple(sorted(names, key=lambda name: -strengths.get(name, 0.0)))


def _join_duels(duels: Sequence[DuelResult]) -> tuple[DuelResult, ...]:
    by_seatings: dict[frozenset[tuple[str, ...]], list[DuelResult]] = {}
    for duel in duels:
        by_seatings.setdefault(frozenset(duel.seatings), []).append(duel)
    return tuple(map(DuelResult.joined, by_seatings.values()))


def _rankings(duels: Sequence[DuelResult]) -> list[Ranking]:
    return [ranking for duel in duels for ranking in duel.rankings()]


def _neighbours(order: tuple[str, ...], num_sides: int, number: int) -> list[tuple[str, ...]]:
    """Returns tables of neighbours, shifted by half a table in every other round, so that winners move up."""
    size = min(num_sides, len(order))
    first = number % 2 * (size // 2)
    starts = {min(start, len(order) - size) for start in range(first, len(order), size)} | {0}
    return [order[start : start + size] for start in sorted(starts)]
