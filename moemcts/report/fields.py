"""Arms that play the same games against one agent: win rates, and paired differences from the single network."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from moemcts.arena.intervals import Interval, SeedEstimate, seed_interval
from moemcts.arena.match import MatchResult, tally_of
from moemcts.arena.outcomes import Tally
from moemcts.arena.verdict import verdict
from moemcts.report.contest import PairedContest, Points
from moemcts.report.page import Section
from moemcts.report.plots import win_rates
from moemcts.report.tables import Table, format_p_value, format_points

FIELD = "field"
"""The arm in which the opponents' agent itself takes the arm's seat: the effect of chance and seats alone."""


@dataclass(frozen=True, kw_only=True)
class AgainstField(PairedContest):
    """Every arm against the same opponents, from the same openings."""

    field: str
    """Description of who sits in all other seats."""

    @property
    def others(self) -> list[str]:
        return [arm for arm in super().others if arm != FIELD]

    def estimate(self, arm: str, results: Sequence[MatchResult]) -> tuple[float, Interval, int]:
        tally = tally_of(*(result.games(arm) for result in results))
        return tally.win_rate, tally.win_interval, tally.num_games

    def summary(self) -> list[str]:
        single = self.pooled(self.baseline)
        lines = [f"The single network wins {_format_share(single)} of {single.num_games} games (95 % Wilson interval)."]
        for arm in self.others:
            estimate = self.difference(arm)
            low, high = estimate.interval
            claim = verdict(100 * estimate.mean, (100 * low, 100 * high), estimate.num_observations)
            lines.append(f"{self.describe_subject(arm, 'win')} {_format_share(self.pooled(arm))}: {claim}.")
        return lines

    def section(self, title: str, label: str) -> Section:
        rows = []
        for arm in self.arms:
            tally = self.pooled(arm)
            row: list[Any] = [arm, tally.num_games]
            for count, interval in (
                (tally.wins, tally.win_interval),
                (tally.ties, tally.tie_interval),
                (tally.losses, tally.loss_interval),
            ):
                row.append(f"{100 * count / max(tally.num_games, 1):.1f} {format_points(interval)}")
            if arm == self.baseline:
                row += [None, *(None for _ in self.own_columns()), None]
            else:
                estimate = self.difference(arm)
                row.append(f"{100 * estimate.mean:+z.1f} {format_points(estimate.interval, signed=True)}")
                row += [
                    *(format_points(estimate.own_interval, signed=True) for _ in self.own_columns()),
                    format_p_value(estimate.p_value),
                ]
            rows.append([*row, f"{self._mean_plies(arm):.0f}"])
        columns = ["arm", "games", "wins %", "ties %", "losses %", "wins against single, points", *self.own_columns()]
        columns += ["p", "plies"]
        tables = [Table(columns, rows, self._caption()), *self._between_tables(), self._seats_table()]
        figure = self.figure(f"wins-{label}", "Games won", title, "Wilson intervals", win_rates)
        return Section(title, tables=tables, figures=[figure])

    def numbers(self) -> dict[str, Any]:
        return {
            "arms": {arm: self.pooled(arm).to_json() for arm in self.arms},
            "differences": {arm: _to_json(self.difference(arm)) for arm in self.arms if arm != self.baseline},
            "between": [{"arm": arm, "other": other, **_to_json(estimate)} for arm, other, estimate in self._between],
            "points": self.points_json(),
            "seeds": list(self.seeds),
            "by_seed": [result.to_json() for result in self.results],
        }

    def points(self, arm: str) -> Points:
        return Points.of(self.difference(arm), most=100.0)

    def difference(self, arm: str, other: str | None = None) -> SeedEstimate:
        """Returns the difference in win rate of an arm to another, by default the single network.

        It is estimated over paired games and training seeds.
        """
        differences = [result.difference(arm, other) for result in self.results]
        return seed_interval(
            [difference.win_differences for difference in differences],
            [difference.boards for difference in differences],
        )

    def pooled(self, arm: str) -> Tally:
        """Returns the tally of an arm's games over all training seeds."""
        return tally_of(*(result.games(arm) for result in self.results))

    def _caption(self) -> str:
        chance = (
            f" The arm called {FIELD} is {self.field} itself in the arm's seat: what chance and seats alone give."
            if FIELD in self.arms
            else ""
        )
        difference = (
            "with a 95 % interval over training seeds and boards, and p is from the same t"
            if len(self.results) > 1
            else "with Student's 95 % interval over boards; p is from signs of whole boards flipped at random, and "
            "holds for few boards too"
        )
        return (
            f"{self.limit}; against {self.field} in all other seats, seats rotated, the same boards and seeds for "
            f"every arm: {self.describe_boards()}; {self.describe_seeds()}.{chance} Shares in percent with 95 % Wilson "
            "intervals over all games, where boards that were played alike are one observation; the difference in wins "
            f"is paired, {difference}.{self.describe_own()} The Wilson intervals hold for these networks, not for "
            "others like them."
        )

    @cached_property
    def _between(self) -> list[tuple[str, str, SeedEstimate]]:
        return [(arm, other, self.difference(arm, other)) for arm, other in itertools.combinations(self.others, 2)]

    def _between_tables(self) -> list[Table]:
        rows = []
        for arm, other, estimate in self._between:
            difference = f"{100 * estimate.mean:+z.1f} {format_points(estimate.interval, signed=True)}"
            rows.append([arm, other, difference, format_p_value(estimate.p_value)])
        columns = ["arm", "over", "wins, points", "p"]
        caption = (
            "The other arms among themselves, paired in the same way. Among many pairs, some seem to differ by "
            "chance: trust only those that were chosen before the games were played."
        )
        return [Table(columns, rows, caption)] if rows else []

    def _mean_plies(self, arm: str) -> float:
        return float(np.mean([game.plies for game in self.games(arm)]))

    def _seats_table(self) -> Table:
        seats = range(self.results[0].num_seats)
        rows = []
        for arm in self.arms:
            cells = []
            for seat in seats:
                tally = tally_of(*(result.games(arm) for result in self.results), seat=seat)
                cells.append(
                    f"{100 * tally.win_rate:.1f} {format_points(tally.win_interval)}" if tally.num_games else None
                )
            rows.append([arm, *cells])
        columns = ["wins % by seat", *(f"seat {seat}" for seat in seats)]
        caption = "With 95 % Wilson intervals; in many games some seats win more often than others."
        return Table(columns, rows, caption)


def _to_json(estimate: SeedEstimate) -> dict[str, Any]:
    return {
        "wins": estimate.mean,
        "interval": list(estimate.interval),
        "own_interval": list(estimate.own_interval),
        "own_variance": estimate.own_variance,
        "num_pairs": estimate.num_observations,
        "seed_means": list(estimate.seed_means),
        "p_value": estimate.p_value,
    }


def _format_share(tally: Tally) -> str:
    low, high = tally.win_interval
    return f"{100 * tally.win_rate:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
