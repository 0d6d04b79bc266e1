"""Samples count by how near their game is to a phase."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_games import make_data, thirds

from moemcts.learn.schemes.catalogue import Distance
from moemcts.learn.training.sample_weights import has_samples, plies_to_nearest, sample_weights
from moemcts.learn.training.stages import Stage


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30), st.booleans()), min_size=1, max_size=40))
def test_plies_away_is_the_nearest_of_the_same_game(samples: list[tuple[int, int, bool]]) -> None:
    games, plies, inside = (np.array(column) for column in zip(*samples, strict=True))
    for i, found in enumerate(plies_to_nearest(games, plies, inside.astype(bool))):
        near = [abs(plies[i] - plies[j]) for j in range(len(samples)) if games[j] == games[i] and inside[j]]
        assert found == (min(near) if near else -1)


def test_weights_halve_with_every_half_life_and_boundaries_are_soft(tmp_path: Path) -> None:
    data = make_data(tmp_path)
    phases = data.phase_weights(thirds())
    (stage,) = Distance(half_life=1).stages(1, 3)
    weights = sample_weights(stage, data, phases)
    plies = data.views(np.arange(len(data))).plies()
    reaches = np.isin(data.games(), data.games()[phases[:, 1] > 0])
    # The middle has plies 3, 4 and 5; every game that comes there has been at 0, 1 and 2.
    for ply, expected in [(0, 1 / 8), (1, 1 / 4), (2, 1 / 2), (3, 1), (5, 1), (6, 1 / 2), (7, 1 / 4)]:
        here = (plies == ply) & reaches
        assert here.any()
        assert weights[here] == pytest.approx(expected)
    assert not weights[~reaches].any()


def test_what_hardly_counts_is_left_out(tmp_path: Path) -> None:
    data = make_data(tmp_path)
    weights = sample_weights(Stage(weights=(0, 0, 1.0), half_life=0.5), data, data.phase_weights(thirds()))
    assert set(np.unique(weights)) == {0.0, 1 / 64, 1 / 16, 1 / 4, 1.0}


@dataclass(frozen=True)
class OneGame:
    """Samples of one game, as `sample_weights` asks for them."""

    to_end: Sequence[int]

    def games(self) -> np.ndarray:
        return np.zeros(len(self.to_end), dtype=np.int64)

    def plies_to_end(self) -> np.ndarray:
        return np.array(self.to_end)


def weights_in_one_game(stage: Stage, to_end: Sequence[int], phases: Sequence[int]) -> list[float]:
    data: Any = OneGame(to_end)
    return sample_weights(stage, data, np.eye(3, dtype=np.float32)[list(phases)]).tolist()


def test_a_sample_counts_as_the_phase_that_is_nearest() -> None:
    stage = Stage(weights=(4.0, 1.0, 0.0), half_life=1.0)
    assert weights_in_one_game(stage, [5, 4, 3, 2, 1], [2, 1, 2, 2, 0]) == [0.5, 1.0, 0.5, 2.0, 4.0]
    # At equal distances the weightier one.
    assert weights_in_one_game(stage, [3, 2, 1], [1, 2, 0]) == [1.0, 2.0, 4.0]


def test_who_moves_at_the_same_time_as_a_sample_of_the_phase_counts_in_full() -> None:
    stage = Stage(weights=(1.0, 0.0, 0.0), half_life=1.0)
    assert weights_in_one_game(stage, [3, 3, 2, 1], [0, 1, 1, 1]) == [1.0, 1.0, 0.5, 0.25]


@pytest.mark.parametrize("half_life", [None, 1.0])
@pytest.mark.parametrize("counting", [(1, 0, 0), (0, 1, 0), (0, 1, 1), (1, 1, 1)])
def test_a_stage_has_samples_where_one_of_them_has_weight(counting: tuple[int, ...], half_life: float | None) -> None:
    rng = np.random.default_rng(0)
    found = set()
    for size in (0, 1, 2, 3) * 20:
        # Of soft gates too: of two phases that share a sample one may be the weightiest of none.
        phases = rng.dirichlet([0.05] * 3, size).astype(np.float32).round(1)
        stage = Stage(weights=tuple(map(float, counting)), half_life=half_life)
        data: Any = OneGame(list(range(size, 0, -1)))
        found.add(has_samples(stage, phases))
        assert has_samples(stage, phases) == sample_weights(stage, data, phases).any()
    assert found == {True, False}


def test_half_lives_are_positive_and_named() -> None:
    with pytest.raises(ValueError, match="expected a positive half_life, got 0"):
        Distance(half_life=0)
    assert Distance().stages(0, 2)[0].describe(("a", "b")) == "a and nearby, half-life 8"
    assert Distance().stages(0, 1) == [Stage(weights=(1.0,))]
