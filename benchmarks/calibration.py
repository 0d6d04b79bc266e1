"""How often intervals contain the truth, and how often sequential tests are wrong, in simulated matches.

    python benchmarks/calibration.py [--matches 2000] [--tests 1000] [--seed 0] [--record]

Games are drawn from a known model. The stronger player wins with probability `F((d - b) / 400)`, the weaker one with
`F((-d - b) / 400)`, where `F(x) = 1 / (1 + 10^-x)`; `b` sets how many games are drawn. Each opening favours one colour
by a normally distributed amount and is played with both, so that the two games of a pair are alike.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from measuring.record import Row, add_option, append
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri

from moemcts.arena.intervals import seed_interval, wilson_interval
from moemcts.arena.ranking import Ranking, fit_ratings, ranking_of
from moemcts.arena.rating import (
    Elo,
    EloRange,
    Model,
    Sprt,
    elo,
    elo_of_score,
    normalized_elo,
    pentanomial_elo,
    score_of_elo,
    student_elo,
)

OPENING_ELO = 100.0
"""Standard deviation of what an opening is worth to White."""
NUM_OPENINGS = 400
"""Quantiles of that distribution over which probabilities are averaged."""
DRAWS = {"no draws": 0.0, "half drawn": 0.5, "nine of ten drawn": 0.9}
"""Shares of draws between equal players."""
LONGEST = 20_000
"""Maximum number of pairs of a sequential test."""


class Pairs(NamedTuple):
    """The distribution of pairs of games between two players."""

    results: NDArray[np.float64]
    """Probabilities of the results of the first and of the second game, lost, drawn or won, `[3, 3]`."""

    @property
    def points(self) -> NDArray[np.float64]:
        """Probabilities of 0, 1/2, 1, 3/2 and 2 points, `[5]`."""
        return points_of(self.results)

    @property
    def score(self) -> float:
        """The expected score of a game."""
        return float(self.points @ np.arange(5)) / 4

    @property
    def normalized_elo(self) -> float:
        """The difference in normalized Elo."""
        found = normalized_elo([round(1e12 * share) for share in self.points])
        assert found is not None
        return found[0]


@cache
def pairs_between(difference: float, share_drawn: float) -> Pairs:
    """Returns the distribution of pairs between players who differ by `difference`, in units of the model."""
    openings, margin = _openings(), _margin(share_drawn)
    games = []
    for advantage in (openings, -openings):
        won = _scores(difference + advantage - margin)
        lost = _scores(-difference - advantage - margin)
        games.append(np.stack([lost, np.maximum(1 - won - lost, 0.0), won]))
    results = np.einsum("io,jo->ij", *games)
    return Pairs(results / results.sum())


@cache
def pairs_with(target: float, share_drawn: float, model: Model) -> Pairs:
    """Returns the distribution of pairs between players who differ by `target` in the unit of a test's model."""

    def excess(difference: float) -> float:
        pairs = pairs_between(difference, share_drawn)
        return (pairs.normalized_elo if model == "normalized" else elo_of_score(pairs.score)) - target

    return pairs_between(brentq(excess, -2000.0, 2000.0), share_drawn)


@cache
def _openings() -> NDArray[np.float64]:
    """Returns what openings are worth to White, as quantiles of their distribution."""
    return np.asarray(OPENING_ELO * ndtri((np.arange(NUM_OPENINGS) + 0.5) / NUM_OPENINGS))


@cache
def _margin(share_drawn: float) -> float:
    """Returns the `b` with which equal players draw this share of games."""

    def excess(margin: float) -> float:
        return float(np.mean(1 - _scores(_openings() - margin) - _scores(-_openings() - margin))) - share_drawn

    return float(brentq(excess, 0.0, 4000.0)) if share_drawn else 0.0


def _scores(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([score_of_elo(difference) for difference in differences])


def points_of(results: NDArray[Any]) -> NDArray[Any]:
    """Returns the sums over 0, 1/2, 1, 3/2 and 2 points, `[5]`, of what is known by pairs of results, `[3, 3]`."""
    return np.array([np.trace(results[:, ::-1], offset=2 - total) for total in range(5)])


def by_games(results: NDArray[np.int64]) -> Elo:
    """Returns Elo from single games, as cutechess computes it."""
    losses, draws, wins = (int(n) for n in results.sum(axis=0) + results.sum(axis=1))
    return elo(wins, draws, losses)


def by_pairs(results: NDArray[np.int64]) -> Elo:
    """Returns Elo from pairs, as fastchess computes it."""
    return pentanomial_elo(points_of(results).tolist())


def by_student(results: NDArray[np.int64]) -> EloRange:
    """Returns Elo with Student's interval over openings, on which our verdicts rest."""
    points = np.repeat(np.arange(5), points_of(results)) / 4
    return student_elo(points.tolist())


METHODS: dict[str, Callable[[NDArray[np.int64]], Elo | EloRange]] = {
    "single games, as cutechess": by_games,
    "pairs, as fastchess": by_pairs,
    "openings, Student's, as our verdicts": by_student,
}


def covers(found: Elo | EloRange, truth: float) -> bool:
    """Returns whether an interval in Elo contains the true difference; missing ends are open."""
    return (found.low is None or found.low <= truth) and (found.high is None or truth <= found.high)


def row(name: str, hits: Sequence[bool], **facts: object) -> Row:
    """Returns a row with the share of hits in per cent and its Wilson interval."""
    interval = wilson_interval(sum(hits), len(hits))
    value = round(100 * sum(hits) / len(hits), 1)
    return {"name": name, "value": value, "interval": [round(100 * end, 1) for end in interval], **facts}


def of_intervals(num_matches: int, rng: np.random.Generator) -> Iterator[Row]:
    """Yields how often intervals of Elo contain the true difference."""
    for words, share in DRAWS.items():
        for difference in (0.0, 30.0, 200.0):
            pairs = pairs_with(difference, share, "pentanomial")
            truth = elo_of_score(pairs.score)
            for num_pairs in (10, 50, 500):
                matches = rng.multinomial(num_pairs, pairs.results.ravel(), size=num_matches).reshape(-1, 3, 3)
                for method, of in METHODS.items():
                    hits = [covers(of(results), truth) for results in matches]
                    name = f"{method}: {difference:g} Elo, {words}, {num_pairs} pairs"
                    facts = {"kind": "interval", "method": method, "elo": difference, "draws": words}
                    yield row(name, hits, **facts, pairs=num_pairs, matches=num_matches)


def of_tests(num_tests: int, rng: np.random.Generator) -> Iterator[Row]:
    """Yields how often sequential tests decide wrongly, and how many pairs they take."""
    for elo1 in (20.0, 100.0):
        test = Sprt(elo0=0.0, elo1=elo1)
        for words, share in DRAWS.items():
            for truth, wrong in ((0.0, "H1"), (elo1, "H0")):
                pairs = pairs_with(truth, share, test.model)
                ends = [_tested(test, pairs, rng) for _ in range(num_tests)]
                hits = [decision == wrong for decision, _ in ends]
                lengths = [length for _, length in ends]
                name = f"test of 0 against {elo1:g}: {truth:g} true, {words}"
                facts = {"kind": "test", "elo1": elo1, "truth": truth, "draws": words, "tests": num_tests}
                facts |= {"undecided": sum(decision == "undecided" for decision, _ in ends)}
                yield row(name, hits, **facts, mean_pairs=round(float(np.mean(lengths))))


def _tested(test: Sprt, pairs: Pairs, rng: np.random.Generator) -> tuple[str, int]:
    """Returns the decision of a test after as many pairs as it needs, and their number."""
    counts = [0] * 5
    for number, points in enumerate(rng.choice(5, size=LONGEST, p=pairs.points), start=1):
        counts[points] += 1
        decision = test.decision(counts)
        if decision != "undecided":
            return decision, number
    return "undecided", LONGEST


def of_seeds(num_matches: int, rng: np.random.Generator) -> Iterator[Row]:
    """Yields how often intervals over training seeds contain the mean over all seeds there could be."""
    for num_seeds in (2, 3, 5, 10):
        for deviation in (0.0, 0.02, 0.08):
            hits = []
            for _ in range(num_matches):
                means = 0.5 + deviation * rng.standard_normal(num_seeds)
                games = [rng.binomial(1, min(max(mean, 0.0), 1.0), size=200) for mean in means]
                found = seed_interval(games, bounds=(0.0, 1.0))
                hits.append(found.low <= 0.5 <= found.high)
            name = f"{num_seeds} seeds of 200 games, {100 * deviation:g} points between seeds"
            yield row(name, hits, kind="seeds", seeds=num_seeds, deviation=deviation, matches=num_matches)


def of_ratings(num_matches: int, rng: np.random.Generator) -> Iterator[Row]:
    """Yields how often the intervals of ratings contain the true strengths, in round robins of four players."""
    strengths = np.array([-60.0, -20.0, 20.0, 60.0])
    for num_games in (20, 200):
        hits = []
        for _ in range(num_matches):
            found = fit_ratings(_round_robin(strengths, num_games, rng))
            truths = strengths[["abcd".index(name) for name in found.names]]
            hits += (np.abs(found.elo - truths) <= found.errors).tolist()
        name = f"ratings of four players, {num_games} games a pair"
        yield row(name, hits, kind="ratings", games=num_games, matches=num_matches)


def _round_robin(strengths: NDArray[np.float64], num_games: int, rng: np.random.Generator) -> Iterator[Ranking]:
    for one in range(4):
        for other in range(one + 1, 4):
            share = score_of_elo(strengths[one] - strengths[other])
            for number, won in enumerate(rng.random(num_games) < share):
                returns = (1.0, -1.0) if won else (-1.0, 1.0)
                yield ranking_of(("abcd"[one], "abcd"[other]), returns, f"{one} {other} {number}")


def main() -> None:
    """Simulates and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matches", type=int, default=2000, help="simulated per setting")
    parser.add_argument("--tests", type=int, default=1000, help="sequential tests simulated per setting")
    parser.add_argument("--seed", type=int, default=0)
    add_option(parser)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    rows = []
    parts = (
        of_intervals(options.matches, rng),
        of_seeds(options.matches, rng),
        of_ratings(options.matches // 10, rng),
        of_tests(options.tests, rng),
    )
    for part in parts:
        for found in part:
            print(f"{found['name']}: {found['value']} % {found['interval']}", flush=True)
            rows.append({"unit": "%", "seed": options.seed, **found})
    if options.record:
        append("calibration", rows)


if __name__ == "__main__":
    main()
