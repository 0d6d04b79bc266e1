"""Schemes are the papers'."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moemcts.errors import UsageError
from moemcts.learn.schemes.stages import Stage, general_first, separated, shared_stem, single, staged, weighted
from moemcts.learn.training.trainer import last_steps, plan
from moemcts.plugins import plugins


def order(phase: int, num_phases: int) -> list[int]:
    return [stage.weights.index(1.0) for stage in staged()(phase, num_phases)]


def test_staged_has_the_papers_orders() -> None:
    opening, middlegame, endgame = (order(phase, 3) for phase in range(3))
    assert opening == [2, 1, 0]
    assert middlegame == [0, 2, 1]
    assert endgame == [0, 1, 2]


@given(st.integers(1, 6), st.data())
def test_staged_sees_every_phase_once_and_its_own_last(num_phases: int, data: st.DataObject) -> None:
    phase = data.draw(st.integers(0, num_phases - 1))
    assert sorted(order(phase, num_phases)) == list(range(num_phases))
    assert order(phase, num_phases)[-1] == phase


def test_weights_equal_the_papers_tables() -> None:
    assert weighted(a=4)(0, 3)[0].weights == (2.0, 0.5, 0.5)
    assert weighted(a=10)(1, 3)[0].weights == (0.25, 2.5, 0.25)


@given(st.floats(0.1, 100), st.integers(1, 8))
def test_weights_have_mean_one_over_the_phases(a: float, num_phases: int) -> None:
    weights = weighted(a=a)(0, num_phases)[0].weights
    assert sum(weights) == pytest.approx(num_phases)
    assert weights[0] == pytest.approx(a * weights[-1] if num_phases > 1 else 1.0)


def stages_of(scheme: object, num_phases: int = 3) -> list[list[Stage]]:
    assert callable(scheme)
    return [list(scheme(phase, num_phases)) for phase in range(num_phases)]


@pytest.mark.parametrize(
    ("scheme", "num_trainings"),
    [(single(), 1), (separated(), 3), (weighted(), 3), (general_first(), 4), (shared_stem(), 4), (staged(), 8)],
)
def test_a_shared_beginning_is_trained_once(scheme: object, num_trainings: int) -> None:
    stages = stages_of(scheme)
    steps = plan(stages)
    assert len(steps) == num_trainings
    for own, last in zip(stages, last_steps(steps, stages), strict=True):
        walked: list[Stage] = []
        number: int | None = last
        while number is not None:
            walked.append(steps[number].stage)
            assert steps[number].parent is None or steps[number].parent < number  # type: ignore[operator]
            number = steps[number].parent
        assert walked[::-1] == own


def test_with_one_phase_all_schemes_but_general_first_are_a_single_network() -> None:
    for scheme in (single(), separated(), staged(), weighted(a=7)):
        assert scheme(0, 1) == [Stage(weights=(1.0,))]


def test_schemes_are_registered_with_options() -> None:
    assert plugins().curriculum("weighted?a=10")(0, 3) == weighted(a=10)(0, 3)
    assert plugins().curriculum("staged?epochs=0.5")(0, 2)[0].epochs == 0.5
    with pytest.raises(UsageError, match="expected a positive weight a, got -1"):
        plugins().curriculum("weighted?a=-1")


def test_a_stage_is_named_after_what_counts() -> None:
    names = ("opening", "middlegame", "endgame")
    assert Stage(weights=(1, 1, 1)).describe(names) == "all"
    assert Stage(weights=(0, 1, 0)).describe(names) == "middlegame"
    assert Stage(weights=(0, 1, 0), trains="heads").describe(names) == "middlegame, heads"
    assert Stage(weights=(2, 0.5, 0.5)).describe(names) == "opening x2, middlegame x0.5, endgame x0.5"
