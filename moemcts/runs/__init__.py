"""Runs: folders that hold an experiment or a training with everything it needs, and the parts that make it up."""

from moemcts.runs.experiment.run import Experiment
from moemcts.runs.presets import load_preset
from moemcts.runs.run import Part, Run
from moemcts.runs.settings import ExperimentConfig, TrainingConfig
from moemcts.runs.training import Training

__all__ = ["Experiment", "ExperimentConfig", "Part", "Run", "Training", "TrainingConfig", "load_preset"]
