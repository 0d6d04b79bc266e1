"""Spikes, patience and plateaus follow from the held-out losses alone."""

import math

import pytest

from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.loss_monitor import LossMonitor
from moemcts.learn.training.schedule import cosine, one_cycle, schedule_values


def judged(losses: list[float], **settings: object) -> tuple[list[str], LossMonitor]:
    course, config = LossMonitor(), TrainerConfig.model_validate(settings)
    return [course.judge(config, loss) for loss in losses], course


def test_a_spike_is_more_than_so_many_times_the_last_accepted_loss() -> None:
    trends, course = judged([1.0, 1.5, 2.3, 2.2, math.nan, 0.9], spike=1.5)
    assert trends == ["better", "no better", "spike", "no better", "spike", "better"]
    assert (course.accepted, course.lowest) == (0.9, 0.9)


def test_without_spikes_only_what_is_no_number_is_one() -> None:
    assert judged([1.0, 9.0, math.inf], spike=None)[0] == ["better", "no better", "spike"]


def test_patience_counts_measurements_that_are_not_better_by_the_tolerance() -> None:
    _, course = judged([1.0, 0.99, 0.98], patience=2, tolerance=0.02)
    assert course.is_over
    _, course = judged([1.0, 0.99, 0.97], patience=2, tolerance=0.02)
    assert not course.is_over


def test_the_antichess_thesis_reduces_by_ten_after_five_measurements_within_a_threshold() -> None:
    flat = [1.0, *[0.99] * 5]
    settings = {"schedule": "plateau", "plateau_patience": 5, "plateau_factor": 0.1, "tolerance": 0.02}
    config = TrainerConfig.model_validate(settings)
    assert judged(flat[:-1], **settings)[1].learning_rate(config) == 1.0
    assert judged(flat, **settings)[1].learning_rate(config) == pytest.approx(0.1)
    assert judged(flat + [0.99] * 5, **settings)[1].learning_rate(config) == pytest.approx(0.01)


def test_a_course_survives_being_stored() -> None:
    _, course = judged([1.0, 1.2, 1.1], schedule="plateau", plateau_patience=1)
    assert LossMonitor(**course.to_json()) == course


def test_cosine_warms_up_falls_and_stays() -> None:
    assert cosine(0.25) == pytest.approx(1.0)
    assert cosine(0.125) == pytest.approx(0.5, abs=1e-4)
    assert cosine(0.25 + 0.35) == pytest.approx(0.5, abs=1e-4)
    assert cosine(0.95) == cosine(1.0) == pytest.approx(1 / 14000)
    assert one_cycle(1 / 30 + 0.15) == pytest.approx(1.0)


def test_momentum_is_opposite_to_the_learning_rate() -> None:
    steps = [
        schedule_values("cosine", step, 100, learning_rate=0.05, momentum=0.95, min_momentum=0.8) for step in range(100)
    ]
    highest = max(steps, key=lambda now: now.learning_rate)
    assert highest.momentum == pytest.approx(0.8, abs=1e-3)
    assert steps[-1].momentum == pytest.approx(0.95)
    assert all(
        (a.learning_rate < b.learning_rate) == (a.momentum > b.momentum)
        for a, b in zip(steps, steps[20:], strict=False)
    )
