"""Strengths are found again, with the errors they promise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from moemcts.arena import ranking
from moemcts.arena.intervals import share_missed
from moemcts.arena.ranking import Ranking, fit_ratings, ranking_of
from moemcts.arena.rating import elo, elo_of_score, score_of_elo
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
    # Its standard error is from the curvature of the likelihood; decided games vary as much as that takes for granted.
    assert ratings.difference("Milwaukee", "Baltimore")[1] * math.log(10) / 400 / 1.96 == pytest.approx(0.343, rel=0.03)
    assert ratings.num_games == 273


@pytest.mark.parametrize(("wins", "draws", "losses"), [(60, 0, 40), (30, 50, 20), (5, 10, 25)])
def test_two_players_have_the_elo_of_their_score(wins: int, draws: int, losses: int) -> None:
    games = [Ranking((("a",), ("b",)))] * wins + [Ranking((("a", "b"),))] * draws + [Ranking((("b",), ("a",)))] * losses
    ratings = fit_ratings(games, prior_games=1e-9)
    score = (wins + draws / 2) / (wins + draws + losses)
    assert ratings.difference("a", "b")[0] == pytest.approx(elo_of_score(score), abs=1e-3)


def counted(wins: int, draws: int, losses: int) -> list[Ranking]:
    won, drawn, lost = Ranking((("a",), ("b",))), Ranking((("a", "b"),)), Ranking((("b",), ("a",)))
    return [won] * wins + [drawn] * draws + [lost] * losses


def test_draws_vary_less_than_games_that_are_won_or_lost() -> None:
    for counts in ((110, 800, 90), (550, 400, 450), (500, 0, 500)):
        error = elo(*counts).error
        assert fit_ratings(counted(*counts)).difference("a", "b")[1] == pytest.approx(error, rel=0.02)


def test_errors_of_games_that_are_mostly_drawn_are_as_wide_as_they_say() -> None:
    """200 matches of 200 games, 80 % of them drawn, at +50 Elo; 95 % +- 4.6 points (three standard errors)."""
    win = score_of_elo(50) - 0.4
    samples = np.random.default_rng(5).multinomial(200, [win, 0.8, 0.2 - win], size=200)
    found = [fit_ratings(counted(*map(int, row))).difference("a", "b") for row in samples]
    assert np.mean([abs(value - 50) <= error for value, error in found]) == pytest.approx(0.95, abs=0.046)


def test_games_on_one_board_are_one_observation() -> None:
    """100 round robins of three equals on 20 boards each, both games of which end alike; 95 % - 6.5 points."""
    rng = np.random.default_rng(6)
    by_board, by_game = [], []
    for _ in range(100):
        games = [
            replace(Ranking(((pair[first],), (pair[1 - first],))), board=f"{pair} {board}")
            for pair in ("ab", "ac", "bc")
            for board in range(20)
            for first in [int(rng.integers(2))] * 2
        ]
        for boards, found in ((games, by_board), ([replace(game, board="") for game in games], by_game)):
            difference, error = fit_ratings(boards).difference("a", "b")
            found.append(abs(difference) <= error)
    assert np.mean(by_board) >= 0.885
    # As if there were twice as many boards, 83 % are covered.
    assert np.mean(by_game) < 0.9


@pytest.mark.parametrize("num_games", [20, 100, 1])
def test_games_that_are_all_drawn_do_not_prove_equality(num_games: int) -> None:
    # 5 % of matches show nothing of so many games that somebody wins.
    hidden = elo_of_score(0.5 + share_missed(num_games, confidence=0.9) / 2)
    # Of a single game less is doubted: each agent also ties one with the mean.
    assert fit_ratings(counted(0, num_games, 0)).difference("a", "b")[1] > min(hidden, 400)


def test_who_draws_with_one_and_beats_another_is_not_known_to_equal_the_first() -> None:
    games = [Ranking((("a", "b"),))] * 20 + [Ranking(((name,), ("c",))) for name in "ab"] * 20
    assert fit_ratings(games).difference("a", "b")[1] > 40


def boards(
    strengths: Sequence[float], num_games: int, draws: float, rng: np.random.Generator, *, shared: float
) -> list[Ranking]:
    """Returns a round robin of `a`, `b`, ...: both games on a board end alike in a share of boards."""
    rankings = []
    for (first, one), (second, two) in combinations(zip("abcdef", strengths, strict=False), 2):
        score = score_of_elo(one - two)
        drawn = min(draws, 1.9 * min(score, 1 - score))
        chances = [score - drawn / 2, drawn, 1 - score - drawn / 2]
        ends = [((first,), (second,)), ((first, second),), ((second,), (first,))]
        for board in range(num_games // 2):
            kinds = rng.choice(3, size=2, p=chances)
            kinds[1] = kinds[0] if rng.random() < shared else kinds[1]
            rankings += [Ranking(ends[kind], board=f"{first} {second} {board}") for kind in kinds]
    return rankings


@pytest.mark.parametrize(
    ("strengths", "num_games", "draws", "shared", "num_samples", "least", "most"),
    [
        ((30.0, 0.0), 60, 0.8, 0.0, 400, 0.92, 0.99),
        ((30.0, 0.0), 200, 0.9, 0.5, 400, 0.92, 0.99),
        ((200.0, 0.0), 60, 0.1, 0.0, 400, 0.92, 0.985),
        ((700.0, 0.0), 40, 0.1, 0.0, 400, 0.91, 0.99),
        ((60.0, 20.0, -20.0, -60.0), 40, 0.8, 0.0, 80, 0.92, 0.985),
        ((500.0, 0.0, -500.0), 20, 0.2, 0.5, 150, 0.92, 0.985),
    ],
)
def test_errors_of_paired_games_are_as_wide_as_they_say(
    strengths: tuple[float, ...],
    num_games: int,
    draws: float,
    shared: float,
    num_samples: int,
    least: float,
    most: float,
) -> None:
    """95 % of 400 to 480 differences +- 3 points (three standard errors), and above where few games are decided."""
    rng = np.random.default_rng(9)
    covered = []
    for _ in range(num_samples):
        ratings = fit_ratings(boards(strengths, num_games, draws, rng, shared=shared))
        for (first, one), (second, two) in combinations(zip("abcdef", strengths, strict=False), 2):
            difference, error = ratings.difference(first, second)
            covered.append(abs(difference - (one - two)) <= error)
    assert least <= np.mean(covered) <= most


def test_a_newcomer_of_few_games_is_uncertain_whatever_others_have_played() -> None:
    games = simulate({"a": 0.0, "b": 0.0, "c": 0.0}, 2000, 2, np.random.default_rng(3), only_first=False)
    ratings = fit_ratings([*games, *[Ranking((("a", "new"),))] * 10])
    assert ratings.difference("a", "b")[1] < 25
    assert ratings.difference("a", "new")[1] > 100


def test_agents_whom_no_games_connect_are_not_compared_with_certainty() -> None:
    """As after the first round of a ladder."""
    games = [*counted(30, 40, 30), *(Ranking(tuple((name,) for name in pair)) for pair in ["cd", "dc"] * 50)]
    ratings = fit_ratings(games)
    assert ratings.difference("a", "b")[1] < 80
    assert ratings.difference("c", "d")[1] < 80
    assert ratings.difference("a", "c")[1] > 300


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


def test_ties_of_many_count_by_the_orders_that_go_round_them(monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple("abcdefg")
    games = [Ranking((("a",), ("b",)))] * 5 + [Ranking((names,))] * 5 + [Ranking((("a",), names[1:]))] * 5
    few = fit_ratings(games)
    monkeypatch.setattr(ranking, "MAX_ORDERED", 7)
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
