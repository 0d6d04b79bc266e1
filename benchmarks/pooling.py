"""Matches of several training seeds, in rows of some seeds each, as one: every seed counts the same."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from moemcts.arena.intervals import SeedEstimate, agreed_variance, pooled_interval
from moemcts.arena.rating import score_of_elo

ROUNDING = 5e-4
"""By how much a score may be another than that of its Elo, which rows have with one digit."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one row says of the training seeds that it is of."""

    name: str
    elos: Sequence[float]
    """By seed."""
    counts: tuple[int, int, int]
    """Games won, drawn and lost, of all its seeds."""
    scores: Sequence[float] | None = None
    """By seed; earlier rows have their Elo alone."""
    variance: float | None = None
    """Of the mean of these scores, by the games alone; earlier rows do not say."""

    def by_seed(self) -> list[float]:
        """Returns the score of each seed.

        Raises ValueError where a row says no scores and its Elo is not that of its games: an Elo of games that were
        all won is a bound.
        """
        if self.scores is not None:
            return list(self.scores)
        if len(self.elos) == 1:
            return [self._score]
        found = [score_of_elo(one) for one in self.elos]
        if abs(statistics.fmean(found) - self._score) > ROUNDING:
            raise ValueError(
                f"expected the Elo of the games of each seed, got another in {self.name!r}: "
                f"a mean score of {statistics.fmean(found):.3f}, of its games {self._score:.3f}; record it anew"
            )
        return found

    def variance_by_seed(self) -> float:
        """Returns the variance that the games leave the score of a seed, mean over its seeds."""
        num_seeds, num_games = len(self.elos), sum(self.counts)
        if self.variance is not None:
            return self.variance * num_seeds
        won, drawn, _ = self.counts
        # As if games were not paired, which makes it larger.
        of_game = (won + drawn / 4) / num_games - self._score**2
        if of_game > 1e-12:
            return of_game * num_seeds / num_games
        return agreed_variance(self._score, num_games / num_seeds / 2, bounds=(0.0, 1.0))

    @property
    def _score(self) -> float:
        won, drawn, _ = self.counts
        return (won + drawn / 2) / sum(self.counts)


def pooled_scores(parts: Sequence[Part]) -> SeedEstimate:
    """Returns the mean score over all training seeds of some rows, as wide as their games make it at least."""
    num_games = sum(sum(part.counts) for part in parts)
    return pooled_interval(
        [score for part in parts for score in part.by_seed()],
        [part.variance_by_seed() for part in parts for _ in part.elos],
        num_observations=num_games,
        num_clusters=num_games,
        bounds=(0.0, 1.0),
    )
