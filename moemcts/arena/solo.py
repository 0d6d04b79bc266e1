"""Matches in single-player games: there are no wins; a higher return from the same start is better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from moemcts.arena.intervals import (
    Estimate,
    SeedEstimate,
    mean_interval,
    pooled_interval,
    seed_interval,
    sign_flip_test,
)
from moemcts.arena.match import MatchResult
from moemcts.arena.outcomes import Tally, outcome_of, pairwise_score
from moemcts.arena.ranking import Ranking, ranking_of
from moemcts.arena.rating import SprtDecision
from moemcts.arena.records import GameRecord, boards_of, num_duplicates, terminations
from moemcts.arena.verdict import verdict

UNIT = "in return"
"""Unit of a difference in verdicts."""
UNBOUNDED = (-math.inf, math.inf)
"""Bounds of returns: a game does not declare its maximum, and observed returns need not include it."""


@dataclass(frozen=True, kw_only=True)
class Gain:
    """The paired difference in returns between two arms from the same starts with the same seeds."""

    arm: str
    baseline: str
    returns: Estimate
    """Difference of mean returns, in units of the game's own score, with Student's t interval over boards."""
    p_value: float
    """Two-sided, for equal mean returns: signs of whole boards flipped at random."""
    more: Tally
    """Starts from which the arm's return was higher (wins), equal (ties) and lower (losses)."""
    differences: tuple[float, ...]
    """Difference of returns per pair of games."""
    boards: tuple[str, ...]
    """The board of each pair; with `differences`, the input of `seed_interval` for each training seed."""

    @property
    def signs(self) -> tuple[float, ...]:
        """Per pair of games: 1 if the arm's return was higher, -1 if the baseline's, else 0."""
        return tuple(float((difference > 0) - (difference < 0)) for difference in self.differences)

    @property
    def verdict(self) -> str:
        """One sentence on the difference of returns."""
        returns = self.returns
        return verdict(returns.mean, returns.interval, returns.num_observations, unit=UNIT, digits=2)

    def to_json(self) -> dict[str, Any]:
        """Returns the gain as JSON values, without individual pairs."""
        values = asdict(self) | {"more": self.more.to_json(), "verdict": self.verdict}
        del values["differences"], values["boards"]
        return values


@dataclass(frozen=True)
class SoloResult:
    """The games of a single-player match and their statistics, in units of the game's own score."""

    match: MatchResult
    score_unit: float = 1.0
    """A return of 1 in units of the game's own score."""

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms."""
        return self.match.arms

    @property
    def records(self) -> tuple[GameRecord, ...]:
        """All games."""
        return self.match.records

    @cached_property
    def max_abs_return(self) -> float:
        """The largest absolute value of an observed return, or that of a return of 1 if all are zero.

        Undiscounted rewards may sum to more than 1.
        """
        return self.score_unit * (max((abs(game.returns[0]) for game in self.records), default=0.0) or 1.0)

    @property
    def decision(self) -> SprtDecision | None:
        """None: there are no wins, and no sequential test compares returns."""
        return None

    @property
    def mean_returns(self) -> list[float] | None:
        """The mean return of each arm."""
        return [self.mean_return(arm).mean for arm in self.arms]

    def returns(self, arm: str) -> tuple[list[float], list[str]]:
        """Returns an arm's return in each game, and the boards."""
        games = self.match.games(arm)
        return [self._game_return(game) for game in games], boards_of(games)

    def mean_return(self, arm: str) -> Estimate:
        """Returns an arm's mean return; boards are the independent unit."""
        return mean_of_returns(*self.returns(arm), max_abs_return=self.max_abs_return)

    def mean_plies(self, arm: str) -> float:
        """Returns the mean length of an arm's games."""
        games = self.match.games(arm)
        return sum(game.plies for game in games) / max(len(games), 1)

    def gain(self, arm: str, baseline: str | None = None) -> Gain:
        """Returns an arm's gain over another, by default the baseline, over the games that both finished."""
        baseline = self.match.baseline if baseline is None else baseline
        differences, boards = self._differences(arm, baseline)
        return Gain(
            arm=arm,
            baseline=baseline,
            returns=mean_of_returns(differences, boards, max_abs_return=2 * self.max_abs_return),
            p_value=sign_flip_test(differences, boards),
            more=Tally.of([outcome_of(pairwise_score(difference, 0.0)) for difference in differences], boards),
            differences=tuple(differences),
            boards=boards,
        )

    def scores(self, arm: str) -> list[float]:
        """Returns 1 for each start from which an arm's return was higher than another's, 1/2 if equal, 0 if lower."""
        others = [other for other in self.arms if other != arm]
        return [pairwise_score(difference, 0.0) for other in others for difference in self._differences(arm, other)[0]]

    def tally(self, arm: str) -> Tally:
        """Returns the tally of these scores, with intervals."""
        others = [other for other in self.arms if other != arm]
        starts = [(other, board) for other in others for board in self._differences(arm, other)[1]]
        return Tally.of([outcome_of(score) for score in self.scores(arm)], starts)

    def counts(self, arm: str) -> tuple[int, int, int]:
        """Returns how often an arm's return was lower than, equal to and higher than another's on the same start."""
        scores = self.scores(arm)
        return scores.count(0.0), scores.count(0.5), scores.count(1.0)

    def rankings(self) -> list[Ranking]:
        """Returns the ranking of the arms by their returns on each start, for `fit_ratings`."""
        starts: dict[str, list[GameRecord]] = {}
        boards = dict(zip((game.opening for game in self.records), boards_of(self.records), strict=True))
        for game in self.records:
            starts.setdefault(game.opening, []).append(game)
        return [
            ranking_of(
                [game.label for game in games],
                [game.returns[0] for game in games],
                f"{' '.join(self.arms)}, {boards[opening]}",
            )
            for opening, games in starts.items()
            if len(games) > 1
        ]

    def to_json(self) -> dict[str, Any]:
        """Returns the statistics as JSON values, without the games."""
        return {
            "game": self.match.game,
            "num_games": len(self.records),
            "terminations": terminations(self.records),
            "score_unit": self.score_unit,
            "baseline": self.match.baseline,
            "arms": [self.arm_json(arm) for arm in self.arms],
            "differences": [self.gain(arm).to_json() for arm in self.arms if arm != self.match.baseline],
        }

    def arm_json(self, arm: str) -> dict[str, Any]:
        """Returns the statistics of one arm as JSON values."""
        games = self.match.games(arm)
        return {
            "name": arm,
            "num_games": len(games),
            "returns": asdict(self.mean_return(arm)),
            "mean_plies": self.mean_plies(arm),
            "num_duplicates": num_duplicates(games),
            "num_truncated": sum(game.truncated for game in games),
        }

    def _differences(self, arm: str, other: str) -> tuple[list[float], tuple[str, ...]]:
        """Returns an arm's return minus another's for each pair of games, and the boards."""
        pairs, boards = self.match.pairs(arm, other)
        return [self._game_return(ours) - self._game_return(theirs) for ours, theirs in pairs], boards

    def _game_return(self, game: GameRecord) -> float:
        return self.score_unit * game.returns[0]


def mean_of_returns(values: Sequence[float], boards: Sequence[str], *, max_abs_return: float) -> Estimate:
    """Returns the mean of returns, or of differences, with Student's t interval over boards, without clipping.

    If all boards agree, or there is only one, that interval is undefined. Then it is that of `mean_interval` for values
    of at most `reach` in absolute value, with its longer side on both sides.
    """
    estimate = mean_interval(values, boards, bounds=UNBOUNDED)
    if math.isfinite(estimate.low):
        return estimate
    estimate = mean_interval(values, boards, bounds=(-max_abs_return, max_abs_return))
    margin = max(estimate.mean - estimate.low, estimate.high - estimate.mean)
    return replace(estimate, low=estimate.mean - margin, high=estimate.mean + margin)


def mean_over_seeds(
    groups: Sequence[Sequence[float]], boards: Sequence[Sequence[str]], *, max_abs_return: float
) -> SeedEstimate:
    """Returns the mean of returns, or of differences, over training seeds, see `seed_interval`, without clipping.

    If a seed's boards all agree, their variance is as large as `reach` allows. With one seed, it is `mean_of_returns`.
    """
    estimate = seed_interval(groups, boards, bounds=(-max_abs_return, max_abs_return))
    if not estimate.covers_seeds:
        low, high = mean_of_returns(groups[0], boards[0], max_abs_return=max_abs_return).interval
        return replace(estimate, low=low, high=high, own_interval=(low, high))
    return pooled_interval(
        estimate.seed_means,
        [estimate.num_seeds * estimate.own_variance] * estimate.num_seeds,
        num_observations=estimate.num_observations,
        num_clusters=[len(set(played)) for played in boards],
        bounds=UNBOUNDED,
    )
