"""Strengths of many agents from games of any number of players, on the scale of Elo."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moemcts.errors import unknown_name

_ELO_PER_NAT = 400 / math.log(10)
_Z95 = 1.959963984540054


@dataclass(frozen=True)
class Ranking:
    """How one game ended: groups of agents, best first, tied within a group.

    The unranked were behind all of these in an order that nobody knows, as the losers of a free-for-all. An agent
    that had several seats is named as often.
    """

    groups: tuple[tuple[str, ...], ...]
    unranked: tuple[str, ...] = ()


def ranking_of(names: Sequence[str], returns: Sequence[float]) -> Ranking:
    """Returns the ranking by returns; those who share the lowest one, where some have a higher, are unranked."""
    order = sorted(range(len(names)), key=lambda player: -returns[player])
    groups = [
        tuple(names[player] for player in group) for _, group in groupby(order, key=lambda player: returns[player])
    ]
    if len(groups) > 1 and len(groups[-1]) > 1:
        return Ranking(tuple(groups[:-1]), groups[-1])
    return Ranking(tuple(groups))


@dataclass(frozen=True)
class Ratings:
    """Elo of each agent, with mean zero."""

    names: tuple[str, ...]
    elo: NDArray[np.float64]
    """`[n]`."""
    covariance: NDArray[np.float64]
    """`[n, n]`, in Elo squared, from the curvature of the likelihood; games are taken as independent."""
    num_games: int

    @property
    def errors(self) -> NDArray[np.float64]:
        """Half the 95 % interval of each agent against the mean of all, `[n]`."""
        return np.asarray(_Z95 * np.sqrt(np.diag(self.covariance)))

    def difference(self, first: str, second: str) -> tuple[float, float]:
        """Returns by how much Elo the first is stronger, and the 95 % error of that."""
        i, j = self._row(first), self._row(second)
        variance = self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j]
        return float(self.elo[i] - self.elo[j]), _Z95 * math.sqrt(max(0.0, float(variance)))

    def superiority(self, first: str, second: str) -> float:
        """Returns the probability that the first is stronger, taking the difference as normal."""
        difference, error = self.difference(first, second)
        return 0.5 if not error else 0.5 + 0.5 * math.erf(difference / (error / _Z95) / math.sqrt(2))

    def to_json(self) -> dict[str, Any]:
        """Returns the agents from strongest to weakest as JSON values."""
        order = np.argsort(-self.elo, kind="stable")
        agents = [{"name": self.names[i], "elo": float(self.elo[i]), "error": float(self.errors[i])} for i in order]
        return {"num_games": self.num_games, "agents": agents}

    def _row(self, name: str) -> int:
        if name not in self.names:
            raise unknown_name("agent", name, self.names)
        return self.names.index(name)


MOST_ORDERED = 6
"""Tied players of whom all orders count: of more there are too many."""


def fit_ratings(rankings: Iterable[Ranking], *, prior_games: float = 1.0) -> Ratings:
    """Returns the Plackett-Luce strengths of the rankings; Bradley-Terry where games have two players.

    Agent i comes first among those left with probability w_i / sum of w, and Elo is 400 log10 w. A tie counts as
    all orders of the tied with equal weight, so a draw of two is half a win for each; one of more than `MOST_ORDERED`
    as the orders that go round them in equal steps, from each of them on. Every agent also ties
    `prior_games` games against one of mean strength: without them, who wins all games has no finite rating.
    The likelihood is that of Hunter, Annals of Statistics 32 (2004) 384-406; Newton's method finds its maximum in
    a few steps where his MM algorithm takes thousands. Raises ValueError without games.
    """
    stages: defaultdict[tuple[tuple[str, ...], str], float] = defaultdict(float)
    num_games = 0
    for ranking in rankings:
        num_games += 1
        for risk, first, weight in _stages(ranking):
            stages[risk, first] += weight
    names = tuple(sorted({name for risk, _ in stages for name in risk}))
    if not names:
        raise ValueError("expected games of at least two agents, got none")
    if prior_games <= 0:
        raise ValueError(f"expected a positive number of prior games, got {prior_games}")
    rows = {name: row for row, name in enumerate(names)}
    weights = np.array(list(stages.values()), dtype=np.float64)
    members = np.zeros((len(stages), len(names)))
    wins = np.full(len(names), prior_games / 2)
    for stage, (risk, first) in enumerate(stages):
        for name in risk:
            members[stage, rows[name]] += 1
        wins[rows[first]] += weights[stage]
    likelihood = _Likelihood(members, weights, wins, prior_games)
    found = likelihood.maximum()
    centre = np.eye(len(names)) - 1 / len(names)
    covariance = centre @ np.linalg.inv(likelihood.slope(found)[1]) @ centre
    return Ratings(names, _ELO_PER_NAT * (centre @ found), _ELO_PER_NAT**2 * covariance, num_games)


def _stages(ranking: Ranking) -> Iterable[tuple[tuple[str, ...], str, float]]:
    """Yields who was left, who came first of these, and with what weight."""
    behind = [name for group in ranking.groups for name in group] + list(ranking.unranked)
    for group in ranking.groups:
        behind = behind[len(group) :]
        for left, firsts, weight in _choices(group):
            risk = tuple(sorted([*left, *behind]))
            if len(risk) > 1:
                for first in firsts:
                    yield risk, first, weight


def _choices(group: Sequence[str]) -> Iterable[tuple[Sequence[str], Sequence[str], float]]:
    """Yields who of a tied group may be left, who may come first of these, and with what weight each."""
    num_tied = len(group)
    if num_tied > MOST_ORDERED:
        steps = [step for step in range(1, num_tied) if math.gcd(step, num_tied) == 1]
        for start, step in product(range(num_tied), steps):
            order = [group[(start + place * step) % num_tied] for place in range(num_tied)]
            for place, first in enumerate(order):
                yield order[place:], [first], 1 / (num_tied * len(steps))
        return
    for num_before in range(num_tied):
        weight = 1 / math.comb(num_tied, num_before) / (num_tied - num_before)
        for before in combinations(range(num_tied), num_before):
            left = [name for place, name in enumerate(group) if place not in before]
            yield left, left, weight


@dataclass(frozen=True)
class _Likelihood:
    members: NDArray[np.float64]
    """`[stages, n]`: how often each agent was among those left."""
    weights: NDArray[np.float64]
    wins: NDArray[np.float64]
    """`[n]`, prior ones included."""
    prior_games: float

    def value(self, log_strengths: NDArray[np.float64]) -> float:
        """Returns the logarithm, with the prior's virtual ties against strength 1."""
        total = self.wins @ log_strengths - self.weights @ np.log(self.members @ np.exp(log_strengths))
        return float(total - self.prior_games * np.logaddexp(0, log_strengths).sum())

    def slope(self, log_strengths: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns the gradient `[n]` and the information, the negative Hessian, `[n, n]`."""
        strengths = np.exp(log_strengths)
        shares = self.members * strengths
        shares /= shares.sum(axis=1, keepdims=True)
        chance = strengths / (strengths + 1)
        expected = self.weights @ shares
        information = np.diag(expected + self.prior_games * chance * (1 - chance))
        information -= (shares * self.weights[:, None]).T @ shares
        return self.wins - expected - self.prior_games * chance, information

    def maximum(self) -> NDArray[np.float64]:
        """Returns the log strengths by Newton's method with halved steps; the function is strictly concave."""
        found = np.zeros(len(self.wins))
        value = self.value(found)
        for _ in range(200):
            gradient, information = self.slope(found)
            step = np.linalg.solve(information, gradient)
            while (reached := self.value(found + step)) < value and np.abs(step).max() > 1e-12:
                step /= 2
            found, value = found + step, max(value, reached)
            if np.abs(step).max() < 1e-10:
                break
        return found
