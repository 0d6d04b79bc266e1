"""Training of experts behind a gate, and their losses on held-out samples."""

from __future__ import annotations

from pathlib import Path

from moemcts.experts import ExpertSet
from moemcts.game import Game
from moemcts.gates import PhaseGate
from moemcts.learn.assessment import PhaseLosses, phase_losses
from moemcts.learn.inference.torch_evaluator import TorchEvaluator
from moemcts.learn.schemes.scheme import Team
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.trainer import Trainer
from moemcts.plugins import plugins
from moemcts.runs.sources import Sources


def trained(
    settings: TrainerConfig, game: Game, network: str, scheme: str, gate: PhaseGate, sources: Sources, folder: Path
) -> tuple[Team, PhaseLosses]:
    """Returns experts trained with a scheme, and their losses on all held-out samples."""
    shape, num_actions = game.spec.observation_shape, game.spec.num_actions
    held_out = sources.held_out(settings.validation_fraction, settings.seed)
    team = (
        plugins()
        .scheme(scheme)
        .fit(
            Trainer(settings),
            lambda: plugins().network(network, shape, num_actions),
            sources.training,
            gate,
            folder,
            validation=sources.validation,
        )
    )
    experts = ExpertSet(team.gate, [TorchEvaluator(expert.network) for expert in team.trained])
    (losses,) = phase_losses({"all": experts}, held_out, plugins().gate("none", game))
    return team, losses
