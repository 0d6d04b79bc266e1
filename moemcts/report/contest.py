"""Matches of an experiment's arms, in the form that its report needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from moemcts.arena.records import boards_of
from moemcts.arena.verdict import FEW_GAMES, format_count
from moemcts.errors import unknown_name

if TYPE_CHECKING:
    import matplotlib.figure

    from moemcts.arena.intervals import Interval, SeedEstimate
    from moemcts.arena.match import MatchResult
    from moemcts.arena.records import GameRecord
    from moemcts.report.page import Figure, Section

OWN = "of these networks"


@dataclass(frozen=True, kw_only=True)
class Points:
    """An arm's lead over the single network, in percentage points with a 95 % interval."""

    mean: float
    low: float
    high: float
    most: float
    """The points for winning every game, or for getting more from every start: 50 against the single network itself,
    else 100."""
    variance: float
    """Variance of the mean due to the games of these networks."""

    @classmethod
    def of(cls, estimate: SeedEstimate, *, most: float) -> Self:
        """Converts a difference of shares to points."""
        variance = 100**2 * estimate.own_variance
        return cls(
            mean=100 * estimate.mean, low=100 * estimate.low, high=100 * estimate.high, most=most, variance=variance
        )


@dataclass(frozen=True)
class Contest(ABC):
    """The matches of all training seeds and their analysis."""

    results: tuple[MatchResult, ...]
    """One match per training seed."""
    seeds: tuple[int, ...]
    """The training seeds, in the order of the results."""
    limit: str
    """Description of how moves were chosen."""

    @abstractmethod
    def summary(self) -> list[str]:
        """Returns one sentence per finding."""

    @abstractmethod
    def section(self, title: str, label: str) -> Section:
        """Returns tables and plots; `label` distinguishes their files from those of other contests."""

    @abstractmethod
    def numbers(self) -> dict[str, Any]:
        """Returns the results as JSON values; all contests have `arms`, `points`, `seeds` and `by_seed`."""

    @abstractmethod
    def points(self, arm: str) -> Points:
        """Returns the lead of one of `others` over the single network."""

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the arms that played."""
        return self.results[0].arms

    @property
    def others(self) -> list[str]:
        """The arms that are compared with the single network."""
        return list(self.arms)

    @property
    def num_games(self) -> int:
        """Games per arm; the minimum over arms."""
        return min(len(self.games(arm)) for arm in self.arms)

    def games(self, arm: str) -> list[GameRecord]:
        """Returns an arm's games over all training seeds."""
        return [game for result in self.results for game in result.games(arm)]

    def caveats(self) -> list[str]:
        """Returns warnings to read before the findings, the most important first."""
        caveats = []
        if self.num_games < FEW_GAMES:
            caveats.append(
                f"Too few games to tell: {self.num_games} per arm. Differences below show what a report looks like, "
                f"not who is better; play on with `moemcts run --resume FOLDER --set match.games={FEW_GAMES}`, or more."
            )
        return caveats

    def scope(self) -> list[str]:
        """Returns sentences on what the intervals of the findings cover, to be read after these; none without games."""
        if not self.others:
            return []
        sentences = [
            f"With {self.describe_seeds()} this holds for others trained the same way on the same samples, not for "
            "other samples."
            if len(self.results) > 1
            else "With one training seed, this holds only for these networks, not for others trained the same way."
        ]
        if len(self.others) > 1:
            sentences.append(
                f"{len(self.others)} arms are compared with the single network, and the intervals are not corrected "
                "for that: an arm that equals it seems better or worse once in 20 times."
            )
        return sentences

    def points_json(self) -> dict[str, Any]:
        """Returns the points of all `others` as JSON values."""
        return {arm: asdict(self.points(arm)) for arm in self.others}

    def describe_seeds(self) -> str:
        """Returns the number of training seeds as text."""
        return f"{len(self.results)} training seed{'s' * (len(self.results) > 1)}"

    def describe_boards(self) -> str:
        """Returns as text the number of boards, on each of which an arm's games are one observation.

        Boards that were played alike count once. Training seeds and arms may differ in that: the largest number counts.
        """
        num_boards = max(len(set(boards_of(result.games(arm)))) for result in self.results for arm in result.arms)
        return format_count(num_boards, "board") + " per training seed" * (len(self.results) > 1)

    def own_columns(self) -> list[str]:
        """Returns the column of intervals for these networks alone; empty with one seed, where all are such."""
        return [OWN] if len(self.results) > 1 else []

    def describe_own(self) -> str:
        """Returns a sentence that explains this column, empty if there is none."""
        return (
            f" The interval {OWN} is over games alone and says nothing about other seeds." if self.own_columns() else ""
        )

    def by_seed(self) -> list[tuple[int, MatchResult]]:
        """Returns the training seeds with their matches if there are several, to be shown separately."""
        pairs = list(zip(self.seeds, self.results, strict=True))
        return pairs if len(pairs) > 1 else []


@dataclass(frozen=True)
class NoContest(Contest):
    """No matches: a single network has no opponent but itself."""

    results: tuple[MatchResult, ...] = ()
    seeds: tuple[int, ...] = ()
    limit: str = ""

    @property
    def arms(self) -> tuple[str, ...]:
        return ()

    def caveats(self) -> list[str]:
        return []

    def summary(self) -> list[str]:
        return ["No gate: no experts, and the single network does not play itself."]

    def section(self, title: str, label: str) -> Section:
        from moemcts.report.page import Section

        return Section(title, "No games: name a gate to have experts play the single network.")

    def numbers(self) -> dict[str, Any]:
        return {"arms": {}, "points": {}, "seeds": list(self.seeds), "by_seed": []}

    def points(self, arm: str) -> Points:
        raise unknown_name("arm", arm, self.arms)


@dataclass(frozen=True, kw_only=True)
class PairedContest(Contest):
    """Matches in which every arm plays the same games; the single network is the baseline."""

    singles: Collection[str] = ()
    """Arms with one network for all phases."""

    @abstractmethod
    def estimate(self, arm: str, results: Sequence[MatchResult]) -> tuple[float, Interval, int]:
        """Returns an arm's value in some matches, its interval, and the number of games."""

    @property
    def baseline(self) -> str:
        """The arm that the others are compared with."""
        return self.results[0].baseline

    @property
    def others(self) -> list[str]:
        return [arm for arm in self.arms if arm != self.baseline]

    def describe_subject(self, arm: str, verb: str) -> str:
        """Returns the beginning of a sentence about an arm."""
        return f"The {arm} {verb}s" if arm in self.singles else f"Experts by {arm} {verb}"

    def figure(
        self, name: str, measure: str, title: str, intervals: str, draw: Callable[..., matplotlib.figure.Figure]
    ) -> Figure:
        """Returns a figure of each arm's value, with smaller marks for each training seed."""
        from moemcts.report.page import Figure
        from moemcts.report.plots import Whisker

        rows = []
        for arm in self.arms:
            is_baseline = arm == self.baseline
            style: dict[str, Any] = {
                "is_baseline": is_baseline,
                "is_reference": not is_baseline and arm not in self.others,
            }
            value, (low, high), num_games = self.estimate(arm, self.results)
            note = f"{num_games} games"
            rows.append(Whisker(label=arm, value=value, low=low, high=high, note=note, **style))
            for seed, result in self.by_seed():
                value, (low, high), _ = self.estimate(arm, [result])
                rows.append(Whisker(label=f"seed {seed}", value=value, low=low, high=high, is_part=True, **style))
        parts = "; small: each training seed" if len(self.results) > 1 else ""
        played = f"{self.num_games} games per arm on {self.describe_boards()}"
        caption = f"{title}: {measure.lower()}, {played}, with 95 % {intervals}{parts}."
        return Figure(name, draw(rows, title=f"{measure}, {title.lower()}"), caption)
