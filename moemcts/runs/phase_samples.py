"""Checks that every expert has samples to learn from before any training starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from moemcts.gates import PhaseGate
from moemcts.plugins import plugins
from moemcts.runs.arms import Arm
from moemcts.runs.run import Run
from moemcts.runs.sources import Sources

if TYPE_CHECKING:
    from moemcts.learn.training.stages import Stage


def check_samples(
    run: Run[Any], trainings: Sequence[tuple[Arm, PhaseGate]], open_samples: Callable[[], Sources], seeds: Sequence[int]
) -> None:
    """Raises MoemctsError, with a remedy, if an expert would have no samples to learn from with one of the seeds.

    Computes nothing but phase weights, which the trainings need too and which are cached beside the samples.
    """
    from moemcts.learn.training.sample_weights import has_samples, no_samples_error

    stages = [(stage, gate, arm) for arm, gate in trainings for stage in _partial_stages(arm, gate)]
    if not stages:
        return
    sources, data = open_samples(), run.config.data.folder or run.folder / "data"
    for seed in seeds:
        training = sources.training
        if sources.validation is None:
            training, _ = training.split(run.config.training.validation_fraction, seed)
        for stage, gate, arm in stages:
            if not has_samples(stage, training.phase_weights(gate)):
                remedy = (
                    f"start another {run.noun}, with another gate or other cuts on the same samples, --data {data} "
                    "--out OTHER, or with more samples"
                )
                raise no_samples_error(stage, training, gate, arm.gate_name or arm.gate, remedy)


def _partial_stages(arm: Arm, gate: PhaseGate) -> list[Stage]:
    """Returns the stages of a training that leave out phases, in training order."""
    from moemcts.runs.learning_cost import steps_of

    steps = steps_of(plugins().scheme(arm.scheme), gate.num_phases) or ()
    return [step.stage for step in steps if not all(step.stage.weights)]
