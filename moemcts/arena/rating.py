"""Elo from results: differences with their errors, likelihood of superiority, sequential tests.

Results are counts of wins, draws and losses, or pentanomial counts of pairs of games: one opening played with both
colours, where the five entries count pairs that scored 0, 1/2, 1, 3/2 and 2 points. No function returns inf or nan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from moemcts.arena.intervals import mean_interval, share_missed

Model = Literal["logistic", "normalized", "trinomial"]
SprtDecision = Literal["H0", "H1", "undecided"]

ELO_PER_SIGMA = 800 / math.log(10)
"""Normalized Elo of one standard deviation per game (M. Van den Bergh, Comments on Normalized Elo)."""
MAX_ELO = 2000
"""Limit for sequential tests; at this difference, one game in 100,000 is lost."""
_Z95_TWO_SIDED = 1.959963984540054


@dataclass(frozen=True, kw_only=True)
class Elo:
    """A difference in Elo with its 95 % error.

    If the results allow no upper (lower) bound, as when every game was won (lost), `high` (`low`) is None and the other
    bound is a one-sided 95 % bound. For a score of exactly one half, both exist.
    """

    difference: float
    """The estimate; if all games were won or lost, the one existing bound."""
    error: float | None
    """Half the interval, as cutechess prints it; None if there is only one bound."""
    low: float | None
    high: float | None
    num_games: int

    @property
    def estimate(self) -> float | None:
        """The difference without its error; None if all games were won or lost."""
        is_bound = self.error is None and self.difference in (self.low, self.high)
        return None if is_bound else self.difference

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.difference:+z.1f} ± {self.error:.1f}"
        if self.low is not None:
            return f"> {self.low:+z.1f}"
        return f"< {self.high:+z.1f}"


@dataclass(frozen=True)
class EloRange:
    """A score and its interval in Elo; an end is None where the score is 0 or 1."""

    difference: float
    """If the score itself is 0 or 1, the existing end; 0 if there is none."""
    low: float | None
    high: float | None

    @classmethod
    def of(cls, score: float, interval: Sequence[float]) -> EloRange:
        """Converts a score and the two ends of its interval, in [0, 1]."""
        value, low, high = (_finite_elo(bound) for bound in (score, *interval))
        finite = [elo for elo in (value, low, high) if elo is not None]
        return cls(finite[0] if finite else 0.0, low, high)

    @property
    def interval_text(self) -> str:
        """The interval as printed."""
        low, high = ("…" if end is None else f"{end:+z.1f}" for end in (self.low, self.high))
        return f"[{low}, {high}]"

    def __str__(self) -> str:
        return f"{self.difference:+z.1f} {self.interval_text}"


def elo_of_score(score: float) -> float:
    """Returns the difference in Elo with an expected score of `score`, strictly between 0 and 1."""
    # Subtracted from zero, so that an even score gives 0.0 and not -0.0.
    return 0.0 - 400 * math.log10(1 / score - 1)


def score_of_elo(difference: float) -> float:
    """Returns the expected score of a player who is stronger by `difference`."""
    return 1 / (1 + math.pow(10, -difference / 400))


def elo(wins: int, draws: int, losses: int) -> Elo:
    """Returns the difference in Elo and its 95 % error exactly as cutechess prints them.

    cutechess, projects/lib/src/elo.cpp: the score of a game is assumed to be normally distributed. Only if that gives
    no result (no variance, or a bound of the score outside (0, 1)), bounds are computed differently; see `Elo`.
    """
    return _elo_of_counts([losses, draws, wins], num_games_each=1, quantile=_cutechess_quantile(0.975))


def pentanomial_elo(pairs: Sequence[int]) -> Elo:
    """Returns the difference in Elo with the error of paired games, from the five counts of pairs.

    The pair is the unit, so that the influence of the opening on both games is not counted as evidence twice (fastchess
    and fishtest do the same).
    """
    return _elo_of_counts(_check_pairs(pairs), num_games_each=2, quantile=_Z95_TWO_SIDED)


def student_elo(scores: Sequence[float], boards: Sequence[str] | None = None) -> EloRange:
    """Returns the difference in Elo of games with these scores, with Student's 95 % interval.

    Games on one of `boards` are one observation, so that the influence of the opening is not counted as evidence twice.
    With few observations, the variance is uncertain, which the errors of other programs ignore: with four pairs, equal
    players would seem to differ in one match out of five. Raises ValueError without any scores.
    """
    if not len(scores):
        raise ValueError("expected results of at least one game, got none")
    return EloRange.of(fmean(scores), mean_interval(scores, boards, bounds=(0.0, 1.0)).interval)


def normalized_elo(counts: Sequence[int]) -> tuple[float, float] | None:
    """Returns the normalized Elo difference and its 95 % error, from 3 (losses, draws, wins) or 5 counts.

    It is the score minus one half, in standard deviations of a game, times `ELO_PER_SIGMA`, as fastchess prints it
    (Source: Van den Bergh, as `ELO_PER_SIGMA`). None if all results are equal, as there is no deviation to measure in.
    """
    total, mean, variance = _moments([float(_check_count(count)) for count in counts])
    if not variance:
        return None
    unit = ELO_PER_SIGMA / math.sqrt(variance * _games_per_entry(counts))
    return (mean - 0.5) * unit, _Z95_TWO_SIDED * math.sqrt(variance / total) * unit


def likelihood_of_superiority(wins: int, losses: int) -> float:
    """Returns the probability that the first player is stronger, given its wins and losses (cutechess, elo.cpp)."""
    if not wins + losses:
        return 0.5
    return 0.5 + 0.5 * math.erf((wins - losses) / math.sqrt(2.0 * (wins + losses)))


@dataclass(frozen=True, kw_only=True)
class Sprt:
    """A sequential probability ratio test of a difference of `elo0` against one of `elo1`."""

    elo0: float = 0.0
    elo1: float = 10.0
    alpha: float = 0.05
    """Probability of accepting `elo1` if `elo0` is true."""
    beta: float = 0.05
    """Probability of accepting `elo0` if `elo1` is true."""
    model: Model = "normalized"
    """Unit of the differences: normalized or logistic Elo of pairs of games; `trinomial` is logistic Elo of single
    games."""

    def __post_init__(self) -> None:
        for difference in (self.elo0, self.elo1):
            if not -MAX_ELO <= difference <= MAX_ELO:
                raise ValueError(f"expected differences between -{MAX_ELO} and {MAX_ELO} Elo, got {difference}")
        if not self.elo0 < self.elo1:
            raise ValueError(f"expected elo0 < elo1, got {self.elo0} and {self.elo1}")
        if not (self.alpha > 0 and self.beta > 0 and self.alpha + self.beta < 1):
            raise ValueError(f"expected alpha, beta > 0 with a sum below 1, got {self.alpha} and {self.beta}")

    @property
    def bounds(self) -> tuple[float, float]:
        """The log-likelihood ratios at which H0 and H1 are accepted (Wald)."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def llr(self, counts: Sequence[int]) -> float:
        """Returns the log-likelihood ratio of 3 (losses, draws, wins) or 5 (pairs) counts."""
        return log_likelihood_ratio(counts, self.elo0, self.elo1, self.model)

    def decision(self, counts: Sequence[int]) -> SprtDecision:
        """Returns the decision for these counts."""
        lower, upper = self.bounds
        llr = self.llr(counts)
        return "H1" if llr >= upper else "H0" if llr <= lower else "undecided"


def log_likelihood_ratio(counts: Sequence[int], elo0: float, elo1: float, model: Model = "normalized") -> float:
    """Returns the generalized log-likelihood ratio of `elo1` against `elo0`.

    Both likelihoods are maximised over all distributions of the outcome with that difference. 3 counts are (losses,
    draws, wins), 5 are pairs; a count of zero is replaced by 0.001, and without games the result is 0. Source: Van den
    Bergh, Comments on Normalized Elo, propositions 1.1 and 4.1; values agree with fastchess.
    """
    if not any(counts):
        return 0.0
    weights = _regularized(counts)
    total = sum(weights)
    observed = [weight / total for weight in weights]
    if model != "normalized":
        likely = [_likeliest_with_score(observed, score_of_elo(value)) for value in (elo0, elo1)]
    else:
        scale = math.sqrt(_games_per_entry(counts)) / ELO_PER_SIGMA
        likely = [_likeliest_with_t_value(observed, value * scale) for value in (elo0, elo1)]
    return total * sum(p * math.log(p1 / p0) for p, p0, p1 in zip(observed, likely[0], likely[1], strict=True))


def _finite_elo(score: float) -> float | None:
    return elo_of_score(score) if 0 < score < 1 else None


def _elo_of_counts(counts: Sequence[int], *, num_games_each: int, quantile: float) -> Elo:
    total, mean, variance = _moments([float(_check_count(count)) for count in counts])
    if not total:
        raise ValueError("expected results of at least one game, got none")
    num_games = round(total) * num_games_each
    spread = math.sqrt(variance / total)
    if mean in (0.0, 1.0):
        # All won (lost): the probability of that is 5 % at this score.
        worst = math.pow(0.05, 1 / total)
        bound = elo_of_score(worst)
        return Elo(
            difference=bound if mean else -bound,
            error=None,
            low=bound if mean else None,
            high=None if mean else -bound,
            num_games=num_games,
        )
    # Equal results do not show their variance: the share that 2.5 % of samples miss may be all losses, or all wins.
    missed = 0.0 if variance else share_missed(total)
    low, high = mean - (quantile * spread or missed * mean), mean + (quantile * spread or missed * (1 - mean))
    if mean == 0.5 and low <= 0:
        low = _lower_score_bound(mean, total, 0.025)
        high = 1 - low
    difference = elo_of_score(mean)
    if low > 0 and high < 1:
        bounds = elo_of_score(low), elo_of_score(high)
        error = (bounds[1] - bounds[0]) / 2
        return Elo(difference=difference, error=error, low=bounds[0], high=bounds[1], num_games=num_games)
    bound = elo_of_score(_lower_score_bound(max(mean, 1 - mean), total, 0.05))
    only_low = mean >= 0.5
    return Elo(
        difference=difference,
        error=None,
        low=bound if only_low else None,
        high=None if only_low else -bound,
        num_games=num_games,
    )


def _lower_score_bound(mean: float, total: float, share: float) -> float:
    """Returns the score below which the given share of matches would do as well, if every entry were a win or a loss.

    Clopper and Pearson's bound (1934) with a fractional number of wins: for a given mean, nothing has more variance,
    and close to 1 the observed variance says little. It decreases with every point lost.
    """
    from scipy.special import betaincinv

    won = mean * total
    return float(betaincinv(won, total - won + 1, share))


def _moments(counts: Sequence[float]) -> tuple[float, float, float]:
    """Returns the total, and the mean and variance of the score of an entry, in [0, 1]."""
    total = sum(counts)
    if not total:
        return 0.0, 0.0, 0.0
    scores = [i / (len(counts) - 1) for i in range(len(counts))]
    mean = sum(count * score for count, score in zip(counts, scores, strict=True)) / total
    variance = sum(count * (score - mean) ** 2 for count, score in zip(counts, scores, strict=True)) / total
    return total, mean, variance


def _cutechess_quantile(p: float) -> float:
    """Returns the normal quantile with Winitzki's approximation of the inverse error function."""
    x = 2 * p - 1
    a = 8 * (math.pi - 3) / (3 * math.pi * (4 - math.pi))
    log = math.log(1 - x * x)
    b = 2 / (math.pi * a) + log / 2
    return math.sqrt(2) * math.copysign(math.sqrt(math.sqrt(b * b - log / a) - b), x)


def _check_pairs(pairs: Sequence[int]) -> Sequence[int]:
    if len(pairs) != 5:
        raise ValueError(f"expected five counts of pairs, with 0, 1/2, 1, 3/2 and 2 points, got {list(pairs)}")
    return pairs


def _check_count(count: int) -> int:
    if count < 0:
        raise ValueError(f"expected counts of games, got {count}")
    return count


def _regularized(counts: Sequence[int]) -> list[float]:
    return [_check_count(count) or 1e-3 for count in counts]


def _games_per_entry(counts: Sequence[int]) -> int:
    if len(counts) not in (3, 5):
        raise ValueError(f"expected 3 counts of games or 5 of pairs, got {len(counts)}")
    return (len(counts) - 1) // 2


def _likeliest_with_score(observed: Sequence[float], score: float) -> list[float]:
    deviations = [i / (len(observed) - 1) - score for i in range(len(observed))]
    return _tilted(observed, deviations)


def _likeliest_with_t_value(observed: Sequence[float], t: float) -> list[float]:
    """Returns the maximum-likelihood distribution with (mean - 1/2) / sigma = t, by Van den Bergh's iteration."""
    scores = [i / (len(observed) - 1) for i in range(len(observed))]
    # Start from wins and losses only, in proportions with this t, so that every step has a root, whatever t is.
    won = 0.5 + t / (2 * math.sqrt(1 + t * t))
    p = [1 - won, *[0.0] * (len(observed) - 2), won]
    for _ in range(100):
        mean = sum(q * score for q, score in zip(p, scores, strict=True))
        sigma = math.sqrt(sum(q * (score - mean) ** 2 for q, score in zip(p, scores, strict=True)))
        gradient = [score - 0.5 - t * sigma * (1 + ((score - mean) / sigma) ** 2) / 2 for score in scores]
        previous, p = p, _tilted(observed, gradient)
        if max(abs(a - b) for a, b in zip(p, previous, strict=True)) < 1e-9:
            break
    return p


def _tilted(observed: Sequence[float], gradient: Sequence[float]) -> list[float]:
    """Returns `observed / (1 + theta * gradient)` with the theta at which `gradient` has mean zero."""

    def mean_gradient(theta: float) -> float:
        return sum(q * g / (1 + theta * g) for q, g in zip(observed, gradient, strict=True))

    # Between these poles, it decreases from +inf to -inf.
    theta = _find_root(mean_gradient, -1 / max(gradient), -1 / min(gradient))
    return [q / (1 + theta * g) for q, g in zip(observed, gradient, strict=True)]


def _find_root(decreasing: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if decreasing(middle) > 0 else (low, middle)
    return (low + high) / 2
