"""Trainings that take a second, and functions to compare them."""

import json
from pathlib import Path
from typing import Any

import torch
from learning_games import thirds
from torch import nn

from moemcts.learn.data.dataset import Dataset
from moemcts.learn.networks import catalogue
from moemcts.learn.schemes.catalogue import Staged
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.progress import OnProgress, Progress
from moemcts.learn.training.stages import Stage
from moemcts.learn.training.trainer import Trained, Trainer

EVERYTHING = [Stage(weights=(1.0, 1.0, 1.0))]


class Forgetful(nn.Module):
    """A network with dropout: its training draws random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.body = catalogue.resnet((2, 3, 3), 9, channels=4, blocks=1)
        self.dropout = nn.Dropout2d(0.3)

    def forward(self, planes: torch.Tensor) -> Any:
        return self.body(self.dropout(planes))


def config(**changes: Any) -> TrainerConfig:
    small = {"epochs": 2, "batch_size": 32, "validation_interval": 7, "save_interval": 5, "validation_fraction": 0.2}
    return TrainerConfig(**{**small, "device": "cpu", "threads": 1, **changes})


def fit_staged(data: Dataset, folder: Path, settings: TrainerConfig, watch: OnProgress) -> list[Trained]:
    return Staged().fit(Trainer(settings, on_progress=watch), Forgetful, data, thirds(), folder).trained


def small_network(channels: int = 4, *, shape: tuple[int, ...] = (2, 3, 3)) -> nn.Module:
    """Returns a network with the same weights regardless of the state of the generator."""
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return catalogue.resnet(shape, 9, channels=channels, blocks=1)


def quiet(progress: Progress) -> None:
    pass


def weights(trained: list[Trained]) -> list[torch.Tensor]:
    return [tensor for one in trained for tensor in one.network.state_dict().values()]


def same(a: list[Trained], b: list[Trained]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(weights(a), weights(b), strict=True))


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
