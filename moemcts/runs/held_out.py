"""What each network of an experiment is worth on held-out games, phase by phase, over its training seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from moemcts.evaluation import Evaluator

if TYPE_CHECKING:
    from moemcts.experts import ExpertSet
    from moemcts.learn.assessment import PhaseLosses
    from moemcts.runs.arms import Arm
    from moemcts.runs.settings import ExperimentConfig
    from moemcts.runs.sources import Sources


def held_out_losses(
    config: ExperimentConfig,
    single: Arm,
    teams: list[Arm],
    sources: Sources,
    experts: Mapping[tuple[str, int], ExpertSet],
) -> dict[str, list[PhaseLosses]]:
    """Returns for every team the losses of the single network, of each expert, and of all experts together.

    `experts` are by the name of their arm and the training seed.
    """
    from moemcts.learn.assessment import mean_over_seeds, phase_losses, team_evaluators

    found: dict[str, list[PhaseLosses]] = {}
    for arm in teams:
        by_seed = []
        for seed in config.training_seeds:
            held_out = sources.held_out(config.training.validation_fraction, seed)
            team = experts[arm.name, seed]
            alone: dict[str, Evaluator] = {single.name: experts[single.name, seed]}
            by_seed.append(phase_losses(alone | team_evaluators(team), held_out, team.gate))
        found[arm.name] = mean_over_seeds(by_seed)
    return found


def single_losses(
    config: ExperimentConfig, single: Arm, sources: Sources, experts: Mapping[tuple[str, int], ExpertSet]
) -> list[PhaseLosses]:
    """Returns the losses of the single network, a row per training seed, each on what that seed held out."""
    from moemcts.learn.assessment import phase_losses

    found = []
    for seed in config.training_seeds:
        held_out = sources.held_out(config.training.validation_fraction, seed)
        team = experts[single.name, seed]
        found += phase_losses({f"seed {seed}": team}, held_out, team.gate)
    return found
