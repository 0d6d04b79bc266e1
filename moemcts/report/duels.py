"""Matches of experts against the single network itself, in Elo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from moemcts.arena.intervals import Interval, SeedEstimate, seed_interval
from moemcts.arena.outcomes import points
from moemcts.arena.rating import Elo, EloRange, elo
from moemcts.arena.records import GameRecord, boards_of, num_duplicates
from moemcts.arena.verdict import elo_verdict
from moemcts.report.contest import Contest, Points
from moemcts.report.page import Figure, Section
from moemcts.report.plots import Whisker, elo_ratings
from moemcts.report.tables import Table


@dataclass(frozen=True)
class AgainstSingle(Contest):
    """Every set of experts against the single network of the same training seed."""

    def summary(self) -> list[str]:
        lines = []
        for arm in self.arms:
            estimate = self.scores(arm)
            claim = elo_verdict(_to_elo(estimate), estimate.num_observations, "games")
            lines.append(f"{arm} against the single network: {claim}; score {_format_percent(estimate)} %.")
        return lines

    def section(self, title: str, label: str) -> Section:
        units = "training seeds and boards" if len(self.results) > 1 else "boards"
        caption = (
            f"{self.limit}; against the single network of the same training seed, every opening from both sides: "
            f"{self.describe_boards()}; {self.describe_seeds()}. The score in percent has a 95 % interval over {units}"
            f"; Elo is that score with its interval in another unit.{self.describe_own()}"
        )
        columns = ["experts", "games", "wins", "draws", "losses", "Elo", *self.own_columns(), "score %", "Elo by seed"]
        columns += ["repeated", "plies"]
        figure = Figure(
            f"elo-{label}",
            elo_ratings(
                [self._whisker(arm) for arm in self.arms], title=f"Elo against the single network, {title.lower()}"
            ),
            f"{title}: Elo of {self.num_games} games per arm on {self.describe_boards()}, with the 95 % interval over "
            f"{units}.",
        )
        return Section(title, tables=[Table(columns, [self._row(arm) for arm in self.arms], caption)], figures=[figure])

    def numbers(self) -> dict[str, Any]:
        return {
            "arms": {
                arm: {
                    "num_games": len(games := self.games(arm)),
                    "wins": sum(game.outcome == "win" for game in games),
                    "ties": sum(game.outcome == "tie" for game in games),
                    "losses": sum(game.outcome == "loss" for game in games),
                    "elo": asdict(_elo(games)),
                    "elo_by_seed": [asdict(_elo(result.games(arm))) for result in self.results],
                    "score": 0.5 + self.scores(arm).mean,
                    "score_interval": [0.5 + bound for bound in self.scores(arm).interval],
                    "own_score_interval": [0.5 + bound for bound in self.scores(arm).own_interval],
                    "own_score_variance": self.scores(arm).own_variance,
                }
                for arm in self.arms
            },
            "points": self.points_json(),
            "seeds": list(self.seeds),
            "by_seed": [result.to_json() for result in self.results],
        }

    def points(self, arm: str) -> Points:
        return Points.of(self.scores(arm), most=50.0)

    def scores(self, arm: str) -> SeedEstimate:
        """Returns the mean score of an arm minus one half, over openings and training seeds."""
        games = [result.games(arm) for result in self.results]
        return seed_interval(
            [[points(game.outcome) - 0.5 for game in seed_games] for seed_games in games],
            [boards_of(seed_games) for seed_games in games],
            bounds=(-0.5, 0.5),
        )

    def _row(self, arm: str) -> list[Any]:
        games, estimate = self.games(arm), self.scores(arm)
        outcomes = [game.outcome for game in games]
        return [
            arm,
            len(games),
            *(outcomes.count(kind) for kind in ("win", "tie", "loss")),
            str(_to_elo(estimate)),
            *(_to_elo(estimate, estimate.own_interval).interval_text for _ in self.own_columns()),
            _format_percent(estimate),
            ", ".join(_format_elo(_elo(result.games(arm))) for result in self.results),
            num_duplicates(games),
            f"{np.mean([game.plies for game in games]):.0f}",
        ]

    def _whisker(self, arm: str) -> Whisker:
        elo_range = _to_elo(self.scores(arm))
        return Whisker(
            label=arm,
            value=elo_range.difference,
            low=elo_range.low,
            high=elo_range.high,
            note=f"{len(self.games(arm))} games",
        )


def _format_percent(estimate: SeedEstimate) -> str:
    """Formats a score minus one half as percent, with its interval."""
    low, high = (100 * (0.5 + bound) for bound in estimate.interval)
    return f"{50 + 100 * estimate.mean:.1f} [{low:.1f}, {high:.1f}]"


def _to_elo(estimate: SeedEstimate, interval: Interval | None = None) -> EloRange:
    """Converts a score minus one half to Elo, with the given interval or that over seeds."""
    low, high = interval or estimate.interval
    return EloRange.of(0.5 + estimate.mean, (0.5 + low, 0.5 + high))


def _format_elo(elo_of_arm: Elo) -> str:
    """Formats Elo for the column of seeds, without errors, which would make it too wide."""
    return str(elo_of_arm) if elo_of_arm.estimate is None else f"{elo_of_arm.estimate:+z.1f}"


def _elo(games: Sequence[GameRecord]) -> Elo:
    outcomes = [game.outcome for game in games]
    return elo(outcomes.count("win"), outcomes.count("tie"), outcomes.count("loss"))
