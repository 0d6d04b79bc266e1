"""How a match stands while it is played."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from moemcts.arena.outcomes import last_one_standing, outcome_of
from moemcts.arena.rating import elo
from moemcts.arena.records import GameRecord, Ways

if TYPE_CHECKING:
    from moemcts.runs.match import Match


class Standing:
    """Counts games as they finish: Elo where two agents play each other, mean returns of who plays alone, else wins."""

    def __init__(self, match: Match, say: Callable[[str], None]) -> None:
        """Tells `say` about games in which an agent failed."""
        self._match = match
        self._say = say
        self.num_games = 0
        self.num_plies = 0
        """Played now, in unfinished games too: whoever plays keeps it."""
        self._wins: Counter[str] = Counter()
        self._seats: Counter[str] = Counter()
        self._shows_elo = match.is_duel and len(match.game.spec.sides) == 2
        self._got: defaultdict[str, float] = defaultdict(float)
        """Returns in all, in the game's own score."""
        self._first = [0, 0, 0]
        """Losses, draws and wins of the first agent."""
        self._new = [0, 0, 0]
        """Without those of games that repeat others."""
        self._ways = Ways()

    def note(self, record: GameRecord) -> None:
        """Counts a game."""
        self.num_games += 1
        if record.failure:
            self._say(f"game {record.index + 1} lost by {record.termination}: {record.failure}")
        returns = np.array(record.returns, dtype=np.float32)
        for player, name in enumerate(record.agents):
            if record.focus in (None, player):
                self._seats[name] += 1
                self._wins[name] += outcome_of(last_one_standing(returns, player)) == "win"
                self._got[name] += self._match.game.spec.score_unit * record.returns[player]
        if self._shows_elo:
            ours, theirs = (returns[record.agents.index(name)] for name in self._match.plan.agents)
            result = 1 + int(ours > theirs) - int(ours < theirs)
            self._first[result] += 1
            self._new[result] += self._ways.is_new(record)

    def describe(self) -> str:
        """Returns one line."""
        return ", ".join(filter(None, [self._score(), f"{self.num_plies:,} plies"]))

    def _score(self) -> str:
        if not self.num_games:
            return ""
        if self._shows_elo:
            # What the table counts at the end, see `records.telling`.
            losses, draws, wins = self._new if self._ways.are_fixed else self._first
            return f"Elo {elo(wins, draws, losses)} ({wins}-{draws}-{losses})"
        seats = {name: max(self._seats[name], 1) for name in self._match.plan.agents}
        if self._match.is_solo:
            return f"returns {', '.join(f'{_short(name)} {self._got[name] / seats[name]:.2f}' for name in seats)}"
        return f"wins {', '.join(f'{_short(name)} {100 * self._wins[name] / seats[name]:.1f} %' for name in seats)}"


def _short(name: str) -> str:
    """Returns a reference without the folders it lies in."""
    path, question, options = name.partition("?")
    return path.rstrip("/").rpartition("/")[2] + question + options
