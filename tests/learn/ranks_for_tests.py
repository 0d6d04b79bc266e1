"""A training in one process, or in as many as `torchrun` starts with this file."""

import sys
from pathlib import Path
from typing import Any

import torch
from learning_games import TicTacToe, thirds
from torch import nn
from training_for_tests import config

from moemcts.learn.data.dataset import Dataset
from moemcts.learn.schemes.catalogue import Separated
from moemcts.learn.training.ranks import connected
from moemcts.learn.training.trainer import Trainer


class Plain(nn.Module):
    """Has no batch norm, whose statistics would differ between processes."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(2, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(), nn.Flatten())
        self.policy, self.value = nn.Linear(72, 9), nn.Linear(72, 1)

    def forward(self, planes: torch.Tensor) -> Any:
        body = self.body(planes)
        return self.policy(body), self.value(body).tanh()[:, 0]


def learn(data: Path, folder: Path) -> None:
    """Trains with steps large enough to cause spikes."""
    settings = config(spike=1.01, max_spikes=30, optimiser="sgd", learning_rate=0.2, batch_size=33, epochs=6)
    with connected("cpu") as ranks:
        Separated().fit(Trainer(settings, ranks=ranks), Plain, Dataset.open(data, TicTacToe()), thirds(), folder)


if __name__ == "__main__":
    torch.set_num_threads(1)
    learn(Path(sys.argv[1]), Path(sys.argv[2]))
