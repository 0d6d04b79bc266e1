"""The network that trainings begin with, where it has learned already."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from moemcts.errors import UsageError
from moemcts.game import Game
from moemcts.naming import experts_in
from moemcts.plugins import plugins
from moemcts.runs.settings import ExperimentConfig, LearningConfig

if TYPE_CHECKING:
    from torch import nn

Config = TypeVar("Config", bound=LearningConfig)


def with_start(config: Config) -> Config:
    """Returns the configuration with where the network lies that its trainings begin with, and which one it is.

    Raises UsageError where that is no single network, or where others are to be trained beside it; MoemctsError where
    there is none, and as `load_networks`.
    """
    if not config.start:
        return config
    if isinstance(config, ExperimentConfig) and config.all_networks[1:]:
        raise UsageError(f"expected one network, that of {config.start}, got also {', '.join(config.all_networks[1:])}")
    folder = experts_in(config.start)
    _, reference = _single(folder, plugins().game(config.game))
    return config.model_copy(update={"start": str(folder.absolute()), "network": reference})


def start_network(config: LearningConfig, game: Game) -> nn.Module:
    """Returns the network that trainings begin with, of a configuration that names one; raises as `with_start`."""
    return _single(Path(config.start), game)[0]


def _single(folder: Path, game: Game) -> tuple[nn.Module, str]:
    """Returns the single network in a folder of experts and its reference."""
    from moemcts.learn.checkpoint import load_networks

    loaded = load_networks(folder, game, plugins())
    if len(loaded.networks) > 1:
        raise UsageError(
            f"expected a single network to begin with, got {len(loaded.networks)} experts by {loaded.gate.name!r} in "
            f"{folder}"
        )
    return loaded.networks[0], str(loaded.manifest["network"])
