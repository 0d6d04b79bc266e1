"""Arms in a game of one player: returns from the same starts, and paired differences from the single network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from moemcts.arena.intervals import Interval, SeedEstimate, seed_interval
from moemcts.arena.match import MatchResult
from moemcts.arena.solo import UNIT, Gain, SoloResult, mean_over_seeds
from moemcts.arena.verdict import verdict
from moemcts.report.contest import OWN, PairedContest, Points
from moemcts.report.page import Section
from moemcts.report.plots import mean_returns
from moemcts.report.tables import Table, format_p_value


@dataclass(frozen=True, kw_only=True)
class Solo(PairedContest):
    """Arms that each play the same starts alone."""

    score_unit: float = 1.0
    """A return of 1 in units of the game's own score."""

    def estimate(self, arm: str, results: Sequence[MatchResult]) -> tuple[float, Interval, int]:
        estimate = self._mean_return(arm, results)
        return estimate.mean, estimate.interval, estimate.num_observations

    def summary(self) -> list[str]:
        num_games = len(self.games(self.baseline))
        lines = [
            f"The single network gets {self._format_mean_return(self.baseline)} in {num_games} games (95 % interval)."
        ]
        for arm in self.others:
            estimate = self.difference(arm)
            claim = verdict(estimate.mean, estimate.interval, estimate.num_observations, unit=UNIT, digits=2)
            lines.append(f"{self.describe_subject(arm, 'get')} {self._format_mean_return(arm)}: {claim}.")
        return lines

    def section(self, title: str, label: str) -> Section:
        rows = []
        for arm in self.arms:
            row: list[Any] = [arm, len(self.games(arm)), self._format_mean_return(arm)]
            if arm == self.baseline:
                row += [None, *(None for _ in self.own_columns()), None, None]
            else:
                estimate, more = self.difference(arm), self.more(arm)
                row.append(f"{estimate.mean:+z.2f} {_format_interval(estimate.interval, signed=True)}")
                row += [
                    *(_format_interval(estimate.own_interval, signed=True) for _ in self.own_columns()),
                    format_p_value(estimate.p_value),
                ]
                points_interval = _format_interval((100 * more.low, 100 * more.high), digits=1, signed=True)
                row.append(f"{100 * more.mean:+z.1f} {points_interval}")
            rows.append([*row, f"{np.mean([game.plies for game in self.games(arm)]):.0f}"])
        columns = ["arm", "games", "mean return", "return over single", *self.own_columns(), "p"]
        columns += ["more often more, points", "plies"]
        figure = self.figure(f"returns-{label}", "Mean return", title, "intervals", mean_returns)
        return Section(title, tables=[Table(columns, rows, self._caption())], figures=[figure])

    def numbers(self) -> dict[str, Any]:
        return {
            "arms": {arm: self._arm_json(arm) for arm in self.arms},
            "differences": {arm: self._difference_json(arm) for arm in self.others},
            "score_unit": self.score_unit,
            "points": self.points_json(),
            "seeds": list(self.seeds),
            "by_seed": [result.to_json() for result in self._solos],
        }

    def points(self, arm: str) -> Points:
        # There are no wins in a game of one player: the points compare how often an arm gets more and less.
        return Points.of(self.more(arm), most=100.0)

    def difference(self, arm: str) -> SeedEstimate:
        """Returns how much more an arm gets than the single network, over paired games and training seeds."""
        gains = self._gains(arm)
        differences, boards = [gain.differences for gain in gains], [gain.boards for gain in gains]
        return mean_over_seeds(differences, boards, max_abs_return=2 * self._max_abs_return)

    def more(self, arm: str) -> SeedEstimate:
        """Returns how much more often an arm got more than the single network than less, in [-1, 1].

        It is the share of starts with a higher return minus the share with a lower one.
        """
        gains = self._gains(arm)
        return seed_interval([gain.signs for gain in gains], [gain.boards for gain in gains])

    def _format_mean_return(self, arm: str) -> str:
        mean, interval, _ = self.estimate(arm, self.results)
        return f"{mean:.2f} {_format_interval(interval)}"

    def _mean_return(self, arm: str, results: Sequence[MatchResult]) -> SeedEstimate:
        """Returns the mean return of an arm over the training seeds of some matches."""
        returns_by_seed = [self._solo(result).returns(arm) for result in results]
        return mean_over_seeds(
            [values for values, _ in returns_by_seed],
            [boards for _, boards in returns_by_seed],
            max_abs_return=self._max_abs_return,
        )

    def _caption(self) -> str:
        over, p_source, own = (
            ("training seeds and boards", "the same t", self.describe_own())
            if len(self.results) > 1
            else (
                "boards",
                "signs of whole boards flipped at random",
                f" With one training seed, all intervals are {OWN} alone and say nothing about other seeds.",
            )
        )
        return (
            f"{self.limit}; each arm alone, from the same starts with the same seeds: {self.describe_boards()}; "
            f"{self.describe_seeds()}. Returns are in the game's own score, all that was paid, not discounted. "
            "Differences are paired. Both are means "
            f"with Student's 95 % intervals over {over}; p is from {p_source}.{own} The last points are the share of "
            "starts from which the arm got more, less that from which it got less."
        )

    def _arm_json(self, arm: str) -> dict[str, Any]:
        estimate = self._mean_return(arm, self.results)
        return {
            "num_games": estimate.num_observations,
            "returns": estimate.mean,
            "interval": list(estimate.interval),
            "own_interval": list(estimate.own_interval),
            "seed_means": list(estimate.seed_means),
        }

    def _difference_json(self, arm: str) -> dict[str, Any]:
        estimate, more = self.difference(arm), self.more(arm)
        return {
            "returns": estimate.mean,
            "interval": list(estimate.interval),
            "own_interval": list(estimate.own_interval),
            "num_pairs": estimate.num_observations,
            "seed_means": list(estimate.seed_means),
            "p_value": estimate.p_value,
            "more": [more.mean, list(more.interval)],
            "more_own_variance": more.own_variance,
        }

    @cached_property
    def _solos(self) -> list[SoloResult]:
        return [self._solo(result) for result in self.results]

    @cached_property
    def _max_abs_return(self) -> float:
        return max(result.max_abs_return for result in self._solos)

    def _solo(self, result: MatchResult) -> SoloResult:
        return SoloResult(result, self.score_unit)

    def _gains(self, arm: str) -> list[Gain]:
        return [result.gain(arm) for result in self._solos]


def _format_interval(interval: tuple[float, float], *, digits: int = 2, signed: bool = False) -> str:
    sign = "+z" if signed else "z"
    return f"[{interval[0]:{sign}.{digits}f}, {interval[1]:{sign}.{digits}f}]"
