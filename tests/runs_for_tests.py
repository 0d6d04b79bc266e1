"""Small runs for tests."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moemcts.cli.main import main
from moemcts.runs import Experiment, ExperimentConfig
from moemcts.runs.settings import validate
from moemcts.store import read_toml, write_toml

NETWORK = "resnet?channels=4&blocks=1"
SMALL: dict[str, Any] = {
    "game": "tictactoe",
    "network": NETWORK,
    "data": {"samples": 200},
    "training": {"epochs": 1.0, "batch_size": 64},
}
EXPERIMENT = {
    **SMALL,
    "gates": ["plies"],
    "num_seeds": 1,
    "workers": 1,
    "search": {"simulations": 4},
    "match": {"games": 4, "raw_games": 2},
}


def experiment(folder: Path, **changes: Any) -> Experiment:
    return Experiment.create(folder, validate({**EXPERIMENT, **changes}, ExperimentConfig))


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    values = read_toml(folder / "config.toml")
    change(values)
    write_toml(folder / "config.toml", values)


def command(*arguments: object, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["moemcts", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)
