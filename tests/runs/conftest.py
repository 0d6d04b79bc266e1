"""Runs that are made once per test file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from figures_for_tests import no_drawing
from runs_for_tests import SMALL, experiment

from moemcts.runs import Training, TrainingConfig
from moemcts.runs.finishing import finish
from moemcts.runs.settings import validate
from moemcts.work.progress import NoProgress

__all__ = ["no_drawing"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "experiment"
    finish(experiment(folder), NoProgress())
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "training"
    finish(Training.create(folder, validate({**SMALL, "gate": "plies"}, TrainingConfig)), NoProgress())
    return folder


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "copy"))
