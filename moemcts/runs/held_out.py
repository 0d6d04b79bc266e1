"""What each network of an experiment is worth on held-out games, phase by phase, over its training seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moemcts.evaluation import Evaluator
from moemcts.runs.arms import SINGLE

if TYPE_CHECKING:
    from moemcts.learn.assessment import PhaseLosses
    from moemcts.runs.experiment import Experiment, Outcomes


def held_out_losses(experiment: Experiment, outcomes: Outcomes) -> dict[str, list[PhaseLosses]]:
    """Returns for every team the losses of the single network, of each expert, and of all experts together."""
    from moemcts.learn.assessment import mean_over_seeds, phase_losses, team_evaluators

    config = experiment.config
    found: dict[str, list[PhaseLosses]] = {}
    for arm in experiment.teams:
        by_seed = []
        for seed in range(config.num_seeds):
            held_out = outcomes.sources.held_out(config.training.validation_fraction, config.seed + seed)
            team = outcomes.experts[arm.name, seed]
            single: dict[str, Evaluator] = {SINGLE: outcomes.experts[SINGLE, seed]}
            by_seed.append(phase_losses(single | team_evaluators(team), held_out, team.gate))
        found[arm.name] = mean_over_seeds(by_seed)
    return found
