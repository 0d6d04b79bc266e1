"""Matches of arms: every arm plays the same boards, seats and seeds against the same field."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Self

from moemcts.arena.intervals import Estimate, mcnemar_test, mean_interval, sign_flip_test
from moemcts.arena.outcomes import Tally, points
from moemcts.arena.records import GameRecord, boards_of, num_duplicates, observations_of, terminations
from moemcts.arena.schedules import MatchSchedule
from moemcts.arena.verdict import verdict
from moemcts.errors import unknown_name
from moemcts.game import Player


@dataclass(frozen=True, kw_only=True)
class ArmSummary:
    """The results of one arm."""

    name: str
    tally: Tally
    score: Estimate
    """Mean score in [0, 1], with ties counted as `MatchResult.tie_value`; boards are the independent unit."""
    mean_plies: float
    by_seat: tuple[Tally, ...]
    """By the seat of the arm, as seats are unequal in many games."""
    num_duplicates: int
    """Games that repeat an earlier one of this arm move for move, and so provide no evidence."""
    num_truncated: int

    def to_json(self) -> dict[str, Any]:
        """Returns the summary as JSON values."""
        return {
            "name": self.name,
            **self.tally.to_json(),
            "score": asdict(self.score),
            "mean_plies": self.mean_plies,
            "by_seat": [seat.to_json() for seat in self.by_seat],
            "num_duplicates": self.num_duplicates,
            "num_truncated": self.num_truncated,
        }


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The paired difference between two arms on the same boards, seats and seeds."""

    arm: str
    baseline: str
    wins: Estimate
    """Difference of win rates with Student's t interval over boards."""
    score: Estimate
    """Difference of mean scores, likewise."""
    p_value: float
    """Two-sided, for equal win rates: signs of whole boards flipped at random."""
    num_only_arm: int
    """Pairs of games that only the arm has won; boards that were played identically count once."""
    num_only_baseline: int
    mcnemar_p_value: float
    """Exact, from these pairs; assumes that games in different seats of a board are independent."""
    win_differences: tuple[float, ...]
    """Per pair of games: 1 if only the arm has won, -1 if only the baseline, else 0."""
    boards: tuple[str, ...]
    """The board of each pair; with `win_differences`, the input of `seed_interval` for each training seed."""

    @property
    def verdict(self) -> str:
        """One sentence on the difference of win rates."""
        low, high = self.wins.interval
        return verdict(100 * self.wins.mean, (100 * low, 100 * high), self.wins.num_observations)

    def to_json(self) -> dict[str, Any]:
        """Returns the difference as JSON values, without individual pairs."""
        values = asdict(self)
        del values["win_differences"], values["boards"]
        return values | {"verdict": self.verdict}


def tally_of(*matches: Sequence[GameRecord], seat: Player | None = None) -> Tally:
    """Returns wins, ties and losses of an arm, in all seats or one.

    Boards that were played identically, within a match or across matches, do not narrow the intervals.
    """
    results = [
        (game.outcome, observation)
        for games in matches
        for game, observation in zip(games, observations_of(games), strict=True)
        if seat in (None, game.focus)
    ]
    return Tally.of([outcome for outcome, _ in results], [observation for _, observation in results])


@dataclass(frozen=True)
class MatchResult:
    """The games of a match and their statistics."""

    game: str
    arms: tuple[str, ...]
    num_seats: int
    baseline: str
    tie_value: float
    records: tuple[GameRecord, ...]
    """In the order of the schedule: by board, then by seat, then by arm."""

    @classmethod
    def of(
        cls,
        schedule: MatchSchedule,
        records: Sequence[GameRecord],
        *,
        baseline: str | None = None,
        tie_value: float = 0.5,
    ) -> Self:
        """Returns the result for the games of a schedule; the baseline is the first arm by default."""
        if baseline is not None and baseline not in schedule.arms:
            raise unknown_name("arm", baseline, schedule.arms)
        return cls(
            schedule.game, schedule.arms, schedule.num_seats, baseline or schedule.arms[0], tie_value, tuple(records)
        )

    @classmethod
    def joined(cls, results: Sequence[Self], *, baseline: str) -> Self:
        """Returns matches on the same boards, each of one arm, combined into one; the baseline is the first arm if it
        did not play.
        """
        first = results[0]
        arms = tuple(result.arms[0] for result in results)
        interleaved = itertools.chain.from_iterable(zip(*(result.records for result in results), strict=True))
        records = tuple(replace(record, index=index) for index, record in enumerate(interleaved))
        return replace(first, arms=arms, baseline=baseline if baseline in arms else arms[0], records=records)

    def games(self, arm: str) -> list[GameRecord]:
        """Returns the games of one arm; raises UsageError for an unknown arm."""
        if arm not in self.arms:
            raise unknown_name("arm", arm, self.arms)
        return self._by_arm[arm]

    def summary(self, arm: str) -> ArmSummary:
        """Returns the results of one arm."""
        games = self.games(arm)
        return ArmSummary(
            name=arm,
            tally=tally_of(games),
            score=mean_interval([self._score(game) for game in games], boards_of(games), bounds=(0.0, 1.0)),
            mean_plies=sum(game.plies for game in games) / max(len(games), 1),
            by_seat=tuple(tally_of(games, seat=seat) for seat in range(self.num_seats)),
            num_duplicates=num_duplicates(games),
            num_truncated=sum(game.truncated for game in games),
        )

    def difference(self, arm: str, baseline: str | None = None) -> Difference:
        """Returns the paired difference of two arms, over the games that both have finished."""
        baseline = self.baseline if baseline is None else baseline
        pairs, boards = self.pairs(arm, baseline)
        wins = tuple(float(ours.outcome == "win") - float(other.outcome == "win") for ours, other in pairs)
        scores = [self._score(ours) - self._score(other) for ours, other in pairs]
        # Identically played boards are a single observation, so only one pair of them counts.
        distinct_wins = {(board, ours.focus): won for board, (ours, _), won in zip(boards, pairs, wins, strict=True)}
        num_only_arm, num_only_baseline = (list(distinct_wins.values()).count(won) for won in (1.0, -1.0))
        return Difference(
            arm=arm,
            baseline=baseline,
            wins=mean_interval(wins, boards),
            score=mean_interval(scores, boards),
            p_value=sign_flip_test(wins, boards),
            num_only_arm=num_only_arm,
            num_only_baseline=num_only_baseline,
            mcnemar_p_value=mcnemar_test(num_only_arm, num_only_baseline),
            win_differences=wins,
            boards=boards,
        )

    def pairs(self, arm: str, other: str) -> tuple[list[tuple[GameRecord, GameRecord]], tuple[str, ...]]:
        """Returns the pairs of games that two arms have finished on the same boards in the same seats, and their
        boards.
        """
        theirs = {(game.opening, game.focus): game for game in self.games(other)}
        pairs = [(game, theirs[key]) for game in self.games(arm) if (key := (game.opening, game.focus)) in theirs]
        return pairs, tuple(boards_of([game for pair in pairs for game in pair])[::2])

    def to_json(self) -> dict[str, Any]:
        """Returns all summaries and the differences from the baseline as JSON values, without the games."""
        return {
            "game": self.game,
            "num_games": len(self.records),
            "terminations": terminations(self.records),
            "tie_value": self.tie_value,
            "baseline": self.baseline,
            "arms": [self.summary(arm).to_json() for arm in self.arms],
            "differences": [self.difference(arm).to_json() for arm in self.arms if arm != self.baseline],
        }

    @cached_property
    def _by_arm(self) -> dict[str, list[GameRecord]]:
        return {arm: [game for game in self.records if game.label == arm] for arm in self.arms}

    def _score(self, game: GameRecord) -> float:
        return points(game.outcome, self.tie_value)
