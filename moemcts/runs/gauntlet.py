"""Matches of generations: of the newest against the one that plays, and against opponents that stay the same."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moemcts.agents import Agent, Named
from moemcts.arena.duel import DuelResult, SequentialTest
from moemcts.arena.games import Conditions
from moemcts.arena.openings import Opening
from moemcts.arena.playing import Watch, play_match
from moemcts.arena.rating import Sprt
from moemcts.arena.schedules import Remake, duel_schedule
from moemcts.game import Game
from moemcts.work import Workers
from moemcts.work.progress import Advance


@dataclass(frozen=True, kw_only=True)
class Duel:
    """Two agents against each other."""

    game: Game
    agents: Mapping[str, Agent]
    """By the names in the match's file."""
    openings: Sequence[Opening]
    num_games: int
    seed: int
    parallel: int
    identity: Mapping[str, Any]
    """What else decides the games."""
    journal: Path
    seating: Sequence[str]
    """Who sits where in the first game on an opening; in the others everybody moves on by one seat."""
    sprt: Sprt | None = None
    remake: Remake | None = None
    """What other processes need to play it."""

    def play(self, workers: Workers, advance: Advance) -> DuelResult:
        """Plays what is not played yet, and returns all games."""
        schedule = duel_schedule(
            self.game,
            {name: Named(agent, name) for name, agent in self.agents.items()},
            num_games=self.num_games,
            openings=self.openings,
            seating=self.seating,
            identity=self.identity,
            remake=self.remake,
        )
        test = None if self.sprt is None else SequentialTest(schedule, self.sprt)
        records = play_match(
            self.game,
            schedule,
            Conditions(seed=self.seed, max_parallel=self.parallel),
            journal=self.journal,
            workers=workers,
            stop=test,
            watch=Watch(on_progress=lambda state: advance(state.num_finished, self.num_games)),
        )
        return DuelResult.of(schedule, records, sprt=self.sprt)


def in_turn(game: Game, first: str, second: str) -> tuple[str, ...]:
    """Returns the seats of two agents that have as many each: only then are equals expected to score one half.

    Raises ValueError for a game of an odd number of players.
    """
    num_players = game.spec.num_players
    if num_players % 2:
        raise ValueError(f"expected a game in which two agents have as many seats each, got one of {num_players}")
    return (first, second) * (num_players // 2)


def one_against_all(game: Game, first: str, second: str) -> tuple[str, ...]:
    """Returns the seats where the second agent has all but one: what ratings are fitted to, whatever is expected."""
    return (first, *[second] * (game.spec.num_players - 1))


def manifest_digest(experts: Path) -> str:
    """Returns a name for exactly the experts in a folder."""
    return hashlib.sha256((experts / "manifest.toml").read_bytes()).hexdigest()[:16]


def is_promoted(result: DuelResult, name: str, *, score: float, sprt: Sprt | None) -> bool:
    """Returns whether an agent has scored more than `score` on the mean, or with a test whether that decided for it."""
    if sprt is not None:
        return sprt.decision(result.evidence(sprt)) == "H1"
    scores = result.scores(name)
    return sum(scores) / len(scores) > score
