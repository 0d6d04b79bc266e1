"""How sure a proportion or a difference is: intervals and tests, as pure functions.

Nothing here returns inf or nan. An interval from too few or all equal observations is wide, never empty.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Interval = tuple[float, float]

FEWEST_DEGREES = 14
"""Of a Student's t that is close to normal."""
_ROUNDING = 1e-9
"""Share of the values by which sums of them may differ that are the same."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float
    num_observations: int
    num_clusters: int
    """Independent groups of observations; the interval rests on these."""

    @property
    def interval(self) -> Interval:
        return self.low, self.high


@dataclass(frozen=True, kw_only=True)
class SeedEstimate:
    """A mean over training seeds, with an interval that holds for a seed not tried, on the same samples."""

    mean: float
    low: float
    high: float
    num_seeds: int
    num_observations: int
    seed_means: tuple[float, ...]
    own_interval: Interval
    """For the networks of these seeds alone, which says nothing of other seeds."""
    own_variance: float
    """Of the mean, by the games of these seeds alone."""
    seed_deviation: float
    """Standard deviation of the effect from seed to seed, without what the games of a seed add to it by chance."""
    covers_seeds: bool
    """False with one seed: then the interval is for that seed's networks alone."""
    p_value: float
    """Two-sided, that the effect is zero: over several seeds from the same t as the interval, so that both say the
    same; with one seed that of `sign_flip_test`, which holds for few boards too."""

    @property
    def interval(self) -> Interval:
        return self.low, self.high


def wilson_interval(num_successes: float, num_trials: float, *, confidence: float = 0.95) -> Interval:
    """Returns Wilson's score interval of a proportion (Wilson 1927); (0, 1) without trials.

    Trials that say less than as many others may be a broken number, see `effective_number`.
    """
    if not 0 <= num_successes <= num_trials:
        raise ValueError(f"expected 0 to {num_trials} successes of {num_trials} trials, got {num_successes}")
    if not num_trials:
        return 0.0, 1.0
    from scipy.special import ndtri

    share = num_successes / num_trials
    penalty = float(ndtri((1 + confidence) / 2)) ** 2 / num_trials
    centre = share + penalty / 2
    margin = math.sqrt(penalty * share * (1 - share) + penalty**2 / 4)
    # Rounding would leave out a share of 0 or 1.
    low, high = (centre - margin) / (1 + penalty), (centre + margin) / (1 + penalty)
    return max(0.0, min(low, share)), min(1.0, max(high, share))


def effective_number(observations: Iterable[Hashable]) -> float:
    """Returns how many observations that are all different say as much as these, of which equal ones are one.

    (sum of w)^2 / sum of w^2, where w is how often each one came (Kish, Survey Sampling, 1965, section 11.7); 0 of
    none.
    """
    weights = Counter(observations).values()
    return sum(weights) ** 2 / sum(weight**2 for weight in weights) if weights else 0.0


def share_interval(are_hits: Sequence[bool], observations: Sequence[Hashable]) -> Interval:
    """Returns the 95 % interval of the share of hits, of which those of equal observations are one; (0, 1) of none.

    The unit is the share of hits in one observation. Where that has two values, such as 0 and 1/3 for three seats of
    which one can win a game, it is Wilson's interval of how often it has the larger one, from `effective_number`
    trials; where it has others, from as many trials as vary so little. Where all observations agree, which says nothing
    of how much they vary, 0 and 1 are these values.
    """
    weights, hits = Counter(observations), Counter(itertools.compress(observations, are_hits))
    if not weights:
        return 0.0, 1.0
    shares = np.array([hits[one] / weight for one, weight in weights.items()])
    mean, number = sum(are_hits) / len(are_hits), effective_number(observations)
    least, most = float(shares.min()), float(shares.max())
    others = bool(((shares > least) & (shares < most)).any())
    if least == most:
        least, most = 0.0, 1.0
    width = most - least
    part = _within((mean - least) / width, (0.0, 1.0))
    if others:
        variance = np.average(((shares - mean) / width) ** 2, weights=[*weights.values()])
        number *= part * (1 - part) / float(variance)
    low, high = wilson_interval(part * number, number)
    return least + width * low, least + width * high


def mcnemar_test(num_only_first: int, num_only_second: int) -> float:
    """Returns the exact two-sided p-value of paired wins (McNemar 1947, binomial form).

    The counts are of the pairs that only the first, and only the second, has won; 1 where there are none.
    """
    # All of scipy.stats, which has this test, takes a second to be imported.
    from scipy.special import bdtr

    total, fewer = num_only_first + num_only_second, min(num_only_first, num_only_second)
    # Where both are as likely, one tail is as large as the other.
    return min(1.0, 2 * float(bdtr(fewer, total, 0.5)))


def sign_flip_test(
    differences: ArrayLike, clusters: ArrayLike | None = None, *, num_samples: int = 20_000, seed: int = 0
) -> float:
    """Returns the two-sided p-value of a mean difference of zero.

    Under that hypothesis every cluster of paired differences might as well have the other sign. All signs are
    tried for up to 14 clusters that are not zero, else `num_samples` random ones (the p-value then counts the
    observed one too, so it is never 0). `clusters` names the group of each difference; each its own without.
    """
    sums, _ = _cluster_sums(differences, clusters)
    sums = sums[sums != 0]
    count = len(sums)
    if not count:
        return 1.0
    # Sums of the same numbers in another order may differ in their last digits.
    observed = abs(float(sums.sum())) - _ROUNDING * float(np.abs(sums).sum())
    if count <= 14:
        signs = 1 - 2 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)
        return float((np.abs(signs @ sums) >= observed).mean())
    rng = np.random.default_rng(seed)
    num_as_far = 0
    left = num_samples
    while left:
        size = min(left, max(1, 2_000_000 // count))
        signs = 1 - 2 * rng.integers(0, 2, size=(size, count), dtype=np.int8)
        num_as_far += int((np.abs(signs @ sums) >= observed).sum())
        left -= size
    return (num_as_far + 1) / (num_samples + 1)


def mean_interval(
    values: ArrayLike, clusters: ArrayLike | None = None, *, bounds: Interval = (-1.0, 1.0), confidence: float = 0.95
) -> Estimate:
    """Returns the mean with Student's t interval, cut to `bounds`, between which every value lies.

    With `clusters`, the group of each value, the variance is that of group sums about the mean (the linearised,
    cluster-robust one) and the degrees of freedom are groups less one: games on one board count as one board.
    Where all groups agree to the last, their variance says nothing: then the interval allows for the share of
    groups that a sample of this size misses with a probability of 2.5 % on each side.

    Where a few groups differ from the rest, their variance says little: where 3 to 5 of 100 are expected to, all to one
    side, it covers the mean in 85 to 88 % of samples, half to each side in 95 to 97 %, as the tests of this measure.
    """
    flat = np.asarray(values, dtype=np.float64)
    if not len(flat):
        return Estimate(mean=sum(bounds) / 2, low=bounds[0], high=bounds[1], num_observations=0, num_clusters=0)
    mean = _within(float(flat.mean()), bounds)
    variance, num_clusters = _variance_of_mean(flat, clusters)
    if variance:
        margin = t_quantile((1 + confidence) / 2, num_clusters - 1) * math.sqrt(variance)
        low, high = mean - margin, mean + margin
    else:
        missed = share_missed(num_clusters, confidence=confidence)
        low, high = mean - missed * (mean - bounds[0]), mean + missed * (bounds[1] - mean)
    return Estimate(
        mean=mean,
        low=_within(low, bounds),
        high=_within(high, bounds),
        num_observations=len(flat),
        num_clusters=num_clusters,
    )


def share_missed(num_observations: float, *, confidence: float = 0.95) -> float:
    """Returns which share of observations a sample of this size misses with half the probability of an error."""
    return float(1 - ((1 - confidence) / 2) ** (1 / num_observations))


def seed_interval(
    groups: Sequence[ArrayLike],
    clusters: Sequence[ArrayLike] | None = None,
    *,
    bounds: Interval = (-1.0, 1.0),
    confidence: float = 0.95,
) -> SeedEstimate:
    """Returns the mean effect over training seeds; `groups[s]` are the observations (games) of seed `s`.

    Two levels: games are nested in seeds, and every seed counts the same. The variance of the mean of S seed
    means is their sample variance / S, which holds the variance between seeds and that of the games within;
    interval and p-value are Student's with S - 1 degrees of freedom. Where the seed means lie closer together
    than their games allow, the variance of the games is used in its place; where these all agree, the one that
    the interval of `mean_interval` stands for. With one seed the interval is that of `mean_interval`, the p-value
    that of `sign_flip_test`, and neither says anything of other seeds. Seeds that share boards are not independent
    in what the boards add to the effect: give each seed its own openings, or a file that is much larger than it plays.
    """
    if not groups:
        raise ValueError("expected the games of at least one training seed, got none")
    inner = [
        mean_interval(group, None if clusters is None else clusters[s], bounds=bounds, confidence=confidence)
        for s, group in enumerate(groups)
    ]
    variances = [
        _variance_of_mean(group, None if clusters is None else clusters[s])[0]
        or agreed_variance(one.mean, one.num_clusters, bounds=bounds, confidence=confidence)
        for s, (group, one) in enumerate(zip(groups, inner, strict=True))
    ]
    if len(groups) > 1:
        return pooled_interval(
            [one.mean for one in inner],
            variances,
            num_observations=sum(one.num_observations for one in inner),
            num_clusters=[one.num_clusters for one in inner],
            bounds=bounds,
            confidence=confidence,
        )
    (only,) = inner
    return SeedEstimate(
        mean=only.mean,
        low=only.low,
        high=only.high,
        num_seeds=1,
        num_observations=only.num_observations,
        seed_means=(only.mean,),
        own_interval=only.interval,
        own_variance=variances[0],
        seed_deviation=0.0,
        covers_seeds=False,
        p_value=sign_flip_test(groups[0], None if clusters is None else clusters[0]),
    )


def pooled_interval(
    means: Sequence[float],
    variances: Sequence[float],
    *,
    num_observations: int,
    num_clusters: int | Sequence[int],
    bounds: Interval = (-1.0, 1.0),
    confidence: float = 0.95,
) -> SeedEstimate:
    """Returns the mean effect over several training seeds, as `seed_interval`, from what the games of each say, `[S]`:
    their mean, and the variance of that mean by these games alone, see `agreed_variance`.

    `num_clusters` are the groups of games of each seed, or of all together where each has as many. The degrees of
    freedom of `own_interval` are those of Welch, Biometrika 34 (1947) 28-35: a seed of few groups has most of the
    variance, and knows little of it.
    Raises ValueError for less than two seeds, and for a variance that is not above zero.
    """
    if len(means) < 2 or len(variances) != len(means):
        raise ValueError(
            f"expected means and variances of at least two training seeds, got {len(means)} and {len(variances)}"
        )
    if not min(variances) > 0:
        raise ValueError(f"expected variances above zero, got {min(variances)}")
    num_seeds = len(means)
    mean = _within(float(np.mean(means)), bounds)
    between, games = float(np.var(means, ddof=1)), float(np.mean(variances))
    error = math.sqrt(max(between, games) / num_seeds)
    low, high = _cut(mean, t_quantile((1 + confidence) / 2, num_seeds - 1) * error, bounds)
    each = [num_clusters / num_seeds] * num_seeds if isinstance(num_clusters, int) else num_clusters
    shares = [variance / sum(variances) for variance in variances]
    degrees = 1 / sum(share**2 / max(number - 1, 1) for share, number in zip(shares, each, strict=True))
    own = t_quantile((1 + confidence) / 2, degrees) * math.sqrt(games / num_seeds)
    return SeedEstimate(
        mean=mean,
        low=low,
        high=high,
        num_seeds=num_seeds,
        num_observations=num_observations,
        seed_means=tuple(map(float, means)),
        own_interval=_cut(mean, own, bounds),
        own_variance=games / num_seeds,
        seed_deviation=math.sqrt(max(0.0, between - games)),
        covers_seeds=True,
        p_value=_two_sided(mean / error, num_seeds - 1),
    )


def agreed_variance(
    mean: float, num_clusters: float, *, bounds: Interval = (-1.0, 1.0), confidence: float = 0.95
) -> float:
    """Returns the variance that is left to a mean whose groups all agree, by the side on which the interval of
    `mean_interval` reaches furthest.
    """
    missed = share_missed(num_clusters, confidence=confidence) if num_clusters else 1.0
    # That interval is exact for few groups too, so it has no heavy tails to be divided by.
    degrees = max(num_clusters - 1, FEWEST_DEGREES)
    error = missed * max(mean - bounds[0], bounds[1] - mean) / t_quantile((1 + confidence) / 2, degrees)
    return float(error**2)


def _cut(mean: float, margin: float, bounds: Interval) -> Interval:
    return _within(mean - margin, bounds), _within(mean + margin, bounds)


def _within(value: float, bounds: Interval) -> float:
    """Returns the value in the bounds, beyond which a mean may be by its rounding."""
    return min(max(value, bounds[0]), bounds[1])


def t_quantile(p: float, degrees: float) -> float:
    """Returns the quantile of Student's t with `degrees` of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, p))


def _two_sided(t: float, degrees: float) -> float:
    """Returns the probability of a Student's t as far from zero."""
    from scipy.special import stdtr

    return float(2 * stdtr(degrees, -abs(t)))


def _variance_of_mean(values: ArrayLike, clusters: ArrayLike | None) -> tuple[float, int]:
    """Returns the variance of the mean and how many groups it rests on; 0 where all agree, which says nothing."""
    flat = np.asarray(values, dtype=np.float64)
    if not len(flat):
        return 0.0, 0
    residuals, num_clusters = _cluster_sums(flat - flat.mean(), clusters)
    variance = float((residuals**2).sum()) * num_clusters / max(num_clusters - 1, 1) / len(flat) ** 2
    agrees = variance <= (_ROUNDING * float(np.abs(flat).max())) ** 2
    return (0.0 if num_clusters < 2 or agrees else variance), num_clusters


def _cluster_sums(values: ArrayLike, clusters: ArrayLike | None) -> tuple[NDArray[np.float64], int]:
    flat = np.asarray(values, dtype=np.float64)
    if clusters is None:
        return flat, len(flat)
    names, rows = np.unique(np.asarray(clusters), return_inverse=True)
    if len(rows) != len(flat):
        raise ValueError(f"expected a cluster for each of {len(flat)} values, got {len(rows)}")
    sums = np.bincount(rows, weights=flat, minlength=len(names))
    return sums.astype(np.float64), len(names)
