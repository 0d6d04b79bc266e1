"""The arena: matches that prove something, and what they prove."""

from moemcts.arena.duel import DuelResult, duel
from moemcts.arena.games import GameRecord, Lineup, Outcome, OutcomeRule, Progress, last_one_standing, play_games
from moemcts.arena.match import (
    ArmSummary,
    Difference,
    MatchResult,
    Tally,
    difference_over_seeds,
    match,
    win_rate_over_seeds,
)
from moemcts.arena.openings import Opening, Suite, openings_from_seeds, read_openings
from moemcts.arena.verdict import verdict

__all__ = [
    "ArmSummary",
    "Difference",
    "DuelResult",
    "GameRecord",
    "Lineup",
    "MatchResult",
    "Opening",
    "Outcome",
    "OutcomeRule",
    "Progress",
    "Suite",
    "Tally",
    "difference_over_seeds",
    "duel",
    "last_one_standing",
    "match",
    "openings_from_seeds",
    "play_games",
    "read_openings",
    "verdict",
    "win_rate_over_seeds",
]
