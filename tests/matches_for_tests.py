"""Matches in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from moemcts.agents import Agent
from moemcts.arena import (
    Conditions,
    DuelResult,
    MatchResult,
    Opening,
    SequentialTest,
    Watch,
    duel_schedule,
    match_schedule,
    play_match,
)
from moemcts.arena.rating import Sprt
from moemcts.game import Game


def match(
    game: Game,
    arms: Mapping[str, Agent],
    field: Agent | Sequence[Agent],
    *,
    num_games: int,
    openings: Sequence[Opening] | None = None,
    identity: Mapping[str, Any] | None = None,
    baseline: str | None = None,
    path: Path | None = None,
    watch: Watch = Watch(),  # noqa: B008
    **conditions: Any,
) -> MatchResult:
    """Plays a match here and returns what it says."""
    schedule = match_schedule(game, arms, field, num_games=num_games, openings=openings, identity=identity)
    records = play_match(game, schedule, Conditions(**conditions), journal=path, watch=watch)
    return MatchResult.of(schedule, records, baseline=baseline)


def duel(
    game: Game,
    agents: Mapping[str, Agent],
    *,
    num_games: int,
    openings: Sequence[Opening] | None = None,
    seating: Sequence[str] = (),
    sprt: Sprt | None = None,
    path: Path | None = None,
    **conditions: Any,
) -> DuelResult:
    """Plays a duel here and returns what it says."""
    schedule = duel_schedule(game, agents, num_games=num_games, openings=openings, seating=seating)
    stop = None if sprt is None else SequentialTest(schedule, sprt)
    records = play_match(game, schedule, Conditions(**conditions), journal=path, stop=stop)
    return DuelResult.of(schedule, records, sprt=sprt)
