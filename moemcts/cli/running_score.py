"""The intermediate result of a match in progress."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from moemcts.arena.outcomes import last_one_standing, outcome_of
from moemcts.arena.rating import elo
from moemcts.arena.records import GameRecord, RepeatedStarts

if TYPE_CHECKING:
    from moemcts.runs.match import Match


class RunningScore:
    """Tracks the result of finished games.

    Shows Elo for two agents against each other, mean returns in games of one player, else win rates.
    """

    def __init__(self, match: Match, say: Callable[[str], None]) -> None:
        """Calls `say` for games in which an agent failed."""
        self._match = match
        self._say = say
        self.num_games = 0
        self.num_plies = 0
        """Plies played in this session, including those of unfinished games; set by the caller."""
        self._wins: Counter[str] = Counter()
        self._seats: Counter[str] = Counter()
        self._shows_elo = match.is_duel and len(match.game.spec.sides) == 2
        self._return_sums: defaultdict[str, float] = defaultdict(float)
        """Sums of returns in the game's own score."""
        self._counts = [0, 0, 0]
        """Losses, draws and wins of the first agent."""
        self._distinct_counts = [0, 0, 0]
        """The same without games that repeat others."""
        self._repeats = RepeatedStarts()

    def add(self, record: GameRecord) -> None:
        """Adds a game."""
        self.num_games += 1
        if record.failure:
            self._say(f"game {record.index + 1} lost by {record.termination}: {record.failure}")
        returns = np.array(record.returns, dtype=np.float32)
        for player, name in enumerate(record.agents):
            if record.focus in (None, player):
                self._seats[name] += 1
                self._wins[name] += outcome_of(last_one_standing(returns, player)) == "win"
                self._return_sums[name] += self._match.game.spec.score_unit * record.returns[player]
        if self._shows_elo:
            ours, theirs = (returns[record.agents.index(name)] for name in self._match.plan.agents)
            result = 1 + int(ours > theirs) - int(ours < theirs)
            self._counts[result] += 1
            self._distinct_counts[result] += self._repeats.is_new(record)

    def describe(self) -> str:
        """Returns the result as a line of text."""
        return ", ".join(filter(None, [self._score(), f"{self.num_plies:,} plies"]))

    def _score(self) -> str:
        if not self.num_games:
            return ""
        if self._shows_elo:
            # As in the final table, see `records.informative`.
            losses, draws, wins = self._distinct_counts if self._repeats.is_deterministic else self._counts
            return f"Elo {elo(wins, draws, losses)} ({wins}-{draws}-{losses})"
        seats = {name: self._seats[name] for name in self._match.plan.agents if self._seats[name]}
        if self._match.is_solo:
            means = [f"{_short(name)} {self._return_sums[name] / seats[name]:.2f}" for name in seats]
            return f"returns {', '.join(means)}"
        rates = [f"{_short(name)} {100 * self._wins[name] / seats[name]:.1f} %" for name in seats]
        return f"wins {', '.join(rates)}"


def _short(name: str) -> str:
    """Returns a reference without leading folders."""
    path, question, options = name.partition("?")
    return path.rstrip("/").rpartition("/")[2] + question + options
