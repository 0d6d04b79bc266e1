"""Losses of an experiment's networks on held-out samples, measured once and cached."""

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
from moemcts.work.progress import Advance, ignore_progress

if TYPE_CHECKING:
    # These import torch, which commands that only describe a run should not wait for.
    from moemcts.evaluation import Evaluator
    from moemcts.experts import ExpertSet
    from moemcts.learn.assessment import PhaseLosses

LOSSES = "losses"
"""The task of the parts that measure losses, and their folder."""
MANY = 50_000
"""Number of held-out samples, summed over arms and seeds, from which starting processes pays off."""
_REMEDY = "delete it to measure them again"


def losses_part(trainings: ArmTrainings, arm: Arm, seed: int, training: Part) -> Part:
    """Returns the part that measures the losses of a training's experts."""
    return replace(
        training,
        name=f"{LOSSES}-{arm.label}-{seed}",
        task=LOSSES,
        unit="samples",
        do=functools.partial(_measure, trainings, arm, seed),
    )


def losses_of(trainings: ArmTrainings, arm: Arm, seed: int, advance: Advance = ignore_progress) -> list[PhaseLosses]:
    """Returns the losses of an arm and training seed, on the samples held out with that seed.

    The rows are those of the single network, of each expert and of the mixture; for an arm with one network for all
    phases, those of the single network and of the arm; for a single network, its own row, named by the seed. They are
    measured if their file is missing or belongs to other experts. Raises DamagedFile if the file holds something else.
    """
    from moemcts.learn.assessment import PhaseLosses, phase_losses

    path = trainings.folder / LOSSES / f"{arm.label}-{seed}.json"
    arms = [arm] if arm.gate == NO_GATE else [trainings.single, arm]
    identity = trainings.weights_of(arms, seed)
    if (cached := _read(path)) is not None and cached.items() >= identity.items():
        try:
            return [PhaseLosses(**row) for row in cached["rows"]]
        except (KeyError, TypeError):
            raise DamagedFile(f"{path} holds no losses; {_REMEDY}") from None
    held_out = trainings.sources().held_out(trainings.config.training.validation_fraction, seed)
    teams = [trainings.trained(measured, seed) for measured in arms]
    rows = phase_losses(_evaluators(arm, seed, teams), held_out, teams[-1].gate, advance)
    write_json(path, {**identity, "rows": [row.to_json() for row in rows]})
    return rows


def mean_losses(trainings: ArmTrainings, arm: Arm) -> list[PhaseLosses]:
    """Returns the rows of an arm of experts, each averaged over the training seeds."""
    from moemcts.learn.assessment import mean_over_seeds

    return mean_over_seeds([losses_of(trainings, arm, seed) for seed in trainings.seeds])


def num_processes(trainings: ArmTrainings, parts: Sequence[Part], num_workers: int) -> int:
    """Returns how many processes to use for parts of one task; losses on few samples are measured in this process."""
    if parts and parts[0].task == LOSSES:
        held_out = trainings.sources().held_out(trainings.config.training.validation_fraction, trainings.seeds[0])
        if not is_worth_processes(len(parts) * len(held_out)):
            return 1
    return min(num_workers, len(parts))


def is_worth_processes(num_samples: float) -> bool:
    """Returns whether a number of held-out samples, summed over arms and seeds, is worth starting processes for."""
    return num_samples >= MANY


def num_evaluations(arm: Arm, gate: PhaseGate) -> int:
    """Returns how often each held-out sample is evaluated for an arm with a gate."""
    if arm.gate == NO_GATE:
        return 1
    return 2 if arm.is_single else gate.num_phases + 2


def _measure(trainings: ArmTrainings, arm: Arm, seed: int, advance: Advance) -> None:
    losses_of(trainings, arm, seed, advance)


def _evaluators(arm: Arm, seed: int, teams: list[ExpertSet]) -> dict[str, Evaluator]:
    """Returns the evaluators of an arm by row name.

    `teams` holds the single network, unless the arm is a single network itself, and the arm's team.
    """
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
