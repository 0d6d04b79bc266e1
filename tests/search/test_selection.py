"""From visits, values and proofs to the move that is played."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from moemcts.search import SearchConfig, SearchResult
from moemcts.search.selection import choose_move, clip_quantile, move_weights


def found(visits, values, *, proven=None, proof_plies=None, plies_left=None):  # type: ignore[no-untyped-def]
    n = len(visits)
    return SearchResult(
        player=0,
        actions=np.arange(10, 10 + n),
        visits=np.array(visits),
        values=np.array(values, dtype=np.float64),
        priors=np.full(n, 1 / n, dtype=np.float32),
        proven=np.zeros(n, bool) if proven is None else np.array(proven, bool),
        proof_plies=np.zeros(n, np.int64) if proof_plies is None else np.array(proof_plies),
        value=0.0,
        plies_left=plies_left,
        evaluation=np.zeros(2, np.float32),
        num_nodes=1,
        num_simulations=int(sum(visits)),
        mean_depth=1.0,
        max_depth=1,
    )


def played(result, *, ply=0, seed=0, **options):  # type: ignore[no-untyped-def]
    return choose_move(result, SearchConfig(**options), ply, np.random.default_rng(seed))


def test_the_most_visited_move_is_played_and_values_have_no_say() -> None:
    assert played(found([60, 30, 10], [-0.5, 0.9, 1.0])) == 10


@pytest.mark.parametrize(
    ("visits", "values", "expected"),
    [
        ([60, 30, 10], [0.0, 0.1, 0.41], [10, 30, 60]),
        ([60, 30, 10], [0.0, 0.1, 0.39], [60, 30, 10]),
        ([60, 39, 1], [0.0, 0.1, 0.9], [60, 39, 1]),  # one visit convinces nobody
        ([60, 40, 0], [-0.9, -0.8, 0.0], [60, 40, 0]),  # an untried move has no value
    ],
)
def test_a_much_better_value_takes_the_place_of_the_most_visits(visits, values, expected) -> None:  # type: ignore[no-untyped-def]
    weights = move_weights(found(visits, values), SearchConfig(q_veto_delta=0.4))
    assert weights.tolist() == expected


def test_weights_are_found_once_and_stay_as_they_are() -> None:
    result = found([60, 40, 0], [0.0, 0.5, 0.0])
    assert result.weights is result.weights
    assert move_weights(result, SearchConfig()) is result.weights
    move_weights(result, SearchConfig(q_value_weight=1.0, q_veto_delta=0.4))
    assert result.weights.tolist() == [60, 40, 0]
    with pytest.raises(ValueError, match="read-only"):
        result.weights[0] = 1


def test_a_better_second_gains_the_difference() -> None:
    result = found([60, 40, 0], [0.0, 0.5, 0.0])
    assert move_weights(result, SearchConfig(q_value_weight=1.0)).tolist() == [60, 70, 0]
    assert played(result, q_value_weight=1.0) == 11
    assert played(result, q_value_weight=0.5) == 10
    assert move_weights(found([60, 40], [0.5, 0.0]), SearchConfig(q_value_weight=1.0)).tolist() == [60, 40]


def test_values_do_not_bring_back_what_is_proven_to_lose() -> None:
    result = found([10, 90, 5], [-0.2, -1.0, -0.5], proven=[0, 1, 0], proof_plies=[0, 4, 0])
    assert result.best_action == 10
    assert played(result, q_veto_delta=0.4, q_value_weight=1.0) == 10


@pytest.mark.parametrize(
    ("values", "proven", "plies", "best"),
    [
        ([1.0, 1.0, 0.9], [1, 1, 0], [5, 3, 0], 11),
        ([-1.0, -1.0, -1.0], [1, 1, 1], [2, 4, 6], 12),
        ([0.0, 0.0, -1.0], [1, 1, 1], [2, 4, 6], 11),
    ],
)
def test_a_proven_result_is_won_quickly_and_anything_else_delayed(values, proven, plies, best) -> None:  # type: ignore[no-untyped-def]
    result = found([50, 20, 30], values, proven=proven, proof_plies=plies, plies_left=plies[best - 10])
    assert result.best_action == best
    assert result.policy(20)[best] == 1
    assert all(played(result, temperature=1.0, temperature_plies=9, seed=seed) == best for seed in range(20))


def test_a_search_that_visited_nothing_goes_by_its_priors() -> None:
    result = found([0, 0, 0], [0.0, 0.0, 0.0])
    assert played(result, q_veto_delta=0.4) == 10
    assert result.policy(20).sum() == pytest.approx(1)


def test_shares_drawn_are_those_of_the_temperature() -> None:
    result = found([60, 30, 10], [0.0] * 3)
    config = SearchConfig(temperature=0.5, temperature_plies=1)
    rng = np.random.default_rng(0)
    counts = Counter(choose_move(result, config, 0, rng) for _ in range(5000))
    # 36 : 9 : 1; a tolerance of more than three standard deviations of 5,000 draws.
    assert counts[10] / 5000 == pytest.approx(36 / 46, abs=0.02)
    assert counts[12] / 5000 == pytest.approx(1 / 46, abs=0.01)
    assert choose_move(result, config, 1, rng) == 10


def test_the_temperature_decays_with_the_plies() -> None:
    result = found([60, 40], [0.0, 0.0])
    options = {"temperature": 1.0, "temperature_plies": 100, "temperature_decay": 0.5}
    early = [played(result, seed=seed, **options) for seed in range(200)]
    late = [played(result, ply=6, seed=seed, **options) for seed in range(200)]
    assert set(early) == {10, 11}
    # At 0.5 ** 6 the odds of the second move are (40 / 60) ** 64.
    assert set(late) == {10}


@pytest.mark.parametrize(
    ("quantile", "expected"),
    [
        (0.0, [0.5, 0.3, 0.1, 0.1]),
        (0.25, [0.5, 0.3, 0.0, 0.0]),
        (0.1, [0.5, 0.3, 0.1, 0.1]),
        (0.45, [0.5, 0.3, 0.0, 0.0]),
        (0.6, [0.5, 0.0, 0.0, 0.0]),
        (0.99, [0.5, 0.0, 0.0, 0.0]),
    ],
)
def test_the_tail_below_a_quantile_is_cut(quantile: float, expected: list[float]) -> None:
    assert clip_quantile(np.array([0.5, 0.3, 0.1, 0.1]), quantile).tolist() == expected


@pytest.mark.parametrize("ply", [160, 198, 9000])
def test_a_temperature_that_underflows_takes_the_most_visited_move(ply: int) -> None:
    result = found([3, 0, 5], [0.0, 0.0, 0.0])
    assert played(result, ply=ply, temperature=1.7, temperature_plies=99_999, temperature_decay=0.01) == 12
    assert played(result, ply=9000, temperature=1.7, temperature_plies=99_999, temperature_decay=0.92) == 12
