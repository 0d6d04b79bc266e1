"""Arms in a game of one player: what each gets from the same starts, and paired differences from the single network."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from moemcts.arena.intervals import Estimate, SeedEstimate, mean_interval, seed_interval
from moemcts.arena.match import MatchResult
from moemcts.arena.records import boards_of
from moemcts.arena.solo import UNIT, Gain, SoloResult
from moemcts.arena.verdict import verdict
from moemcts.report.contest import Contest
from moemcts.report.page import Figure, Section
from moemcts.report.plots import Whisker, mean_returns
from moemcts.report.tables import Table, p_text


@dataclass(frozen=True)
class Alone(Contest):
    """Every arm alone on the same starts; the baseline is the single network."""

    score_unit: float = 1.0
    """What a return of 1 is in the game's own score."""
    singles: Collection[str] = ()
    """Arms of one network for all phases."""

    @property
    def baseline(self) -> str:
        """The arm that the others are compared with."""
        return self.results[0].baseline

    @property
    def others(self) -> list[str]:
        """The arms that are compared with it."""
        return [arm for arm in self.arms if arm != self.baseline]

    def summary(self) -> list[str]:
        lines = [f"The single network gets {self._got(self.baseline)} in {len(self.games(self.baseline))} games."]
        for arm in self.others:
            found = self.difference(arm)
            words = verdict(found.mean, found.interval, found.num_observations, unit=UNIT, digits=2)
            subject = f"The {arm} gets" if arm in self.singles else f"Experts by {arm} get"
            lines.append(f"{subject} {self._got(arm)}: {words}.")
        return lines

    def section(self, title: str, label: str) -> Section:
        rows = []
        for arm in self.arms:
            row: list[Any] = [arm, len(self.games(arm)), self._got(arm)]
            if arm == self.baseline:
                row += [None, *(None for _ in self.own_columns()), None, None]
            else:
                found, more = self.difference(arm), self.more(arm)
                row.append(f"{found.mean:+z.2f} {_text(found.interval, signed=True)}")
                row += [*(_text(found.own_interval, signed=True) for _ in self.own_columns()), p_text(found.p_value)]
                row.append(f"{100 * more.mean:+z.1f} {_text((100 * more.low, 100 * more.high), digits=1, signed=True)}")
            rows.append([*row, f"{np.mean([game.plies for game in self.games(arm)]):.0f}"])
        columns = ["arm", "games", "mean return", "return over single", *self.own_columns(), "p"]
        columns += ["more often more, points", "plies"]
        parts = "; small: each training seed" if len(self.results) > 1 else ""
        return Section(
            title,
            tables=[Table(columns, rows, self._caption())],
            figures=[
                Figure(
                    f"returns-{label}",
                    mean_returns(self._whiskers(), title=f"Mean return, {title.lower()}"),
                    f"{title}: mean returns of {rows[0][1]} games per arm, with 95 % intervals{parts}.",
                )
            ],
        )

    def numbers(self) -> dict[str, Any]:
        return {
            "arms": {arm: self._arm_json(arm) for arm in self.arms},
            "differences": {arm: self._difference_json(arm) for arm in self.others},
            "score_unit": self.score_unit,
            "seeds": list(self.seeds),
            "by_seed": [result.to_json() for result in self._solos],
        }

    def returns(self, arm: str) -> Estimate:
        """Returns what an arm got on average; games on one start are one observation."""
        games = self.games(arm)
        got = [self.score_unit * game.returns[0] for game in games]
        return mean_interval(got, boards_of(games), bounds=(-self._reach, self._reach))

    def difference(self, arm: str) -> SeedEstimate:
        """Returns how much more an arm gets than the single network, over paired games and training seeds."""
        gains, reach = self._gains(arm), 2 * self._reach
        return seed_interval([one.differences for one in gains], [one.boards for one in gains], bounds=(-reach, reach))

    def more(self, arm: str) -> SeedEstimate:
        """Returns from which share of the starts an arm got more than the single network, less where it got less."""
        gains = self._gains(arm)
        return seed_interval([one.signs for one in gains], [one.boards for one in gains])

    def _got(self, arm: str) -> str:
        found = self.returns(arm)
        return f"{found.mean:.2f} {_text(found.interval)}"

    def _caption(self) -> str:
        difference = (
            "with a 95 % interval over training seeds and boards, and p is from the same t"
            if len(self.results) > 1
            else "with Student's 95 % interval over boards; p is from signs of whole boards flipped at random"
        )
        return (
            f"{self.limit}; each arm alone, from the same starts with the same seeds; {self.describe_seeds()}. Returns "
            "are in the game's own score, all that was paid, not discounted, with 95 % intervals over boards. "
            f"Differences are paired, {difference}.{self.describe_own()} The last points are the share of starts "
            "from which the arm got more, less that from which it got less."
        )

    def _arm_json(self, arm: str) -> dict[str, Any]:
        found = self.returns(arm)
        return {"num_games": found.num_observations, "returns": found.mean, "interval": list(found.interval)}

    def _difference_json(self, arm: str) -> dict[str, Any]:
        found, more = self.difference(arm), self.more(arm)
        return {
            "returns": found.mean,
            "interval": list(found.interval),
            "own_interval": list(found.own_interval),
            "num_pairs": found.num_observations,
            "seed_means": list(found.seed_means),
            "p_value": found.p_value,
            "more": [more.mean, list(more.interval)],
        }

    def _whiskers(self) -> list[Whisker]:
        rows = []
        for arm in self.arms:
            is_baseline, found = arm == self.baseline, self.returns(arm)
            rows.append(_whisker(arm, found, note=f"{found.num_observations} games", is_baseline=is_baseline))
            rows += [
                _whisker(f"seed {seed}", self._solo(result).mean_return(arm), is_baseline=is_baseline, is_part=True)
                for seed, result in self.by_seed()
            ]
        return rows

    @cached_property
    def _solos(self) -> list[SoloResult]:
        return [self._solo(result) for result in self.results]

    @cached_property
    def _reach(self) -> float:
        return max(one.bounds[1] for one in self._solos)

    def _solo(self, result: MatchResult) -> SoloResult:
        return SoloResult(result, self.score_unit)

    def _gains(self, arm: str) -> list[Gain]:
        return [one.gain(arm) for one in self._solos]


def _whisker(label: str, found: Estimate, *, note: str = "", is_baseline: bool, is_part: bool = False) -> Whisker:
    return Whisker(
        label=label,
        value=found.mean,
        low=found.low,
        high=found.high,
        note=note,
        is_baseline=is_baseline,
        is_part=is_part,
    )


def _text(interval: tuple[float, float], *, digits: int = 2, signed: bool = False) -> str:
    sign = "+z" if signed else "z"
    return f"[{interval[0]:{sign}.{digits}f}, {interval[1]:{sign}.{digits}f}]"
