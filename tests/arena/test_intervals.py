"""Intervals and tests keep what they promise."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moemcts.arena.intervals import (
    agreed_variance,
    effective_number,
    mcnemar_test,
    mean_interval,
    pooled_interval,
    seed_interval,
    share_interval,
    sign_flip_test,
    t_quantile,
    wilson_interval,
)
from moemcts.arena.verdict import verdict


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3 (score without correction).
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_intervals_are_those_of_newcombe(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson_interval(successes, trials) == pytest.approx((low, high), abs=0.00006)


@given(st.integers(0, 500), st.integers(0, 500))
def test_wilson_intervals_hold_the_share_and_mirror(successes: int, failures: int) -> None:
    trials = successes + failures
    low, high = wilson_interval(successes, trials)
    assert 0 <= low <= high <= 1
    if trials:
        assert low <= successes / trials <= high
    mirrored = wilson_interval(failures, trials)
    assert (low, high) == pytest.approx((1 - mirrored[1], 1 - mirrored[0]))


def test_observations_that_come_several_times_are_no_further_ones() -> None:
    assert effective_number("abcd") == effective_number("abcd" * 10) == 4
    # (3 + 1)^2 / (9 + 1)
    assert effective_number("aaab") == pytest.approx(1.6)
    assert effective_number("") == 0
    # A broken number of trials lies between the whole ones.
    assert wilson_interval(2, 4)[0] < wilson_interval(2.25, 4.5)[0] < wilson_interval(2.5, 5)[0]


def test_the_share_of_one_observation_is_the_unit_of_an_interval() -> None:
    assert share_interval([], []) == (0, 1)
    assert share_interval([True, False, False], "abc") == wilson_interval(1, 3)
    assert share_interval([True, True, False, False], "aabc") == wilson_interval(0.5 * 16 / 6, 16 / 6)
    games = [game for game in range(20) for _ in range(3)]
    # Three seats, of which one has won in so many of twenty games.
    for number in (1, 12, 19):
        won = [seat == 0 and game < number for game in range(20) for seat in range(3)]
        low, high = (3 * end for end in share_interval(won, games))
        assert (low, high) == pytest.approx(wilson_interval(number, 20))
        lost = share_interval([not one for one in won], games)
        assert lost == pytest.approx((1 - high / 3, 1 - low / 3))
    always = share_interval([seat == 0 for _ in range(20) for seat in range(3)], games)
    assert always == pytest.approx(wilson_interval(20 / 3, 20))
    # None, one, two or three of three, as if each were for itself: about as wide as of all sixty.
    rng = np.random.default_rng(3)
    widths = [high - low for low, high in (share_interval(list(rng.random(60) < 0.5), games) for _ in range(200))]
    low, high = wilson_interval(30, 60)
    assert np.mean(widths) == pytest.approx(high - low, rel=0.1)


def test_more_successes_than_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="expected 0 to 3"):
        wilson_interval(4, 3)


def test_mcnemar_is_the_binomial_test() -> None:
    # 6 or fewer, or 16 or more, of 22 fair coins: 2 * 110056 / 2 ** 22.
    assert mcnemar_test(6, 16) == pytest.approx(2 * sum(math.comb(22, k) for k in range(7)) / 2**22)
    assert mcnemar_test(6, 16) == pytest.approx(0.0525, abs=0.0001)
    assert mcnemar_test(16, 6) == mcnemar_test(6, 16)
    assert mcnemar_test(0, 0) == 1
    assert mcnemar_test(5, 5) == 1
    # The numbers are far beyond a float.
    assert 0 < mcnemar_test(900, 1100) < 1e-4


def test_mcnemar_waits_for_no_large_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    assert mcnemar_test(1, 3) == pytest.approx(10 / 2**4)


@pytest.mark.parametrize(
    ("p", "degrees", "value"),
    [
        # Student's t, any printed table.
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.975, 4, 2.776),
        (0.975, 9, 2.262),
        (0.95, 30, 1.697),
        (0.975, 120, 1.980),
        (0.025, 4, -2.776),
        (0.975, 10_000, 1.960),
    ],
)
def test_t_quantiles_are_those_of_the_tables(p: float, degrees: int, value: float) -> None:
    assert t_quantile(p, degrees) == pytest.approx(value, abs=0.0006)


def test_sign_flips_enumerate_small_samples() -> None:
    # Of the 8 signs of three equal differences two are as extreme.
    assert sign_flip_test([1, 1, 1]) == 0.25
    assert sign_flip_test([1, -1]) == 1
    assert sign_flip_test([0, 0, 0]) == 1


def test_sampled_sign_flips_agree_with_the_binomial_test() -> None:
    differences = [1.0] * 30 + [-1.0] * 14 + [0.0] * 50
    # 20000 samples: three standard errors of p = 0.02 are 0.003.
    assert sign_flip_test(differences) == pytest.approx(mcnemar_test(30, 14), abs=0.003)


def test_differences_on_one_board_count_once() -> None:
    differences = np.tile([1.0, 1.0, 1.0, 1.0], 3)
    boards = np.repeat(["a", "b", "c"], 4)
    assert sign_flip_test(differences, boards) == 0.25
    assert sign_flip_test(differences) < 0.001


def test_a_mean_interval_is_that_of_student() -> None:
    # mean 0.3, sample deviation 0.15811, 2.776 * 0.15811 / sqrt(5)
    found = mean_interval([0.1, 0.2, 0.3, 0.4, 0.5])
    assert found.interval == pytest.approx((0.3 - 0.19632, 0.3 + 0.19632), abs=1e-4)
    clustered = mean_interval([0.1, 0.2, 0.3, 0.4, 0.5], [0, 1, 2, 3, 4])
    assert clustered.interval == pytest.approx(found.interval)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_in_whatever_unit_returns_are_they_say_the_same(unit: float) -> None:
    values = np.array([0.3, -0.1, 0.7, 0.4, 0.2, 0.15])
    found = mean_interval(unit * values, bounds=(-math.inf, math.inf))
    expected = mean_interval(values, bounds=(-math.inf, math.inf))
    assert found.interval == pytest.approx(tuple(unit * end for end in expected.interval), rel=1e-9)
    assert sign_flip_test(unit * values) == sign_flip_test(values) < 1
    # A tenth has no end in bits, and a sum of many is rounded: they agree all the same.
    assert mean_interval([unit / 10] * 7, bounds=(-unit, unit)).low < 0
    assert sign_flip_test([unit / 10] * 7) == 2**-6


def test_rounding_takes_no_mean_out_of_its_bounds() -> None:
    # The mean of three times 0.2 is 0.20000000000000004.
    found = mean_interval([0.2] * 3, bounds=(-0.2, 0.2))
    assert found.low <= found.mean <= found.high == 0.2
    over_seeds = seed_interval([[0.2] * 3] * 3, bounds=(-0.2, 0.2))
    assert over_seeds.low <= over_seeds.mean <= over_seeds.high == 0.2


def test_equal_observations_do_not_give_certainty() -> None:
    found = mean_interval([0.0] * 8)
    # 1 - 0.025 ** (1 / 8)
    assert found.interval == pytest.approx((-0.3694, 0.3694), abs=1e-4)
    assert mean_interval([]).interval == (-1, 1)
    assert mean_interval([1.0, 1.0, -1.0], [0, 0, 0]).high > 0.9


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=40), st.integers(1, 5))
def test_a_mean_interval_holds_its_mean_and_mirrors(values: list[float], num_clusters: int) -> None:
    clusters = [i % num_clusters for i in range(len(values))]
    found = mean_interval(values, clusters)
    mirrored = mean_interval([-value for value in values], clusters)
    assert -1 <= found.low <= found.mean + 1e-12
    assert found.mean - 1e-12 <= found.high <= 1
    assert found.interval == pytest.approx((-mirrored.high, -mirrored.low))


def test_intervals_over_boards_cover_where_those_over_games_do_not() -> None:
    """600 matches of 40 boards, four games each that share half of their variance; 95 % +- 2.7 points."""
    rng = np.random.default_rng(3)
    boards = np.repeat(np.arange(40), 4)
    by_board = by_game = 0
    for _ in range(600):
        values = 0.1 * (rng.standard_normal(40).repeat(4) + rng.standard_normal(160))
        low, high = mean_interval(values, boards).interval
        by_board += low <= 0 <= high
        low, high = mean_interval(values).interval
        by_game += low <= 0 <= high
    assert by_board / 600 == pytest.approx(0.95, abs=0.027)
    assert by_game / 600 < 0.9


def test_the_interval_over_seeds_covers_where_pooled_games_do_not() -> None:
    """1000 experiments of 5 training seeds with 100 games; seeds differ by 0.1, games by 0.5; 95 % +- 2.1 points."""
    rng = np.random.default_rng(11)
    over_seeds = pooled = 0
    for _ in range(1000):
        groups = 0.05 + 0.1 * rng.standard_normal((5, 1)) + 0.5 * rng.standard_normal((5, 100))
        low, high = seed_interval(list(groups), bounds=(-9, 9)).interval
        over_seeds += low <= 0.05 <= high
        low, high = mean_interval(groups.ravel(), bounds=(-9, 9)).interval
        pooled += low <= 0.05 <= high
    # Above 95 % where the seed means happen to lie closer together than their games allow.
    assert 0.929 <= over_seeds / 1000 <= 0.98
    assert pooled / 1000 < 0.75


def test_the_interval_of_these_seeds_covers_what_their_own_networks_are_worth() -> None:
    rng = np.random.default_rng(13)
    covered = 0
    for _ in range(1000):
        effects = 0.05 + 0.1 * rng.standard_normal((3, 1))
        found = seed_interval(list(effects + 0.5 * rng.standard_normal((3, 100))), bounds=(-9, 9))
        low, high = found.own_interval
        covered += low <= effects.mean() <= high
    assert 0.929 <= covered / 1000 <= 0.971
    assert seed_interval([[0.0, 1.0, 0.5]]).own_interval == mean_interval([0.0, 1.0, 0.5]).interval


def test_a_seed_of_few_boards_does_not_count_as_known_by_the_boards_of_others() -> None:
    """2000 experiments of 3, 100 and 100 boards, of which the few are nearly all of the variance; +- 1.5 points."""
    rng = np.random.default_rng(14)
    covered = 0
    for _ in range(2000):
        found = seed_interval([rng.standard_normal(number) for number in (3, 100, 100)], bounds=(-99, 99))
        low, high = found.own_interval
        covered += low <= 0 <= high
    # Welch's degrees are estimated too, here from three boards; with those of all boards together 84 % are covered.
    assert 0.91 <= covered / 2000 <= 0.965


def test_the_p_value_over_seeds_agrees_with_the_interval() -> None:
    rng = np.random.default_rng(12)
    for _ in range(50):
        found = seed_interval(
            list(0.2 + 0.2 * rng.standard_normal((4, 1)) + rng.standard_normal((4, 60))), bounds=(-9, 9)
        )
        assert (found.p_value < 0.05) == (not found.low <= 0 <= found.high)


def test_one_seed_says_nothing_of_other_seeds() -> None:
    games = [0.0, 1.0, 0.0, -1.0, 1.0]
    found = seed_interval([games])
    assert not found.covers_seeds
    assert found.interval == mean_interval(games).interval
    assert seed_interval([games, games]).covers_seeds


def test_seeds_that_agree_by_chance_keep_the_doubt_of_their_games() -> None:
    games = [1.0, -1.0] * 10
    found = seed_interval([games, games, games])
    assert found.high - found.low > 0.5
    assert found.seed_deviation == 0


@pytest.mark.parametrize(("num_seeds", "num_boards"), [(5, 1), (3, 2), (10, 1), (2, 8), (4, 30)])
@pytest.mark.parametrize("value", [1.0, 0.0, -1.0])
def test_games_that_all_agree_prove_no_more_by_seed_than_together(
    num_seeds: int, num_boards: int, value: float
) -> None:
    found = seed_interval([[value] * num_boards] * num_seeds)
    pooled = mean_interval([value] * num_boards * num_seeds)
    assert found.high - found.low > pooled.high - pooled.low
    assert found.p_value >= sign_flip_test([value] * num_boards * num_seeds)
    assert (found.p_value < 0.05) == (not found.low <= 0 <= found.high)


def test_the_doubt_of_games_is_not_cut_to_what_values_can_be() -> None:
    # Nine wins of ten on each seed: the variance of a mean is 0.1 * 4 * 0.9 / 9, whatever a difference can be.
    games = [1.0] * 9 + [-1.0]
    found = seed_interval([games] * 3)
    margin = t_quantile(0.975, 2) * math.sqrt(0.4 * 0.9 / 9 / 3)
    assert mean_interval(games).high == found.high == 1
    assert found.low == pytest.approx(0.8 - margin)


@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_seeds_are_pooled_from_what_their_games_say_as_from_these_games(spread: float) -> None:
    rng = np.random.default_rng(4)
    games = [rng.normal(spread * seed, 1.0, size=20) / 9 for seed in range(4)]
    each = [seed_interval([group]) for group in games]
    pooled = pooled_interval(
        [one.mean for one in each], [one.own_variance for one in each], num_observations=80, num_clusters=80
    )
    assert pooled.interval == pytest.approx(seed_interval(games).interval)
    assert pooled.own_interval == pytest.approx(seed_interval(games).own_interval)


def test_means_of_games_that_all_agree_are_pooled_with_the_doubt_of_these() -> None:
    pooled = pooled_interval([0.0] * 3, [agreed_variance(0.0, 20)] * 3, num_observations=60, num_clusters=60)
    assert pooled.interval == pytest.approx(seed_interval([[0.0] * 20] * 3).interval)
    with pytest.raises(ValueError, match="variances above zero, got 0"):
        pooled_interval([0.0] * 3, [0.0] * 3, num_observations=60, num_clusters=60)
    with pytest.raises(ValueError, match="at least two training seeds, got 1 and 1"):
        pooled_interval([0.0], [1.0], num_observations=20, num_clusters=20)


def test_the_deviation_between_seeds_is_found() -> None:
    rng = np.random.default_rng(2)
    groups = 0.2 * rng.standard_normal((200, 1)) + 0.5 * rng.standard_normal((200, 50))
    # 200 seeds: a standard deviation is known to about 5 %.
    assert seed_interval(list(groups), bounds=(-9, 9)).seed_deviation == pytest.approx(0.2, rel=0.15)


def test_a_verdict_claims_only_what_the_interval_shows() -> None:
    assert (
        verdict(1.2, (-3.1, 5.4), 400)
        == "no difference shown: +1.2 points, 95 % interval [-3.1, +5.4], 400 paired games"
    )
    assert verdict(5.0, (-0.1, 10.1), 400).startswith("undecided: +5.0 points")
    assert verdict(5.0, (-14.9, 24.9), 400, unit="Elo").startswith("no difference shown: +5.0 Elo")
    # Nobody knows what is wide in a unit of a game's own.
    assert verdict(0.0, (-0.1, 0.1), 400, unit="in return").startswith("undecided")
    assert verdict(5.0, (0.2, 9.8), 400).startswith("better: +5.0 points")
    assert verdict(-5.0, (-9.8, -0.2), 400).startswith("worse: -5.0 points")
    assert "better: +5.00 points, 95 % interval [+0.04, +9.96]" in verdict(5.0, (0.04, 9.96), 400)
    assert "worse: -5.00 points, 95 % interval [-9.96, -0.04]" in verdict(-5.0, (-9.96, -0.04), 400)
    assert verdict(0.0, (-1.0, 0.0), 9).startswith("no difference shown")
    assert verdict(0.0, (0.0, 0.0), 0) == "nothing measured: no paired games"
    with pytest.raises(ValueError, match="interval around"):
        verdict(3.0, (4.0, 5.0), 10)


def covered(num_different: float, to_one_side: float, *, num_groups: int = 100, num_samples: int = 2000) -> float:
    """Returns how often the interval of a mean has it in it, where so many of the groups are expected to differ from
    the others, each by a half, this share of them to one side.
    """
    rng, share = np.random.default_rng(0), num_different / num_groups
    are_different = rng.random((num_samples, num_groups)) < share
    sides = np.where(rng.random(are_different.shape) < to_one_side, 0.5, -0.5)
    found = [mean_interval(row) for row in np.where(are_different, sides, 0.0)]
    mean = share * (to_one_side - 0.5)
    return sum(one.low <= mean <= one.high for one in found) / num_samples


def test_where_few_groups_differ_to_one_side_an_interval_covers_less_than_it_says() -> None:
    # Of 2,000 samples a share of 0.85 is seen with a standard error of 0.008, one of 0.95 with 0.005.
    assert covered(3, 1.0) == pytest.approx(0.85, abs=0.025)
    assert covered(5, 1.0) == pytest.approx(0.88, abs=0.025)
    assert covered(3, 0.5) == pytest.approx(0.97, abs=0.015)
    assert covered(30, 0.5) == pytest.approx(0.95, abs=0.015)
