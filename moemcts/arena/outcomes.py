"""The value of a finished game for its players: a score of the returns, and wins, ties and losses derived from it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from moemcts.arena.intervals import Interval, effective_number, share_interval
from moemcts.game import FloatArray, Player

Outcome = Literal["win", "tie", "loss"]
Score = Callable[[FloatArray, Player], float]
"""The score of a game for a player, from 0 to 1, given the returns `[P]` when it stopped."""


def last_one_standing(returns: FloatArray, player: Player) -> float:
    """Returns 0 if another return is higher; otherwise 1 for a positive return, 1/2 for one that is not.

    If the last players of a free-for-all are eliminated together, or time runs out, nobody's return is positive: that
    is a tie of those with the highest return, and a loss for those who were eliminated before.
    """
    best = returns.max()
    if returns[player] < best:
        return 0.0
    return 1.0 if best > 0 else 0.5


def pairwise_score(ours: float, theirs: float) -> float:
    """Returns the score of a player with return `ours` against one with `theirs`: 1 if higher, 0 if lower, 1/2 if
    equal.
    """
    return 1.0 if ours > theirs else 0.0 if ours < theirs else 0.5


def outcome_of(score: float) -> Outcome:
    """Returns the outcome for a score: win for 1, loss for 0, tie for anything between."""
    return "win" if score == 1 else "loss" if score == 0 else "tie"


def points(outcome: Outcome | None, tie_value: float = 0.5) -> float:
    """Returns the score of an outcome, with `tie_value` for a tie; 0 without an outcome."""
    return 1.0 if outcome == "win" else tie_value if outcome == "tie" else 0.0


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Wins, ties and losses, each share with its 95 % interval, see `share_interval`."""

    num_games: int
    """Number of results: games, or all seats that one agent had in them."""
    wins: int
    ties: int
    losses: int
    num_effective: float
    """Equivalent number of independent games: fewer than all if some repeat others, or are for several seats of an
    agent in one game, see `effective_number`."""
    win_interval: Interval
    tie_interval: Interval
    loss_interval: Interval

    @property
    def win_rate(self) -> float:
        """Wins divided by games; 0 without games."""
        return self.wins / self.num_games if self.num_games else 0.0

    @classmethod
    def of(cls, outcomes: Sequence[Outcome | None], observations: Iterable[Hashable] | None = None) -> Tally:
        """Counts the outcomes; those with equal `observations` are one observation, by default each is its own."""
        keys = list(range(len(outcomes)) if observations is None else observations)
        return cls(
            num_games=len(outcomes),
            wins=outcomes.count("win"),
            ties=outcomes.count("tie"),
            losses=outcomes.count("loss"),
            num_effective=len(outcomes) if observations is None else effective_number(keys),
            win_interval=share_interval([outcome == "win" for outcome in outcomes], keys),
            tie_interval=share_interval([outcome == "tie" for outcome in outcomes], keys),
            loss_interval=share_interval([outcome == "loss" for outcome in outcomes], keys),
        )

    def to_json(self) -> dict[str, Any]:
        """Returns counts and shares with intervals as JSON values."""
        intervals = {name: list(getattr(self, name)) for name in ("win_interval", "tie_interval", "loss_interval")}
        return asdict(self) | {"win_rate": self.win_rate} | intervals
