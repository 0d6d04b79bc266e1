"""What an experiment's networks answer to samples that they did not learn from, measured once and kept."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moemcts.errors import DamagedFile
from moemcts.gates import PhaseGate
from moemcts.runs.arms import NO_GATE, SINGLE, Arm
from moemcts.runs.experiment.trainings import ArmTrainings
from moemcts.runs.run import Part
from moemcts.store import read_json, write_json
from moemcts.work.progress import Advance, unheard

if TYPE_CHECKING:
    # Where torch comes in: whoever only describes a run does not wait for it.
    from moemcts.evaluation import Evaluator
    from moemcts.experts import ExpertSet
    from moemcts.learn.assessment import PhaseLosses

LOSSES = "losses"
"""The task of the parts that measure, and their folder."""
MANY = 50_000
"""Held-out samples, counted for each arm and seed, from which on processes are worth their start."""
_REMEDY = "delete it to measure them again"


def losses_part(trainings: ArmTrainings, arm: Arm, seed: int, training: Part) -> Part:
    """Returns the part that measures what a training has made."""
    return replace(
        training,
        name=f"{LOSSES}-{arm.label}-{seed}",
        task=LOSSES,
        unit="samples",
        do=functools.partial(_measure, trainings, arm, seed),
    )


def losses_of(trainings: ArmTrainings, arm: Arm, seed: int, advance: Advance = unheard) -> list[PhaseLosses]:
    """Returns the losses of an arm of a training seed, on what that seed held out.

    They are the rows of the single network, of each expert and of all experts together; of an arm of one network for
    all phases one row less each, and of a single network its own, called by its seed. They are measured where their
    file is missing, or of other experts than there are. Raises DamagedFile where it holds something else.
    """
    from moemcts.learn.assessment import PhaseLosses, phase_losses

    path = trainings.folder / LOSSES / f"{arm.label}-{seed}.json"
    measured = [arm] if arm.gate == NO_GATE else [trainings.single, arm]
    identity = trainings.weights_of(measured, seed)
    if (kept := _read(path)) is not None and kept.items() >= identity.items():
        try:
            return [PhaseLosses(**row) for row in kept["rows"]]
        except (KeyError, TypeError):
            raise DamagedFile(f"{path} holds no losses; {_REMEDY}") from None
    held_out = trainings.sources().held_out(trainings.config.training.validation_fraction, seed)
    teams = [trainings.trained(one, seed) for one in measured]
    rows = phase_losses(_evaluators(arm, seed, teams), held_out, teams[-1].gate, advance)
    write_json(path, {**identity, "rows": [row.to_json() for row in rows]})
    return rows


def mean_losses(trainings: ArmTrainings, arm: Arm) -> list[PhaseLosses]:
    """Returns the rows of an arm of several experts, each the mean over the training seeds."""
    from moemcts.learn.assessment import mean_over_seeds

    return mean_over_seeds([losses_of(trainings, arm, seed) for seed in trainings.seeds])


def num_processes(trainings: ArmTrainings, parts: Sequence[Part], num_workers: int) -> int:
    """Returns in how many processes parts of one task are done: those that measure few samples are done here."""
    if parts and parts[0].task == LOSSES:
        held_out = trainings.sources().held_out(trainings.config.training.validation_fraction, trainings.seeds[0])
        if not are_many(len(parts) * len(held_out)):
            return 1
    return min(num_workers, len(parts))


def are_many(num_samples: float) -> bool:
    """Returns whether held-out samples, counted for each arm and seed, are worth starting processes for."""
    return num_samples >= MANY


def num_evaluations(arm: Arm, gate: PhaseGate) -> int:
    """Returns how often each held-out sample is evaluated for an arm behind a gate."""
    if arm.gate == NO_GATE:
        return 1
    return 2 if arm.is_single else gate.num_phases + 2


def _measure(trainings: ArmTrainings, arm: Arm, seed: int, advance: Advance) -> None:
    losses_of(trainings, arm, seed, advance)


def _evaluators(arm: Arm, seed: int, teams: list[ExpertSet]) -> dict[str, Evaluator]:
    """Returns who answers, by the name of its row; `teams` are the single network, if there is more, and the arm's."""
    from moemcts.learn.assessment import MIXTURE, team_evaluators

    team = teams[-1]
    if len(teams) == 1:
        return {f"seed {seed}": team}
    return {SINGLE: teams[0], **({MIXTURE: team} if arm.is_single else team_evaluators(team))}


def _read(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        found = read_json(path)
    except DamagedFile as error:
        raise DamagedFile(f"{error}; {_REMEDY}") from None
    return found if isinstance(found, dict) else None
