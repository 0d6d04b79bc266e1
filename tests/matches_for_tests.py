"""Matches in a single call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from moemcts.agents import Agent
from moemcts.arena import (
    Conditions,
    DuelResult,
    GameRecord,
    MatchCallbacks,
    MatchResult,
    Opening,
    SequentialTest,
    duel_schedule,
    last_one_standing,
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
    callbacks: MatchCallbacks = MatchCallbacks(),  # noqa: B008
    **conditions: Any,
) -> MatchResult:
    """Plays a match and returns its result."""
    schedule = match_schedule(game, arms, field, num_games=num_games, openings=openings, identity=identity)
    records = play_match(game, schedule, Conditions(**conditions), journal=path, callbacks=callbacks)
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
    """Plays a duel and returns its result."""
    schedule = duel_schedule(game, agents, num_games=num_games, openings=openings, seating=seating)
    stop = None if sprt is None else SequentialTest(schedule, sprt)
    records = play_match(game, schedule, Conditions(**conditions), journal=path, stop=stop)
    return DuelResult.of(schedule, records, sprt=sprt)


def ended(
    seatings: Sequence[Sequence[str]], returns: Sequence[Sequence[float]], teams: tuple[tuple[int, ...], ...] = ()
) -> DuelResult:
    """Returns a duel whose games have these returns, alternating between seatings."""
    records = tuple(
        game_record(index, seatings[index % len(seatings)], one, opening=f"seed {index // len(seatings)}")
        for index, one in enumerate(returns)
    )
    names = tuple(dict.fromkeys(seatings[0]))
    sides = teams or tuple((player,) for player in range(len(seatings[0])))
    return DuelResult("a game", names, tuple(map(tuple, seatings)), sides, last_one_standing, None, records)


def game_record(index: int, agents: Sequence[str], returns: Sequence[float], **changes: Any) -> GameRecord:
    """Returns a game with these returns, distinct from games with other indices."""
    made = GameRecord(
        index=index,
        label="",
        agents=tuple(agents),
        opening=f"seed {index}",
        start_key=index,
        focus=None,
        returns=tuple(returns),
        outcome=None,
        plies=1,
        truncated=False,
        moves=((index,),),
    )
    return replace(made, **changes)
