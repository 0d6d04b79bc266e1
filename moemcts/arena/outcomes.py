"""What a game was worth to its players: a score of the returns, and wins, ties and losses as one reading of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from moemcts.arena.intervals import Interval, effective_number, share_interval
from moemcts.game import FloatArray, Player

Outcome = Literal["win", "tie", "loss"]
Score = Callable[[FloatArray, Player], float]
"""What a game was worth to a player, from 0 to 1, by the returns `[P]` when it stopped."""


def last_one_standing(returns: FloatArray, player: Player) -> float:
    """Returns 0 for a return that another exceeds; of those that none does 1 where it is positive, 1/2 where it is not.

    Where the last players of a free-for-all fall together, or time runs out, nobody's return is positive: that is a tie
    of those who got most, and who fell before the others has lost.
    """
    best = returns.max()
    if returns[player] < best:
        return 0.0
    return 1.0 if best > 0 else 0.5


def better(ours: float, theirs: float) -> float:
    """Returns the score of who got more than another: 1, of who got less 0, of equals 1/2."""
    return 1.0 if ours > theirs else 0.0 if ours < theirs else 0.5


def outcome_of(score: float) -> Outcome:
    """Returns what people call a score."""
    return "win" if score == 1 else "loss" if score == 0 else "tie"


def points(outcome: Outcome | None, tie_value: float = 0.5) -> float:
    """Returns the score of an outcome, where a tie counts as `tie_value`; 0 without one."""
    return 1.0 if outcome == "win" else tie_value if outcome == "tie" else 0.0


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Wins, ties and losses, each share with its 95 % interval, see `share_interval`."""

    num_games: int
    """Results that are counted: games, or all seats that one agent had in them."""
    wins: int
    ties: int
    losses: int
    num_effective: float
    """Games that say as much as these: fewer than all where some repeat others, or are of one agent's seats in the same
    game, see `effective_number`."""
    win_interval: Interval
    tie_interval: Interval
    loss_interval: Interval

    @property
    def win_rate(self) -> float:
        """Wins over games; 0 without games."""
        return self.wins / self.num_games if self.num_games else 0.0

    @classmethod
    def of(cls, outcomes: Sequence[Outcome | None], observations: Iterable[Hashable] | None = None) -> Tally:
        """Counts the outcomes; those of which the `observations` are equal are one, by default none."""
        apart = list(range(len(outcomes)) if observations is None else observations)
        return cls(
            num_games=len(outcomes),
            wins=outcomes.count("win"),
            ties=outcomes.count("tie"),
            losses=outcomes.count("loss"),
            num_effective=len(outcomes) if observations is None else effective_number(apart),
            win_interval=share_interval([outcome == "win" for outcome in outcomes], apart),
            tie_interval=share_interval([outcome == "tie" for outcome in outcomes], apart),
            loss_interval=share_interval([outcome == "loss" for outcome in outcomes], apart),
        )

    def to_json(self) -> dict[str, Any]:
        """Returns counts and shares with intervals as JSON values."""
        intervals = {name: list(getattr(self, name)) for name in ("win_interval", "tie_interval", "loss_interval")}
        return asdict(self) | {"win_rate": self.win_rate} | intervals
