"""Centipawns against the figures that the papers' engine gives."""

from __future__ import annotations

import pytest

from moemcts_chess.score import MAX_CENTIPAWNS, centipawns, value_of_centipawns


@pytest.mark.parametrize(
    ("value", "score"), [(0.0, 0), (0.05, 15), (0.1, 31), (0.2, 66), (0.5, 206), (0.9, 684), (-0.5, -206)]
)
def test_chess_counts_as_crazyara_does(value: float, score: int) -> None:
    assert centipawns(value, "chess") == centipawns(value, "chess960") == score


def test_variants_have_a_steeper_scale() -> None:
    assert centipawns(0.5, "antichess") == 380


@pytest.mark.parametrize(("score", "value"), [(600, 0.867), (20, 0.065), (-600, -0.867)])
def test_the_papers_adjudication_means_these_values(score: int, value: float) -> None:
    assert value_of_centipawns(score, "chess") == pytest.approx(value, abs=5e-4)


@pytest.mark.parametrize("game", ["chess", "horde"])
@pytest.mark.parametrize("score", [-2500, -37, -1, 0, 1, 250, 2500])
def test_scores_survive_the_way_to_values_and_back(game: str, score: int) -> None:
    assert centipawns(value_of_centipawns(score, game), game) == score


@pytest.mark.parametrize("value", [1.0, 1.5, 1 - 1e-16, 1 - 1e-15])
def test_certainty_is_bounded(value: float) -> None:
    assert centipawns(value, "chess") == MAX_CENTIPAWNS
    assert centipawns(-value, "chess") == -MAX_CENTIPAWNS
