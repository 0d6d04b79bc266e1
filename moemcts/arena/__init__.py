"""The arena: matches between agents, and their statistics."""

from moemcts.arena.duel import DuelResult, SequentialTest
from moemcts.arena.games import Conditions, Progress, play_games
from moemcts.arena.match import ArmSummary, Difference, MatchResult
from moemcts.arena.openings import Opening, Suite, openings_from_seeds, read_openings
from moemcts.arena.outcomes import Outcome, Score, Tally, last_one_standing
from moemcts.arena.pairings import PairedResult, paired_schedule, result_of, sequential_test
from moemcts.arena.playing import MatchCallbacks, play_match
from moemcts.arena.records import GameRecord, Lineup
from moemcts.arena.schedules import (
    DuelSchedule,
    MatchSchedule,
    Schedule,
    SoloSchedule,
    duel_schedule,
    match_schedule,
)
from moemcts.arena.solo import Gain, SoloResult
from moemcts.arena.verdict import verdict

__all__ = [
    "ArmSummary",
    "Conditions",
    "Difference",
    "DuelResult",
    "DuelSchedule",
    "Gain",
    "GameRecord",
    "Lineup",
    "MatchCallbacks",
    "MatchResult",
    "MatchSchedule",
    "Opening",
    "Outcome",
    "PairedResult",
    "Progress",
    "Schedule",
    "Score",
    "SequentialTest",
    "SoloResult",
    "SoloSchedule",
    "Suite",
    "Tally",
    "duel_schedule",
    "last_one_standing",
    "match_schedule",
    "openings_from_seeds",
    "paired_schedule",
    "play_games",
    "play_match",
    "read_openings",
    "result_of",
    "sequential_test",
    "verdict",
]
