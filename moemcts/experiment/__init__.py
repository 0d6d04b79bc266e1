"""The experiment: data, experts, matches and a report, for any game and gate."""

from moemcts.experiment.config import ExperimentConfig, load_preset
from moemcts.experiment.run import Experiment

__all__ = ["Experiment", "ExperimentConfig", "load_preset"]
