"""Schemes are the papers'."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moemcts.errors import MoemctsError, UsageError
from moemcts.learn.schemes.catalogue import GeneralFirst, Separated, SharedStem, Single, Staged, Weighted
from moemcts.learn.schemes.scheme import StagedScheme
from moemcts.learn.training.stages import Stage, last_steps, plan
from moemcts.plugins import plugins


@pytest.mark.parametrize("stages", [[], None, [Stage(weights=(1.0,))], Stage(weights=(1.0, 1.0, 1.0))])
def test_a_scheme_without_stages_is_refused(stages: Any) -> None:
    class Idle(StagedScheme):
        def stages(self, phase: int, num_phases: int) -> Any:
            return stages

    with pytest.raises(MoemctsError, match="scheme Idle is invalid: expected stages for phase 0 with weights of 3"):
        Idle().all_stages(3)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            {"weights": [1.0, 1.0]},
            r"expected weights as a tuple of numbers of 0 or more, not all 0, got \[1\.0, 1\.0\]",
        ),
        ({"weights": (1.0, -1.0)}, r"expected weights .*, got \(1\.0, -1\.0\)"),
        ({"weights": (0.0, float("nan"))}, r"expected weights .*, got \(0\.0, nan\)"),
        ({"weights": (0.0, 0.0)}, r"expected weights .*, got \(0\.0, 0\.0\)"),
        ({"epochs": 0.0}, r"expected a positive epochs, got 0\.0"),
        ({"learning_rate": -1}, "expected a positive learning_rate, got -1"),
        ({"half_life": 0}, "expected a positive half_life, got 0"),
        ({"trains": "tail"}, "expected trains to be 'all' or 'heads', got 'tail'"),
    ],
)
def test_a_stage_in_which_nothing_is_learned_is_refused_before_anything_is(wrong: dict[str, Any], told: str) -> None:
    class Careless(StagedScheme):
        def stages(self, phase: int, num_phases: int) -> Any:
            return [Stage(**{"weights": (1.0, 1.0), **wrong})]

    line = (
        rf"scheme Careless is invalid: asked for the stages of phase 0, it raised ValueError: {told} in stages \(test_"
    )
    with pytest.raises(MoemctsError, match=line):
        Careless().cost(2)


def order(phase: int, num_phases: int) -> list[int]:
    return [stage.weights.index(1.0) for stage in Staged().stages(phase, num_phases)]


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
    assert Weighted(a=4).stages(0, 3)[0].weights == (2.0, 0.5, 0.5)
    assert Weighted(a=10).stages(1, 3)[0].weights == (0.25, 2.5, 0.25)


@given(st.floats(0.1, 100), st.integers(1, 8))
def test_weights_have_mean_one_over_the_phases(a: float, num_phases: int) -> None:
    weights = Weighted(a=a).stages(0, num_phases)[0].weights
    assert sum(weights) == pytest.approx(num_phases)
    assert weights[0] == pytest.approx(a * weights[-1] if num_phases > 1 else 1.0)


@pytest.mark.parametrize(
    ("scheme", "num_trainings"),
    [(Single(), 1), (Separated(), 3), (Weighted(), 3), (GeneralFirst(), 4), (SharedStem(), 4), (Staged(), 8)],
)
def test_a_shared_beginning_is_trained_once(scheme: StagedScheme, num_trainings: int) -> None:
    stages = scheme.all_stages(3)
    steps = plan(stages)
    assert len(steps) == num_trainings
    for own, last in zip(stages, last_steps(steps, stages), strict=True):
        walked: list[Stage] = []
        number: int | None = last
        while number is not None:
            walked.append(steps[number].stage)
            assert steps[number].parent is None or steps[number].parent < number  # type: ignore[operator]
            number = steps[number].parent
        assert walked[::-1] == list(own)


def test_with_one_phase_all_schemes_but_general_first_are_a_single_network() -> None:
    for scheme in (Single(), Separated(), Staged(), Weighted(a=7)):
        assert scheme.stages(0, 1) == [Stage(weights=(1.0,))]


def test_schemes_are_registered_with_options() -> None:
    assert plugins().scheme("weighted?a=10") == Weighted(a=10)
    assert plugins().scheme("staged?epochs=0.5") == Staged(epochs=0.5)
    with pytest.raises(UsageError, match="expected a positive a, got -1"):
        plugins().scheme("weighted?a=-1")


def test_a_stage_is_named_after_what_counts() -> None:
    names = ("opening", "middlegame", "endgame")
    assert Stage(weights=(1, 1, 1)).describe(names) == "all"
    assert Stage(weights=(0, 1, 0)).describe(names) == "middlegame"
    assert Stage(weights=(0, 1, 0), trains="heads").describe(names) == "middlegame, heads"
    assert Stage(weights=(2, 0.5, 0.5)).describe(names) == "opening x2, middlegame x0.5, endgame x0.5"


@pytest.mark.parametrize(
    ("reference", "passes"),
    [
        ("single", 1),
        ("single?epochs=2", 2),
        ("separated", 1),
        ("weighted", 3),
        ("staged", 8 / 3),
        ("general_first?special_epochs=3", 1 + 3),
        ("shared_stem", 2),
        # Each expert may see every sample: with a half-life of 8 those up to 48 plies away count.
        ("distance", 3),
        ("mixture?epochs=0.5", 1.5),
    ],
)
def test_a_scheme_knows_how_often_it_sees_the_data(reference: str, passes: float) -> None:
    assert plugins().scheme(reference).cost(3) == pytest.approx(passes)


@pytest.mark.parametrize(
    "reference", ["single?epochs=0", "distance?half_life=-1", "mixture?epochs=-1", "staged?epochs=1e999"]
)
def test_lengths_that_are_none_are_refused(reference: str) -> None:
    with pytest.raises(UsageError, match="expected a positive"):
        plugins().scheme(reference)
