"""Elo, its errors and sequential tests, against published values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moemcts.arena.intervals import mean_interval
from moemcts.arena.rating import (
    MAX_ELO,
    Elo,
    Model,
    Sprt,
    elo,
    elo_of_score,
    likelihood_of_superiority,
    log_likelihood_ratio,
    normalized_elo,
    pentanomial_elo,
    score_of_elo,
)

counts = st.integers(0, 3000)


@pytest.mark.parametrize(
    ("wins", "draws", "losses", "difference", "error"),
    [
        # Helfenstein's thesis, computed by cutechess.
        (562, 305, 133, 159.36, 18.87),
        (539, 357, 104, 161.92, 17.89),
        (340, 443, 217, 42.95, 16.08),
        (434, 403, 163, 96.57, 16.81),
    ],
)
def test_elo_is_that_of_cutechess(wins: int, draws: int, losses: int, difference: float, error: float) -> None:
    found = elo(wins, draws, losses)
    assert found.error is not None
    assert (round(found.difference, 2), round(found.error, 2)) == (difference, error)


@pytest.mark.parametrize(
    ("draw_rate", "num_games", "error"),
    [(0.2, 100, 62), (0.4, 100, 53), (0.6, 400, 22), (0.4, 1000, 17), (0.2, 4000, 10)],
)
def test_the_error_of_an_even_match_is_that_of_the_table_of_sample_sizes(
    draw_rate: float, num_games: int, error: int
) -> None:
    draws = round(draw_rate * num_games)
    found = elo((num_games - draws) // 2, draws, (num_games - draws) // 2)
    assert found.difference == 0
    # The table is rounded to whole Elo.
    assert found.error == pytest.approx(error, abs=0.6)


@pytest.mark.parametrize(
    ("pairs", "difference", "error", "normalized", "normalized_error"),
    [
        # fastchess, app/tests/elo_test.cpp; (LL, LD, DD + WL, WD, WW).
        ((34, 54, 63, 64, 75), 55.58, 27.65, 57.94, 28.28),
        ((332, 433, 498, 333, 334), -8.64, 10.33, -9.17, 10.96),
    ],
)
def test_pentanomial_elo_is_that_of_fastchess(
    pairs: tuple[int, ...], difference: float, error: float, normalized: float, normalized_error: float
) -> None:
    found = pentanomial_elo(pairs)
    assert (found.difference, found.error) == pytest.approx((difference, error), abs=0.006)
    assert normalized_elo(pairs) == pytest.approx((normalized, normalized_error), abs=0.006)
    assert found.num_games == 2 * sum(pairs)


def test_trinomial_normalized_elo_is_that_of_fastchess() -> None:
    assert normalized_elo((96, 111, 136)) == pytest.approx((49.77, 36.77), abs=0.006)
    assert normalized_elo((89, 123, 76)) == pytest.approx((-20.76, 40.13), abs=0.006)
    assert normalized_elo((356, 0, 34)) == pytest.approx((-508.44, 34.48), abs=0.006)


def test_few_pairs_count_as_they_are() -> None:
    # fastchess, elo_pentanomial.cpp: (score - 1/2) / sqrt(2 variance) * 800 / ln 10, the counts untouched.
    scores = np.repeat([0.0, 0.25, 0.5, 0.75, 1.0], [0, 1, 3, 0, 2])
    expected = (scores.mean() - 0.5) / np.sqrt(2 * scores.var()) * 800 / np.log(10)
    found = normalized_elo((0, 1, 3, 0, 2))
    assert found is not None
    assert found[0] == pytest.approx(expected, rel=1e-12)
    # Where all are alike there is no deviation to measure in.
    assert normalized_elo((0, 0, 0, 0, 9)) is None


def test_pairs_with_equal_results_carry_less_evidence_than_their_games_alone() -> None:
    # 100 pairs, every one won by the same side twice or lost twice: the games of a pair say the same.
    paired = pentanomial_elo((40, 0, 0, 0, 60))
    alone = elo(120, 0, 80)
    assert paired.difference == pytest.approx(alone.difference)
    assert paired.error is not None
    assert alone.error is not None
    assert paired.error > 1.3 * alone.error


@given(counts, counts, counts)
def test_elo_is_antisymmetric_and_finite(wins: int, draws: int, losses: int) -> None:
    if wins + draws + losses == 0:
        with pytest.raises(ValueError, match="at least one game"):
            elo(wins, draws, losses)
        return
    ours, theirs = elo(wins, draws, losses), elo(losses, draws, wins)
    assert ours.difference == pytest.approx(-theirs.difference, abs=1e-9)
    assert (ours.low is None) == (theirs.high is None)
    numbers = [value for value in (ours.difference, ours.error, ours.low, ours.high) if value is not None]
    assert all(math.isfinite(value) for value in numbers)
    assert ours.low is None or ours.low <= ours.difference + 1e-9
    assert ours.high is None or ours.high >= ours.difference - 1e-9
    assert ours.low is not None or ours.high is not None


def test_all_games_won_gives_a_lower_bound_only() -> None:
    found = elo(10, 0, 0)
    assert (found.error, found.high) == (None, None)
    # Ten wins in a row have a probability of 5 % at a score of 0.7411.
    assert found.low == pytest.approx(elo_of_score(0.7411), abs=0.1)
    assert str(found) == "> +182.7"
    assert str(elo(0, 0, 10)) == "< -182.7"


def test_a_lost_point_never_proves_more() -> None:
    bounds = [elo(*counts).low or -math.inf for counts in ((10, 0, 0), (9, 1, 0), (8, 2, 0), (9, 0, 1))]
    assert bounds == sorted(bounds, reverse=True)
    assert (elo(99, 1, 0).low or math.inf) < (elo(100, 0, 0).low or 0)
    assert (pentanomial_elo((0, 0, 0, 1, 24)).low or math.inf) < (pentanomial_elo((0, 0, 0, 0, 25)).low or 0)
    # Nine of ten whole wins: Clopper and Pearson's bound is 0.6058.
    assert elo(9, 0, 1).low == pytest.approx(elo_of_score(0.6058), abs=0.1)


def test_bounds_of_nearly_all_points_hold_in_19_of_20_matches() -> None:
    rng = np.random.default_rng(0)
    for num_games, win, draw in ((10, 0.74, 0.26), (20, 0.85, 0.15), (100, 0.95, 0.04)):
        held, num_matches = 0, 1000
        for counts in rng.multinomial(num_games, [win, draw, max(0.0, 1 - win - draw)], size=num_matches):
            found = elo(*map(int, counts))
            low = -math.inf if found.low is None else found.low
            high = math.inf if found.high is None else found.high
            held += low <= elo_of_score(win + draw / 2) <= high
        # Of 1,000, 930 is nearly three deviations below 95 %.
        assert held >= 930


@pytest.mark.parametrize(
    ("num_pairs", "low", "high"),
    # Of a share that 2.5 % of samples miss, 1 - 0.025 ** (1 / n), all points may be lost, or won.
    [(1, -687.5, 880.6), (3, -220.6, 441.2), (5, -101.0, 346.9), (10, 12.9, 271.9)],
)
def test_a_few_pairs_that_are_all_alike_prove_little(num_pairs: int, low: float, high: float) -> None:
    won, lost = pentanomial_elo((0, 0, 0, num_pairs, 0)), pentanomial_elo((0, num_pairs, 0, 0, 0))
    assert (won.low, won.high) == pytest.approx((low, high), abs=0.06)
    assert (lost.low, lost.high) == pytest.approx((-high, -low), abs=0.06)
    # What hides is the same for a mean of scores.
    found = mean_interval([0.75] * num_pairs, bounds=(0.0, 1.0))
    assert (won.low, won.high) == pytest.approx(tuple(map(elo_of_score, found.interval)))


@pytest.mark.parametrize("found", [elo(1, 0, 1), pentanomial_elo((1, 0, 0, 0, 1))])
def test_a_score_of_one_half_has_both_ends(found: Elo) -> None:
    assert found.low is not None
    assert found.high == pytest.approx(-found.low)
    # One of two won: 2.5 % of matches do as well at 0.0126 (Clopper and Pearson's table).
    assert found.low == pytest.approx(elo_of_score(0.0126), abs=1)
    assert str(found).startswith("+0.0 ± ")


def test_a_few_draws_do_not_prove_equality() -> None:
    found = elo(0, 4, 0)
    assert found.difference == 0
    assert found.error is not None
    assert found.error > 100


def test_an_even_match_is_zero_without_a_sign() -> None:
    assert str(elo(30, 10, 30)).startswith("+0.0 ± ")
    assert str(pentanomial_elo((1, 2, 3, 2, 1))).startswith("+0.0 ± ")


def test_scores_and_elo_are_inverse() -> None:
    assert elo_of_score(score_of_elo(123.4)) == pytest.approx(123.4)
    assert score_of_elo(0) == 0.5


@given(counts, counts)
def test_superiority_of_both_sides_sums_to_one(wins: int, losses: int) -> None:
    both = likelihood_of_superiority(wins, losses) + likelihood_of_superiority(losses, wins)
    assert both == pytest.approx(1)


def test_superiority_is_that_of_cutechess() -> None:
    # fastchess, app/tests/elo_test.cpp, with the formula of cutechess: 76 wins, 89 losses.
    assert likelihood_of_superiority(76, 89) == pytest.approx(0.1558, abs=0.0005)
    assert likelihood_of_superiority(136, 96) == pytest.approx(0.9957, abs=0.0005)
    assert likelihood_of_superiority(0, 0) == 0.5


@pytest.mark.parametrize(
    ("counts", "elo0", "elo1", "model", "llr"),
    [
        # fastchess, app/tests/sprt_test.cpp. Its numbers are rounded to 0.01.
        ((36027, 68692, 36433), 0, 2, "normalized", 0.92),
        ((10650, 20431, 10871), -1.75, 0.25, "normalized", 2.30),
        ((0, 0, 4250), 0, 10, "normalized", 120.56),
        ((0, 0, 0, 0, 5550), 0, 5, "normalized", 111.82),
        ((21184, 40708, 21404), 0.5, 2.5, "logistic", -1.57),
        ((57030, 106593, 57433), 0, 2, "logistic", -2.59),
        ((57030, 106593, 57433), 0, 2, "trinomial", -2.59),
        ((365, 16618, 36229, 16974, 390), 0, 2, "normalized", 2.25),
        ((127, 4883, 10712, 5150, 104), -1.75, 0.25, "normalized", 3.01),
        ((223, 9863, 21279, 10037, 246), 0.5, 2.5, "logistic", -3.07),
        ((871, 26175, 55983, 26678, 821), 0, 2, "logistic", -4.98),
    ],
)
def test_llr_is_that_of_fastchess(counts: tuple[int, ...], elo0: float, elo1: float, model: str, llr: float) -> None:
    assert log_likelihood_ratio(counts, elo0, elo1, model) == pytest.approx(llr, abs=0.01, rel=0.01)


def test_sprt_bounds_are_those_of_wald() -> None:
    assert Sprt().bounds == pytest.approx((-2.944, 2.944), abs=0.001)


@pytest.mark.parametrize(
    "options",
    [
        {"elo0": 5, "elo1": 5},
        {"alpha": 0},
        {"alpha": 0.5, "beta": 0.5},
        {"elo1": 20_000},
        {"elo0": -200_000},
        {"elo0": -math.inf},
        {"elo1": math.nan},
    ],
)
def test_a_test_that_can_decide_nothing_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Sprt(**options)


@pytest.mark.parametrize("model", ["normalized", "logistic", "trinomial"])
@pytest.mark.parametrize(("elo0", "elo1"), [(0, MAX_ELO), (-MAX_ELO, 0), (-MAX_ELO, MAX_ELO), (250, 300)])
def test_the_widest_test_is_computed(model: Model, elo0: float, elo1: float) -> None:
    sprt = Sprt(elo0=elo0, elo1=elo1, model=model)
    num_counts = 3 if model == "trinomial" else 5
    for place in range(num_counts):
        for num_games in (1, 1000):
            counts = [num_games * (number == place) for number in range(num_counts)]
            assert math.isfinite(sprt.llr(counts))


def test_sprt_errs_no_more_often_than_it_promises() -> None:
    """300 tests each on games of equal strength and of strength elo1; alpha = beta = 0.05.

    Wald's bounds are conservative; 27 or more of 300 have a probability below 0.3 % at 5 %.
    """
    rng = np.random.default_rng(1)
    sprt = Sprt(elo0=0, elo1=100, model="logistic")

    def decide(win: float, draw: float) -> str:
        counts = np.zeros(3, dtype=int)
        while (decision := sprt.decision(counts.tolist())) == "undecided":
            counts += rng.multinomial(5, [1 - win - draw, draw, win])
        return decision

    score = score_of_elo(100)
    false_alarms = sum(decide(0.35, 0.3) == "H1" for _ in range(300))
    misses = sum(decide(score - 0.15, 0.3) == "H0" for _ in range(300))
    assert false_alarms < 27
    assert misses < 27


@given(st.lists(st.integers(0, 500), min_size=5, max_size=5))
def test_llr_changes_sign_with_the_sides(pairs: list[int]) -> None:
    ours = log_likelihood_ratio(pairs, -5, 5)
    theirs = log_likelihood_ratio(pairs[::-1], -5, 5)
    assert math.isfinite(ours)
    # The iteration stops at 1e-9 per probability, times the number of pairs.
    assert ours == pytest.approx(-theirs, abs=1e-4, rel=1e-4)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    """2000 matches of 400 games at +50 Elo with 30 % draws; 95 % +- 1.5 points (three standard errors)."""
    rng = np.random.default_rng(7)
    win = score_of_elo(50) - 0.15
    samples = rng.multinomial(400, [win, 0.3, 0.7 - win], size=2000)
    found: list[Elo] = [elo(*map(int, row)) for row in samples]
    covered = sum(one.low is not None and one.high is not None and one.low <= 50 <= one.high for one in found)
    assert covered / 2000 == pytest.approx(0.95, abs=0.015)
