"""Corrected intervals of pooled rows on the page of results: for multiple looks, and by sets of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from measuring.record import Row, latest

from moemcts.arena.intervals import Interval, mean_interval, t_quantile
from moemcts.arena.rating import EloRange, score_of_elo
from results_page.markdown import bounds, table

ALPHA = 0.05
CHESS: Mapping[str, Sequence[int]] = {
    "chess, separated, searched, 21,815,080 positions, seeds 30 to 34": (5,),
    "chess, separated, searched, 10,907,540 positions, seeds 42 to 46": (5,),
}
"""By pooled row, the number of looks that its interval is corrected for: one after each of its seeds."""
DUELS: Mapping[str, Sequence[int]] = {
    "chess, 400 simulations: experts that start from one network against that network, which goes on, a quarter or a "
    "half of a pass after 21,815,080, 6 trainings": (3,),
    "chess, 400 simulations: experts that start from one network against that network, which goes on, a quarter or a "
    "half of a pass after 21,815,080, 7 trainings": (4,),
}
"""For pooled duels: looked at after three, five, six and seven trainings."""
SELFPLAY: Mapping[str, Sequence[int]] = {"antichess, staged over single, 32 trainings, from random weights": (3,)}
"""For pooled self-play: looked at after five, sixteen and 32 trainings."""
STARTS: Mapping[str, Sequence[Sequence[int]]] = {
    "chess, separated, searched, 10,907,540 positions, seeds 42 to 46": ((0, 3), (1, 4), (2,)),
}
"""By pooled row, the groups of seeds that start from the same network."""
POMMERMAN: Mapping[str, Sequence[int]] = {
    "pommerman, steps, searched, the paper's size, 29 seeds by steps": (3, 30),
    "pommerman, mixedness, searched, the paper's size, ten seeds by all gates": (),
    "pommerman, opponents, searched, the paper's size, ten seeds by all gates": (),
}
"""For three gates, and three gates looked at ten times: after one seed, two, four, five, eight, ten, fifteen, nineteen,
25 and 29."""


def chess() -> str:
    """Returns the Elo of pooled chess comparisons with intervals corrected for looks, and over the networks that their
    trainings start from; empty without any.
    """
    cells: list[list[object]] = []
    for row, looks in _known("chess", CHESS):
        cells.append(_corrected(row["name"], row["score_interval"], row["scores_by_seed"], looks))
    cells += _corrected_trainings("duels", DUELS)
    cells += [_by_start(row, STARTS[name]) for name, row in latest("chess").items() if name in STARTS]
    return table("chess, pooled | corrected for looks | Elo, searching", cells) if cells else ""


def selfplay() -> str:
    """Returns the Elo of pooled self-play with intervals corrected for looks; empty without any."""
    cells = _corrected_trainings("selfplay_schemes", SELFPLAY)
    return table("self-play, pooled | corrected for looks | Elo", cells) if cells else ""


def pommerman() -> str:
    """Returns the gains in points of pooled runs of Pommerman, with intervals corrected for looks, and over their sets
    of data, one per run; empty without any.
    """
    cells: list[list[object]] = []
    for row, looks in _known("strength", POMMERMAN):
        difference = row["difference"]
        interval = widened(difference["interval"], difference["wins"], row["training_seeds"], looks)
        # An end that would be rounded to zero has one digit more, which tells on which side of it it is.
        digits = 2 if any(abs(end) < 0.0005 for end in interval) else 1
        cells.append([row["name"], looks, f"{100 * difference['wins']:+z.1f} {bounds(interval, 100, digits)}", "–"])
    for name, row in latest("strength").items():
        if name in POMMERMAN:
            cells += [_by_sets(row, looks) for looks in (1, *POMMERMAN[name])]
    heads = "Pommerman, pooled | corrected for looks | wins against the single network, points | by set of data"
    return table(heads, cells) if cells else ""


def widened(interval: Sequence[float], mean: float, num_seeds: int, looks: int) -> Interval:
    """Returns an interval over training seeds with a Bonferroni correction for `looks` looks."""
    ratio = t_quantile(1 - ALPHA / looks / 2, num_seeds - 1) / t_quantile(1 - ALPHA / 2, num_seeds - 1)
    low, high = interval
    return mean - ratio * (mean - low), mean + ratio * (high - mean)


def _corrected_trainings(kind: str, corrected: Mapping[str, Sequence[int]]) -> list[list[object]]:
    """Returns the cells of pooled rows whose interval is in Elo, with corrections for looks."""
    return [
        _corrected(row["name"], list(map(score_of_elo, row["interval"])), row["scores by training"], looks)
        for row, looks in _known(kind, corrected)
    ]


def _corrected(name: str, interval: Sequence[float], scores: Sequence[float], looks: int) -> list[object]:
    """Returns the cells of a row of pooled scores, with its interval corrected for `looks` looks."""
    mean = fmean(scores)
    low, high = widened(interval, mean, len(scores), looks)
    return [name, looks, str(EloRange.of(mean, (max(low, 0.0), min(high, 1.0))))]


def _by_start(row: Row, groups: Sequence[Sequence[int]]) -> list[object]:
    """Returns the cells of a pooled row whose seeds share starting networks, the unit of the interval."""
    means = [fmean(row["scores_by_seed"][seed] for seed in group) for group in groups]
    estimate = mean_interval(means, bounds=(0.0, 1.0))
    return [f"{row['name']}, by first network", "–", str(EloRange.of(estimate.mean, estimate.interval))]


def _by_sets(row: Row, looks: int) -> list[object]:
    """Returns the cells of a pooled row whose runs have separate samples, which are then the unit of the interval, with
    a correction for `looks` looks.
    """
    rows = latest("strength").values()
    runs = [one for label in row["pooled"] for one in rows if one.get("label") == label]
    same = [one for one in runs if all(one.get(key) == row.get(key) for key in ("arm", "over", "kind"))]
    means = [fmean(one["difference"]["seed_means"]) for one in same]
    estimate = mean_interval(means)
    interval = widened(estimate.interval, estimate.mean, len(means), looks)
    by_set = ", ".join(f"{100 * mean:+z.1f}" for mean in means) if looks == 1 else "–"
    points = f"{100 * estimate.mean:+z.1f} {bounds(interval, 100, 1)}"
    return [f"{row['name']}, by set of data", "–" if looks == 1 else looks, points, by_set]


def _known(kind: str, corrected: Mapping[str, Sequence[int]]) -> list[tuple[Row, int]]:
    rows = latest(kind)
    return [(rows[name], looks) for name, numbers in corrected.items() if name in rows for looks in numbers]
