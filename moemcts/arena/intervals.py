"""Confidence intervals and tests for proportions and differences, as pure functions.

No function returns inf or nan. An interval from too few observations, or from equal ones, is wide, never empty.
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

MIN_DEGREES = 14
"""Degrees of freedom from which on Student's t is close to normal."""
_ROUNDING = 1e-9
"""Relative tolerance within which sums of values count as equal."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float
    num_observations: int
    num_clusters: int
    """Independent groups of observations, on which the interval is based."""

    @property
    def interval(self) -> Interval:
        return self.low, self.high


@dataclass(frozen=True, kw_only=True)
class SeedEstimate:
    """A mean over training seeds, with an interval that applies to new seeds on the same samples."""

    mean: float
    low: float
    high: float
    num_seeds: int
    num_observations: int
    seed_means: tuple[float, ...]
    own_interval: Interval
    """For the networks of these seeds only, without conclusions about other seeds."""
    own_variance: float
    """Variance of the mean due to the games of these seeds alone."""
    seed_deviation: float
    """Standard deviation of the effect between seeds, without the part due to the finite number of games per seed."""
    covers_seeds: bool
    """False for a single seed: the interval applies only to that seed's networks then."""
    p_value: float
    """Two-sided, for an effect of zero: with several seeds, from the same t as the interval, so that both agree; with
    one seed, that of `sign_flip_test`, which is also valid for few boards."""

    @property
    def interval(self) -> Interval:
        return self.low, self.high


def wilson_interval(num_successes: float, num_trials: float, *, confidence: float = 0.95) -> Interval:
    """Returns Wilson's score interval of a proportion (Wilson 1927); (0, 1) without trials.

    The number of trials may be fractional, for trials that are not independent, see `effective_number`.
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
    # Rounding could exclude a share of 0 or 1.
    low, high = (centre - margin) / (1 + penalty), (centre + margin) / (1 + penalty)
    return max(0.0, min(low, share)), min(1.0, max(high, share))


def effective_number(observations: Iterable[Hashable]) -> float:
    """Returns the equivalent number of independent observations, where equal ones count as one.

    (sum of w)^2 / sum of w^2, where w is the multiplicity of each (Kish, Survey Sampling, 1965, section 11.7); 0 if
    there are none.
    """
    weights = Counter(observations).values()
    return sum(weights) ** 2 / sum(weight**2 for weight in weights) if weights else 0.0


def share_interval(are_hits: Sequence[bool], observations: Sequence[Hashable]) -> Interval:
    """Returns the 95 % interval of the share of hits, where equal observations count as one; (0, 1) without any.

    The unit is the share of hits in one observation. If that has two values, such as 0 and 1/3 for three seats of which
    one can win a game, this is Wilson's interval for the frequency of the larger one, with `effective_number` trials.
    With values in between, the number of trials is rescaled to match their variance. If all observations agree, which
    does not show their variance, 0 and 1 are taken as the two values.
    """
    weights, hits = Counter(observations), Counter(itertools.compress(observations, are_hits))
    if not weights:
        return 0.0, 1.0
    shares = np.array([hits[observation] / weight for observation, weight in weights.items()])
    mean, num_trials = sum(are_hits) / len(are_hits), effective_number(observations)
    lowest, highest = float(shares.min()), float(shares.max())
    has_intermediate = bool(((shares > lowest) & (shares < highest)).any())
    if lowest == highest:
        lowest, highest = 0.0, 1.0
    width = highest - lowest
    rescaled_mean = _clip((mean - lowest) / width, (0.0, 1.0))
    if has_intermediate:
        variance = np.average(((shares - mean) / width) ** 2, weights=[*weights.values()])
        num_trials *= rescaled_mean * (1 - rescaled_mean) / float(variance)
    low, high = wilson_interval(rescaled_mean * num_trials, num_trials)
    return lowest + width * low, lowest + width * high


def mcnemar_test(num_only_first: int, num_only_second: int) -> float:
    """Returns the exact two-sided p-value of paired wins (McNemar 1947, binomial form).

    The arguments count the pairs that only the first, and only the second, has won; 1 if there are none.
    """
    # scipy.stats, which has this test, takes a second to import.
    from scipy.special import bdtr

    total, fewer = num_only_first + num_only_second, min(num_only_first, num_only_second)
    # Under equal probabilities, both tails are equal.
    return min(1.0, 2 * float(bdtr(fewer, total, 0.5)))


def sign_flip_test(
    differences: ArrayLike, clusters: ArrayLike | None = None, *, num_samples: int = 20_000, seed: int = 0
) -> float:
    """Returns the two-sided p-value for a mean difference of zero.

    Under that hypothesis, the sign of every cluster of paired differences is random. All signs are tried for up to 14
    clusters that are not zero, else `num_samples` random ones (the p-value then counts the observed one too, so it is
    never 0). `clusters` names the group of each difference; by default each is its own.
    """
    sums, _ = _cluster_sums(differences, clusters)
    sums = sums[sums != 0]
    num_clusters = len(sums)
    if not num_clusters:
        return 1.0
    # Sums of the same numbers in different order may differ in their last digits.
    observed = abs(float(sums.sum())) - _ROUNDING * float(np.abs(sums).sum())
    if num_clusters <= 14:
        signs = 1 - 2 * ((np.arange(2**num_clusters)[:, None] >> np.arange(num_clusters)) & 1)
        return float((np.abs(signs @ sums) >= observed).mean())
    rng = np.random.default_rng(seed)
    num_extreme = 0
    num_left = num_samples
    while num_left:
        size = min(num_left, max(1, 2_000_000 // num_clusters))
        signs = 1 - 2 * rng.integers(0, 2, size=(size, num_clusters), dtype=np.int8)
        num_extreme += int((np.abs(signs @ sums) >= observed).sum())
        num_left -= size
    return (num_extreme + 1) / (num_samples + 1)


def mean_interval(
    values: ArrayLike, clusters: ArrayLike | None = None, *, bounds: Interval = (-1.0, 1.0), confidence: float = 0.95
) -> Estimate:
    """Returns the mean with Student's t interval, clipped to `bounds`, between which every value lies.

    With `clusters`, the group of each value, the variance is that of group sums about the mean (the linearised,
    cluster-robust one), with one degree of freedom less than groups: games on one board count as one board. If all
    groups agree exactly, their variance says nothing, and the interval allows for the share of groups that a sample of
    this size misses with a probability of 2.5 % on each side.

    If a few groups differ from the rest, the variance is unreliable: if 3 to 5 of 100 are expected to, all to one side,
    the interval covers the mean in 85 to 88 % of samples, and if half to each side, in 95 to 97 %, as measured in its
    tests.
    """
    flat = np.asarray(values, dtype=np.float64)
    if not len(flat):
        return Estimate(mean=sum(bounds) / 2, low=bounds[0], high=bounds[1], num_observations=0, num_clusters=0)
    mean = _clip(float(flat.mean()), bounds)
    variance, num_clusters = _variance_of_mean(flat, clusters)
    if variance:
        margin = t_quantile((1 + confidence) / 2, num_clusters - 1) * math.sqrt(variance)
        low, high = mean - margin, mean + margin
    else:
        missed = share_missed(num_clusters, confidence=confidence)
        low, high = mean - missed * (mean - bounds[0]), mean + missed * (bounds[1] - mean)
    return Estimate(
        mean=mean,
        low=_clip(low, bounds),
        high=_clip(high, bounds),
        num_observations=len(flat),
        num_clusters=num_clusters,
    )


def share_missed(num_observations: float, *, confidence: float = 0.95) -> float:
    """Returns the share of observations that a sample of this size misses with probability (1 - confidence) / 2."""
    return float(1 - ((1 - confidence) / 2) ** (1 / num_observations))


def seed_interval(
    groups: Sequence[ArrayLike],
    clusters: Sequence[ArrayLike] | None = None,
    *,
    bounds: Interval = (-1.0, 1.0),
    confidence: float = 0.95,
) -> SeedEstimate:
    """Returns the mean effect over training seeds; `groups[s]` are the observations (games) of seed `s`.

    There are two levels: games are nested in seeds, and all seeds have equal weight. The variance of the mean of S seed
    means is their sample variance / S, which includes the variance between seeds and that of games within; interval and
    p-value are Student's with S - 1 degrees of freedom. If the seed means are closer together than the variance of
    their games allows, the latter is used instead; if all games of a seed agree, the variance that corresponds to the
    interval of `mean_interval`. With one seed, the interval is that of `mean_interval`, the p-value that of
    `sign_flip_test`, and neither applies to other seeds. Seeds that share boards are not independent in the boards'
    contribution to the effect: give each seed its own openings, or a file that is much larger than the number it plays.
    """
    if not groups:
        raise ValueError("expected the games of at least one training seed, got none")
    estimates = [
        mean_interval(group, None if clusters is None else clusters[s], bounds=bounds, confidence=confidence)
        for s, group in enumerate(groups)
    ]
    variances = [
        _variance_of_mean(group, None if clusters is None else clusters[s])[0]
        or agreed_variance(estimate.mean, estimate.num_clusters, bounds=bounds, confidence=confidence)
        for s, (group, estimate) in enumerate(zip(groups, estimates, strict=True))
    ]
    if len(groups) > 1:
        return pooled_interval(
            [estimate.mean for estimate in estimates],
            variances,
            num_observations=sum(estimate.num_observations for estimate in estimates),
            num_clusters=[estimate.num_clusters for estimate in estimates],
            bounds=bounds,
            confidence=confidence,
        )
    (estimate,) = estimates
    return SeedEstimate(
        mean=estimate.mean,
        low=estimate.low,
        high=estimate.high,
        num_seeds=1,
        num_observations=estimate.num_observations,
        seed_means=(estimate.mean,),
        own_interval=estimate.interval,
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
    """Returns the mean effect over several training seeds, as `seed_interval`, from the statistics of each seed's
    games, `[S]`: their mean, and the variance of that mean due to these games alone, see `agreed_variance`.

    `num_clusters` is the number of groups of games of each seed, or in total if all have equally many. The degrees of
    freedom of `own_interval` are those of Welch, Biometrika 34 (1947) 28-35: a seed with few groups contributes most of
    the variance, and estimates it poorly.

    Raises ValueError for fewer than two seeds, and for a variance that is not above zero.
    """
    if len(means) < 2 or len(variances) != len(means):
        raise ValueError(
            f"expected means and variances of at least two training seeds, got {len(means)} and {len(variances)}"
        )
    if not min(variances) > 0:
        raise ValueError(f"expected variances above zero, got {min(variances)}")
    num_seeds = len(means)
    mean = _clip(float(np.mean(means)), bounds)
    variance_between, variance_within = float(np.var(means, ddof=1)), float(np.mean(variances))
    standard_error = math.sqrt(max(variance_between, variance_within) / num_seeds)
    low, high = _clipped_interval(mean, t_quantile((1 + confidence) / 2, num_seeds - 1) * standard_error, bounds)
    clusters_by_seed = [num_clusters / num_seeds] * num_seeds if isinstance(num_clusters, int) else num_clusters
    shares = [variance / sum(variances) for variance in variances]
    degrees_of_freedom = 1 / sum(
        share**2 / max(number - 1, 1) for share, number in zip(shares, clusters_by_seed, strict=True)
    )
    own_margin = t_quantile((1 + confidence) / 2, degrees_of_freedom) * math.sqrt(variance_within / num_seeds)
    return SeedEstimate(
        mean=mean,
        low=low,
        high=high,
        num_seeds=num_seeds,
        num_observations=num_observations,
        seed_means=tuple(map(float, means)),
        own_interval=_clipped_interval(mean, own_margin, bounds),
        own_variance=variance_within / num_seeds,
        seed_deviation=math.sqrt(max(0.0, variance_between - variance_within)),
        covers_seeds=True,
        p_value=_two_sided_p_value(mean / standard_error, num_seeds - 1),
    )


def agreed_variance(
    mean: float, num_clusters: float, *, bounds: Interval = (-1.0, 1.0), confidence: float = 0.95
) -> float:
    """Returns the variance to assume for a mean whose groups all agree, from the longer side of the interval of
    `mean_interval`.
    """
    missed = share_missed(num_clusters, confidence=confidence) if num_clusters else 1.0
    # That interval is exact for few groups too, so it must not be divided by the quantile of a heavy-tailed t.
    degrees = max(num_clusters - 1, MIN_DEGREES)
    error = missed * max(mean - bounds[0], bounds[1] - mean) / t_quantile((1 + confidence) / 2, degrees)
    return float(error**2)


def _clipped_interval(mean: float, margin: float, bounds: Interval) -> Interval:
    return _clip(mean - margin, bounds), _clip(mean + margin, bounds)


def _clip(value: float, bounds: Interval) -> float:
    """Returns the value clipped to the bounds, which a mean may exceed by rounding."""
    return min(max(value, bounds[0]), bounds[1])


def t_quantile(p: float, degrees: float) -> float:
    """Returns the quantile of Student's t with `degrees` of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, p))


def _two_sided_p_value(t: float, degrees: float) -> float:
    """Returns the two-sided tail probability of Student's t."""
    from scipy.special import stdtr

    return float(2 * stdtr(degrees, -abs(t)))


def _variance_of_mean(values: ArrayLike, clusters: ArrayLike | None) -> tuple[float, int]:
    """Returns the variance of the mean and the number of groups; the variance is 0, meaning unknown, if all agree."""
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
