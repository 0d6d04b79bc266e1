"""Pooling of matches of several training seeds from several rows; every seed has equal weight."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from moemcts.arena.intervals import SeedEstimate, agreed_variance, pooled_interval
from moemcts.arena.rating import EloRange, score_of_elo

ROUNDING = 5e-4
"""Largest deviation of a score from that of its Elo, which rows round to one digit."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """The data of one row on its training seeds."""

    name: str
    elos: Sequence[float]
    """The Elo of each seed."""
    counts: tuple[int, int, int]
    """Games won, drawn and lost, over all seeds."""
    scores: Sequence[float] | None = None
    """The score of each seed; earlier rows have only Elos."""
    variance: float | None = None
    """The variance of the mean of these scores due to games only; missing in earlier rows."""

    @classmethod
    def of_duels(cls, row: Mapping[str, Any]) -> Self:
        """Returns the data of a row of duels."""
        return cls(
            name=row["name"],
            elos=row["by training"],
            counts=tuple(row["counts"]),
            scores=row.get("scores by training"),
            variance=row.get("own variance"),
        )

    def by_seed(self) -> list[float]:
        """Returns the score of each seed.

        Raises ValueError if a row has no scores and its Elo does not match its games: the Elo of a seed that won all
        games is only a bound.
        """
        if self.scores is not None:
            return list(self.scores)
        if len(self.elos) == 1:
            return [self._score]
        scores = [score_of_elo(elo) for elo in self.elos]
        if abs(statistics.fmean(scores) - self._score) > ROUNDING:
            raise ValueError(
                f"expected the Elo of the games of each seed, got another in {self.name!r}: "
                f"a mean score of {statistics.fmean(scores):.3f}, of its games {self._score:.3f}; record it anew"
            )
        return scores

    def variance_by_seed(self) -> float:
        """Returns the variance of a seed's score due to games, averaged over seeds."""
        num_seeds, num_games = len(self.elos), sum(self.counts)
        if self.variance is not None:
            return self.variance * num_seeds
        won, drawn, _ = self.counts
        # As if games were unpaired, which overestimates the variance.
        of_game = (won + drawn / 4) / num_games - self._score**2
        if of_game > 1e-12:
            return of_game * num_seeds / num_games
        return agreed_variance(self._score, num_games / num_seeds / 2, bounds=(0.0, 1.0))

    @property
    def _score(self) -> float:
        won, drawn, _ = self.counts
        return (won + drawn / 2) / sum(self.counts)


def pooled_scores(parts: Sequence[Part]) -> SeedEstimate:
    """Returns the mean score over all training seeds of some rows; at least as uncertain as the games imply."""
    num_games = sum(sum(part.counts) for part in parts)
    return pooled_interval(
        [score for part in parts for score in part.by_seed()],
        [part.variance_by_seed() for part in parts for _ in part.elos],
        num_observations=num_games,
        num_clusters=num_games,
        bounds=(0.0, 1.0),
    )


def elo_of_counts(counts: Sequence[Sequence[int]], *, num_distinct: int | None = None) -> EloRange:
    """Returns the Elo from games won, drawn and lost per training seed, with its interval over seeds; if games are
    repeated, at most `num_distinct` count per seed.
    """
    scores, variances = [], []
    for won, drawn, lost in counts:
        num_games = won + drawn + lost
        score = (won + drawn / 2) / num_games
        scores.append(score)
        variances.append(((won + drawn / 4) / num_games - score**2) / min(num_games, num_distinct or num_games))
    total = sum(map(sum, counts))
    estimate = pooled_interval(scores, variances, num_observations=total, num_clusters=total, bounds=(0.0, 1.0))
    return EloRange.of(estimate.mean, estimate.interval)


def other_than(row: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the Elo difference between two rows of duels of the same trainings, with its interval over trainings.

    The interval is at least as wide as the games of both rows imply if their openings are independent, as rows do not
    have results by opening. Raises ValueError if the numbers of trainings differ, or for a single training, which gives
    no interval.
    """
    ours, theirs = row["by training"], other["by training"]
    if len(ours) != len(theirs) or len(ours) < 2:
        raise ValueError(f"expected two rows of the same trainings, got {len(ours)} and {len(theirs)}")
    differences = [elo - other_elo for elo, other_elo in zip(ours, theirs, strict=True)]
    num_games = sum(row["counts"]) + sum(other["counts"])
    estimate = pooled_interval(
        differences,
        [sum(pair) for pair in zip(_elo_variances(row), _elo_variances(other), strict=True)],
        num_observations=num_games,
        num_clusters=num_games,
        bounds=(-math.inf, math.inf),
    )
    return {
        "name": other["name"],
        "value": round(estimate.mean, 1),
        "interval": [None if math.isinf(bound) else round(bound, 1) for bound in estimate.interval],
        "by training": [round(elo, 1) for elo in differences],
    }


def _elo_variances(row: Mapping[str, Any]) -> list[float]:
    """Returns the variance of each training's Elo due to games: that of its score, linearised."""
    part = Part.of_duels(row)
    slopes = (400 / math.log(10) / (score * (1 - score)) if 0 < score < 1 else math.inf for score in part.by_seed())
    return [part.variance_by_seed() * slope**2 for slope in slopes]
