"""Strengths are found again, with the errors they promise."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from moemcts.arena import ranking
from moemcts.arena.ranking import Ranking, fit_ratings, ranking_of
from moemcts.arena.rating import elo_of_score
from moemcts.errors import UsageError

TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
# American League, Eastern Division, 1987: wins of the row over the column (Agresti, Categorical Data Analysis, 10.6).
WINS = (
    (0, 7, 9, 7, 7, 9, 11),
    (6, 0, 7, 5, 11, 9, 9),
    (4, 6, 0, 7, 7, 8, 12),
    (6, 8, 6, 0, 6, 7, 10),
    (6, 2, 6, 7, 0, 7, 12),
    (4, 4, 5, 6, 6, 0, 6),
    (2, 4, 1, 3, 1, 7, 0),
)


def simulate(
    strengths: dict[str, float], num_games: int, num_players: int, rng: np.random.Generator, *, only_first: bool
) -> list[Ranking]:
    """Returns rankings drawn from Plackett-Luce: the order of log strength plus Gumbel noise."""
    names = list(strengths)
    rankings = []
    for _ in range(num_games):
        players = [names[i] for i in rng.choice(len(names), num_players, replace=False)]
        scores = [strengths[name] * math.log(10) / 400 + rng.gumbel() for name in players]
        order = [players[i] for i in np.argsort(scores)[::-1]]
        groups = tuple((name,) for name in order)
        rankings.append(Ranking(groups[:1], tuple(order[1:])) if only_first else Ranking(groups))
    return rankings


def test_baseball_teams_have_their_published_strengths() -> None:
    games = [Ranking(((TEAMS[i],), (TEAMS[j],))) for i in range(7) for j in range(7) for _ in range(WINS[i][j])]
    ratings = fit_ratings(games, prior_games=1e-9)
    published = {
        "Milwaukee": 1.581,
        "Detroit": 1.436,
        "Toronto": 1.294,
        "New York": 1.248,
        "Boston": 1.108,
        "Cleveland": 0.684,
    }
    for team, strength in published.items():
        found = ratings.difference(team, "Baltimore")[0] * math.log(10) / 400
        assert found == pytest.approx(strength, abs=0.001)
    # Its standard error, from the same source's maximum likelihood fit.
    assert ratings.difference("Milwaukee", "Baltimore")[1] * math.log(10) / 400 / 1.96 == pytest.approx(
        0.343, abs=0.001
    )
    assert ratings.num_games == 273


@pytest.mark.parametrize(("wins", "draws", "losses"), [(60, 0, 40), (30, 50, 20), (5, 10, 25)])
def test_two_players_have_the_elo_of_their_score(wins: int, draws: int, losses: int) -> None:
    games = [Ranking((("a",), ("b",)))] * wins + [Ranking((("a", "b"),))] * draws + [Ranking((("b",), ("a",)))] * losses
    ratings = fit_ratings(games, prior_games=1e-9)
    score = (wins + draws / 2) / (wins + draws + losses)
    assert ratings.difference("a", "b")[0] == pytest.approx(elo_of_score(score), abs=1e-3)


@pytest.mark.parametrize("only_first", [False, True])
def test_strengths_of_four_player_games_are_found_again(only_first: bool) -> None:
    """200 samples of 300 games; 95 % +- 1.7 points (three standard errors) of 1200 intervals, which correlate."""
    strengths = {"a": 150.0, "b": 60.0, "c": 0.0, "d": -10.0, "e": -80.0, "f": -120.0}
    rng = np.random.default_rng(4)
    covered = 0
    errors = []
    for _ in range(200):
        ratings = fit_ratings(simulate(strengths, 300, 4, rng, only_first=only_first), prior_games=0.01)
        misses = ratings.elo - np.array(list(strengths.values()))
        covered += int((np.abs(misses) < ratings.errors).sum())
        errors.append(misses)
    assert covered / 1200 == pytest.approx(0.95, abs=0.017)
    # The mean of 200 estimates, each known to about 20 or 30 Elo; the likelihood's own bias is below 3.
    assert np.abs(np.mean(errors, axis=0)).max() < 7


def test_ties_make_equal() -> None:
    games = [Ranking((("a", "b", "c"),))] * 20
    ratings = fit_ratings(games)
    assert ratings.elo == pytest.approx([0, 0, 0], abs=1e-6)
    assert ratings.superiority("a", "b") == pytest.approx(0.5)


def test_ties_of_many_count_by_the_orders_that_go_round_them(monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple("abcdefg")
    games = [Ranking((("a",), ("b",)))] * 5 + [Ranking((names,))] * 5 + [Ranking((("a",), names[1:]))] * 5
    few = fit_ratings(games)
    monkeypatch.setattr(ranking, "MOST_ORDERED", 7)
    assert few.elo == pytest.approx(fit_ratings(games).elo, abs=1)
    assert few.errors == pytest.approx(fit_ratings(games).errors, rel=0.02)
    monkeypatch.undo()
    # All orders of so many would fill the memory.
    everyone = fit_ratings([Ranking((tuple(f"player {number}" for number in range(24)),))])
    assert everyone.elo == pytest.approx([0.0] * 24, abs=1e-6)


def test_losers_of_unknown_order_are_not_made_equal() -> None:
    """Games that only name their winner say as much of the losers as their own wins do, and no more."""
    strengths = {"a": 200.0, "b": 100.0, "c": -100.0, "d": -200.0}
    games = simulate(strengths, 3000, 4, np.random.default_rng(8), only_first=True)
    unranked = fit_ratings(games)
    tied = fit_ratings([Ranking((*game.groups, game.unranked)) for game in games])
    for first, second in combinations(strengths, 2):
        difference, error = unranked.difference(first, second)
        # Two errors are 3.9 standard deviations.
        assert abs(difference - (strengths[first] - strengths[second])) < 2 * error
    assert tied.difference("a", "d")[0] < 250


def test_who_wins_everything_has_a_finite_rating() -> None:
    ratings = fit_ratings([Ranking((("a",), ("b",)))] * 50)
    difference, error = ratings.difference("a", "b")
    assert 400 < difference < 2000
    assert 0 < error < 2000
    assert ratings.superiority("a", "b") > 0.97


def test_the_order_of_names_and_games_changes_nothing() -> None:
    games = simulate({"a": 100.0, "b": 0.0, "c": -50.0}, 100, 3, np.random.default_rng(1), only_first=False)
    first, second = fit_ratings(games), fit_ratings(games[::-1])
    assert first.names == second.names
    assert first.elo == pytest.approx(second.elo, abs=1e-6)
    assert first.errors == pytest.approx(second.errors, abs=1e-6)


def test_an_agent_in_two_seats_counts_once() -> None:
    ratings = fit_ratings([Ranking((("a", "a"), ("b", "b")))] * 30 + [Ranking((("b", "b"), ("a", "a")))] * 30)
    assert ratings.difference("a", "b")[0] == pytest.approx(0, abs=1e-6)


def test_rankings_come_from_returns() -> None:
    assert ranking_of("abcd", [-1, 1, -1, -1]) == Ranking((("b",),), ("a", "c", "d"))
    assert ranking_of("ab", [0, 0]) == Ranking((("a", "b"),))
    assert ranking_of("abcd", [-1, -1, -1, -1]) == Ranking((("a", "b", "c", "d"),))
    assert ranking_of("abc", [0.5, 1, -1]) == Ranking((("b",), ("a",), ("c",)))
    assert ranking_of("abab", [1, -1, 1, -1]) == Ranking((("a", "a"),), ("b", "b"))


def test_nothing_to_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="at least two agents"):
        fit_ratings([])
    with pytest.raises(UsageError, match="no agent named 'z'"):
        fit_ratings([Ranking((("a",), ("b",)))]).difference("a", "z")
