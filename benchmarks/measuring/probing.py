"""Measures how many samples per second a training processes after the warm-up."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from moemcts.game import Game
from moemcts.learn.training.progress import OnProgress, Progress
from moemcts.learn.training.stage import CHECK_INTERVAL
from moemcts.plugins import plugins
from moemcts.runs.arms import single_arm
from moemcts.runs.learning import train_experts
from moemcts.runs.settings import LearningConfig
from moemcts.runs.sources import Sources


class Probe(NamedTuple):
    """Measurements between two checks of the loss, which synchronise with a GPU."""

    rate: float
    """Samples per second of wall time."""
    waiting: float
    """Share of the time spent waiting for batches."""


def probe_training(
    config: LearningConfig, game: Game, sources: Sources, *, num_steps: int = 304, warm_up: int = 48
) -> Probe:
    """Returns the training speed of a single network in `num_steps` steps after `warm_up` steps.

    Both numbers are rounded up to a multiple of `CHECK_INTERVAL`.
    """
    first, measured = (-(-steps // CHECK_INTERVAL) * CHECK_INTERVAL for steps in (warm_up, num_steps))
    # The last step includes an evaluation, which is left out.
    total = first + measured + 1
    per_epoch = -(-len(sources.training) // config.training.batch_size)
    per_step = len(sources.training) / per_epoch
    # The learning rate does not affect the speed, and a low one cannot diverge in a few steps.
    quiet = {"epochs": total / per_epoch, "learning_rate": 1e-4}
    quiet |= {"validation_interval": total, "save_interval": total + 1}
    marks: dict[int, tuple[float, float]] = {}

    def mark(state: Progress) -> None:
        if state.step in (first, first + measured):
            seconds = state.step * per_step / state.samples_per_second
            marks[state.step] = (time.perf_counter(), seconds * state.waiting)

    # The network's name is completed for the game, as in a training.
    network = plugins().complete_network(config.network, game)
    training = config.training.model_copy(update=quiet)
    train_single(config.model_copy(update={"training": training, "network": network}), game, sources, mark)
    (began, before), (ended, after) = marks[first], marks[first + measured]
    seconds = ended - began
    return Probe(measured * per_step / seconds, (after - before) / seconds)


def train_single(config: LearningConfig, game: Game, sources: Sources, on_progress: OnProgress) -> None:
    """Trains a single network, whose name is complete in the settings, and discards it."""
    with tempfile.TemporaryDirectory() as folder:
        train_experts(
            config,
            game,
            single_arm(config.network),
            plugins().gate("none", game),
            sources,
            training_folder=Path(folder) / "training",
            experts_folder=Path(folder) / "experts",
            start=Path(config.start),
            on_progress=on_progress,
        )
