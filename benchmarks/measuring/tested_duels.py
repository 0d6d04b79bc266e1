"""Matches of two agents that end as soon as a sequential test is decided, and their rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moemcts.agents import Agent
from moemcts.arena import Conditions, DuelResult, duel_schedule, play_match
from moemcts.arena.duel import SequentialTest
from moemcts.arena.openings import first_board, starts
from moemcts.arena.rating import Sprt
from moemcts.game import Game


def tested_duel(
    game: Game,
    agents: Mapping[str, Agent],
    conditions: Conditions,
    *,
    num_games: int,
    random_plies: int,
    sprt: Sprt | None,
    journal: Path | None,
    identity: Mapping[str, Any],
) -> DuelResult:
    """Returns the games of two agents on openings given by the conditions' seed, all of them without a test.

    Games in the journal are not played again.
    """
    openings = starts(game, -(-num_games // 2), random_plies=random_plies, seed=first_board(conditions.seed))
    schedule = duel_schedule(game, agents, num_games=num_games, openings=openings, identity=identity)
    stop = SequentialTest(schedule, sprt) if sprt else None
    records = play_match(game, schedule, conditions, journal=journal, stop=stop)
    return DuelResult.of(schedule, records, sprt=sprt)


def duel_statistics(result: DuelResult) -> dict[str, Any]:
    """Returns the columns for the first agent: its Elo over the second, its score, and the result of the test."""
    statistics = result.to_json()
    first = statistics["agents"][0]
    difference = first["pentanomial_elo"] or first["elo"]
    return {
        "value": round(difference["difference"], 1),
        "interval": [difference["low"], difference["high"]],
        "unit": "Elo",
        "games": statistics["num_games"],
        "duplicates": statistics["num_duplicates"],
        **{key: first[key] for key in ("wins", "ties", "losses", "pairs")},
        **({"sprt": statistics["sprt"]} if result.sprt else {}),
    }
