"""Ratings of many agents from games with any number of players, on the Elo scale."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, groupby, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moemcts.errors import unknown_name

_ELO_PER_NAT = 400 / math.log(10)
_Z95 = 1.959963984540054
_NUM_UNOBSERVED = (math.log(20) / _Z95) ** 2
"""Variance of the number of boards that may differ from the rest unobserved: 5 % of samples miss all of an expected ln
20, which is taken as 1.96 standard errors. Such samples err to one side only."""
_PRIOR_BOARDS = 0.1
"""Weight of a hypothetical board with the largest possible difference, added to the observed ones."""
_MIN_INFORMATION = 1e-9
"""Lower limit of an agent's information, which is zero if it meets only itself."""
_Kind = tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]
"""The result of a game: groups and the unranked."""


@dataclass(frozen=True)
class Ranking:
    """The result of one game: groups of agents, best first, tied within a group.

    The unranked come after all of these in unknown order, as the losers of a free-for-all do. An agent with several
    seats is listed once per seat.
    """

    groups: tuple[tuple[str, ...], ...]
    unranked: tuple[str, ...] = ()
    board: str = ""
    """Identifies games of the same agents that have something in common, such as an opening played from all seats: they
    are one observation together. If empty, the game is its own."""


def ranking_of(names: Sequence[str], returns: Sequence[float], board: str = "") -> Ranking:
    """Returns the ranking by returns; several with the lowest return are unranked if others have a higher one."""
    players = sorted(range(len(names)), key=lambda player: -returns[player])
    groups = [
        tuple(names[player] for player in group) for _, group in groupby(players, key=lambda player: returns[player])
    ]
    if len(groups) > 1 and len(groups[-1]) > 1:
        return Ranking(tuple(groups[:-1]), groups[-1], board)
    return Ranking(tuple(groups), board=board)


@dataclass(frozen=True)
class Ratings:
    """Elo of each agent, with mean zero."""

    names: tuple[str, ...]
    elo: NDArray[np.float64]
    """`[n]`."""
    covariance: NDArray[np.float64]
    """`[n, n]`, in Elo squared, from the observed variation between games; those on one board are one observation."""
    num_games: int
    num_boards: int
    """Boards that the games were played on; a game without one is a board of its own."""

    @property
    def errors(self) -> NDArray[np.float64]:
        """Half the 95 % interval of each agent's difference from the mean of all, `[n]`."""
        return np.asarray(_Z95 * np.sqrt(np.diag(self.covariance)))

    def difference(self, first: str, second: str) -> tuple[float, float]:
        """Returns by how much Elo the first agent is stronger, and the 95 % error of that."""
        i, j = self._row(first), self._row(second)
        variance = self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j]
        return float(self.elo[i] - self.elo[j]), _Z95 * math.sqrt(max(0.0, float(variance)))

    def to_json(self) -> dict[str, Any]:
        """Returns the agents from strongest to weakest as JSON values."""
        order = np.argsort(-self.elo, kind="stable")
        agents = [{"name": self.names[i], "elo": float(self.elo[i]), "error": float(self.errors[i])} for i in order]
        return {"num_games": self.num_games, "num_boards": self.num_boards, "agents": agents}

    def _row(self, name: str) -> int:
        if name not in self.names:
            raise unknown_name("agent", name, self.names)
        return self.names.index(name)


MAX_ORDERED = 6
"""Maximum number of tied players for which all orders are enumerated."""


def fit_ratings(rankings: Iterable[Ranking], *, prior_games: float = 1.0) -> Ratings:
    """Returns the Plackett-Luce strengths of the rankings; Bradley-Terry if games have two players.

    Agent i comes first among those left with probability w_i / sum of w, and Elo is 400 log10 w. A tie counts as all
    orders of the tied with equal weight, so a draw of two is half a win for each; a tie of more than `MAX_ORDERED` as
    the cyclic orders with constant step, starting from each of them. Every agent also ties `prior_games` games against
    one of mean strength: without these, an agent that wins all games has no finite rating. The likelihood is that of
    Hunter, Annals of Statistics 32 (2004) 384-406; Newton's method finds its maximum in a few steps where his MM
    algorithm takes thousands.

    The covariance is I^-1 J I^-1 with the information I and the sum J of the squared scores, not I^-1, which treats a
    draw as half a win and half a loss and therefore as equally variable (White, Econometrica 50 (1982) 1-25). The
    scores of games on one board are added before squaring (Liang and Zeger, Biometrika 73 (1986) 13-22); the prior is
    included in J as in I. If results rarely differ, or never, few games do not show their variance: J therefore also
    includes what 5 % of samples of an agent's boards miss, up to the value of I. Raises ValueError without games.
    """
    games = list(rankings)
    kinds: dict[_Kind, int] = {}
    kind_of_game = [kinds.setdefault((game.groups, game.unranked), len(kinds)) for game in games]
    likelihood = _Likelihood.of(list(kinds), np.bincount(kind_of_game, minlength=len(kinds)), prior_games)
    names = likelihood.names
    if not names:
        raise ValueError("expected games of at least two agents, got none")
    if prior_games <= 0:
        raise ValueError(f"expected a positive number of prior games, got {prior_games}")
    log_strengths = likelihood.maximize()
    boards: dict[Hashable, int] = {}
    board_of_game = [boards.setdefault(game.board or number, len(boards)) for number, game in enumerate(games)]
    sums, seats = np.zeros((2, len(boards), len(names)))
    np.add.at(sums, board_of_game, likelihood.scores(log_strengths)[kind_of_game])
    np.add.at(seats, board_of_game, likelihood.participation[kind_of_game])
    _, information = likelihood.derivatives(log_strengths)
    score_covariance = sums.T @ sums * (len(boards) / max(len(boards) - 1, 1))
    score_covariance += likelihood.missing_variance(log_strengths, sums, seats)
    # Differences between agents that no games connect are determined by the prior alone.
    score_covariance += information - likelihood.information(log_strengths)
    centre = np.eye(len(names)) - 1 / len(names)
    projected_inverse = centre @ np.linalg.inv(information)
    return Ratings(
        names,
        _ELO_PER_NAT * (centre @ log_strengths),
        _ELO_PER_NAT**2 * projected_inverse @ score_covariance @ projected_inverse.T,
        len(games),
        len(boards),
    )


def _stages(kind: _Kind) -> Iterable[tuple[tuple[str, ...], str, float]]:
    """Yields the agents that were left, the one that came first among them, and its weight."""
    groups, unranked = kind
    behind = [name for group in groups for name in group] + list(unranked)
    for group in groups:
        behind = behind[len(group) :]
        for left, firsts, weight in _tie_orders(group):
            risk = tuple(sorted([*left, *behind]))
            if len(risk) > 1:
                for first in firsts:
                    yield risk, first, weight


def _tie_orders(group: Sequence[str]) -> Iterable[tuple[Sequence[str], Sequence[str], float]]:
    """Yields which of a tied group may be left, which of these may come first, and the weight of each."""
    num_tied = len(group)
    if num_tied > MAX_ORDERED:
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
    """The likelihood of games, grouped by kind: games of a kind have the same result."""

    names: tuple[str, ...]
    counts: NDArray[np.int64]
    """`[kinds]`: number of games."""
    firsts: NDArray[np.float64]
    """`[kinds, n]`: weighted number of stages of a game in which each agent came first."""
    members: NDArray[np.float64]
    """`[stages, n]`: how often each agent was among those left."""
    weights: NDArray[np.float64]
    """`[stages]`, in one game."""
    kind_of: NDArray[np.int64]
    """`[stages]`: the kind of game."""
    prior_games: float

    @classmethod
    def of(cls, kinds: Sequence[_Kind], counts: NDArray[np.int64], prior_games: float) -> _Likelihood:
        """Returns the likelihood of `counts` games of each kind."""
        stages: defaultdict[tuple[int, tuple[str, ...]], float] = defaultdict(float)
        names = tuple(sorted({name for kind in kinds for risk, _, _ in _stages(kind) for name in risk}))
        columns = {name: column for column, name in enumerate(names)}
        firsts = np.zeros((len(kinds), len(names)))
        for row, kind in enumerate(kinds):
            for risk, first, weight in _stages(kind):
                stages[row, risk] += weight
                firsts[row, columns[first]] += weight
        members = np.zeros((len(stages), len(names)))
        for stage, (_, risk) in enumerate(stages):
            for name in risk:
                members[stage, columns[name]] += 1
        weights = np.array(list(stages.values()), dtype=np.float64)
        kind_of = np.array([row for row, _ in stages], dtype=np.int64)
        return cls(names, counts, firsts, members, weights, kind_of, prior_games)

    def value(self, log_strengths: NDArray[np.float64]) -> float:
        """Returns the log-likelihood, including the prior's virtual ties against strength 1."""
        total = self._wins @ log_strengths - self._all_weights @ np.log(self.members @ np.exp(log_strengths))
        return float(total - self.prior_games * np.logaddexp(0, log_strengths).sum())

    def derivatives(self, log_strengths: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns the gradient `[n]` and the information, the negative Hessian, `[n, n]`."""
        chance = 1 / (1 + np.exp(-log_strengths))
        gradient = self._wins - self._all_weights @ self._shares(log_strengths) - self.prior_games * chance
        return gradient, self.information(log_strengths) + np.diag(self.prior_games * chance * (1 - chance))

    def information(self, log_strengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the information of the games alone, `[n, n]`."""
        shares = self._shares(log_strengths)
        weighted = shares * self._all_weights[:, None]
        return np.asarray(np.diag(weighted.sum(axis=0)) - weighted.T @ shares)

    def scores(self, log_strengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the gradient contributed by one game of each kind, `[kinds, n]`."""
        scores = self.firsts.copy()
        np.subtract.at(scores, self.kind_of, self.weights[:, None] * self._shares(log_strengths))
        return scores

    def missing_variance(
        self, log_strengths: NDArray[np.float64], sums: NDArray[np.float64], seats: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Returns the possible deficit of the squared scores, `[n, n]`, due to results that were possible but did not
        occur.

        `sums` are the scores of each agent on each board, `seats` the games that it played there, `[boards, n]`. For
        each agent, `_NUM_UNOBSERVED` boards are assumed, of the typical size of its observed squares; if it has none,
        all games of such a board may have the opposite result. The deficit is at most that of all games on a board
        being one.
        """
        information, even_information = self.information(log_strengths), self.information(np.zeros(len(self.names)))
        num_games = seats.sum(axis=0)
        games_per_board = num_games / (seats > 0).sum(axis=0)
        max_squares = games_per_board**2 * np.maximum(np.diag(even_information) / num_games, _MIN_INFORMATION)
        squares = sums**2
        square_sum = squares.sum(axis=0) + _PRIOR_BOARDS * max_squares
        typical_square = ((squares**2).sum(axis=0) + _PRIOR_BOARDS * max_squares**2) / square_sum
        hidden = _NUM_UNOBSERVED * typical_square / np.maximum(np.diag(information), _MIN_INFORMATION)
        hidden = np.minimum(games_per_board, hidden)
        # Distributed over pairs of agents, so that it adds nothing to the sum of strengths, which is certain.
        pairwise = -information * np.maximum.outer(hidden, hidden)
        np.fill_diagonal(pairwise, 0)
        return np.asarray(np.diag(pairwise.sum(axis=1)) - pairwise)

    def maximize(self) -> NDArray[np.float64]:
        """Returns the log strengths by Newton's method with step halving; the function is strictly concave."""
        log_strengths = np.zeros(len(self.names))
        value = self.value(log_strengths)
        for _ in range(200):
            gradient, information = self.derivatives(log_strengths)
            step = np.linalg.solve(information, gradient)
            while (new_value := self.value(log_strengths + step)) < value and np.abs(step).max() > 1e-12:
                step /= 2
            log_strengths, value = log_strengths + step, max(value, new_value)
            if np.abs(step).max() < 1e-10:
                break
        return log_strengths

    @cached_property
    def participation(self) -> NDArray[np.float64]:
        """`[kinds, n]`: 1 for each agent in a game."""
        participation = np.zeros_like(self.firsts)
        np.maximum.at(participation, self.kind_of, self.members > 0)
        return participation

    @cached_property
    def _wins(self) -> NDArray[np.float64]:
        """`[n]`, including prior games."""
        return np.asarray(self.counts @ self.firsts + self.prior_games / 2)

    @cached_property
    def _all_weights(self) -> NDArray[np.float64]:
        """`[stages]`, over all games."""
        return np.asarray(self.weights * self.counts[self.kind_of])

    def _shares(self, log_strengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the probability that each agent comes first, `[stages, n]`."""
        shares = self.members * np.exp(log_strengths)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))
