"""The experiment: data, experts, matches and a report, for any game and gate."""

from moemcts.runs.experiment import Experiment
from moemcts.runs.settings import ExperimentConfig, load_preset

__all__ = ["Experiment", "ExperimentConfig", "load_preset"]
