"""What an experiment is made of; written to `config.toml` of its folder, fully resolved."""

from __future__ import annotations

import importlib.resources
import tomllib
from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from moemcts.errors import UsageError, unknown_name
from moemcts.learn.config import TrainerConfig
from moemcts.search.config import SearchConfig


class Section(BaseModel):
    """A part of the configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class DataConfig(Section):
    """Where the training games come from."""

    folder: str = ""
    """A dataset that is there already, such as imported games, to learn from instead of playing games."""
    samples: int = Field(default=200_000, ge=100)
    """Decisions to learn from."""
    agent: str = ""
    """Who plays the training games in every seat; empty takes the game's default agent."""
    keep: float = Field(default=1.0, gt=0, le=1)
    """Share of the positions that is kept: fewer of more games teach the value more."""


class MatchConfig(Section):
    """How the arms are compared."""

    games: int = Field(default=100, ge=2)
    """Games per arm and training seed; every arm plays the same boards from the same seats."""
    raw_games: int = Field(default=0, ge=0)
    """Games of the arms' networks without search; 0 leaves them out."""
    field: str = ""
    """Who sits in the other seats; empty takes the game's default agent."""
    opponent_model: str = ""
    """Who the search believes to sit there; empty takes the field, `self` searches for every seat."""
    parallel: int = Field(default=128, ge=1)
    """Games that run at once and share batches."""
    backend: str = "torch"
    """What runs the networks: torch, onnxruntime, openvino, or auto, in place of which the quickest is written down."""


class ExperimentConfig(Section):
    """One experiment: a single network against one set of experts per gate."""

    game: str
    """A registered game, with options: `name?option=value`."""
    gates: list[str] = Field(default=["none"], min_length=1)
    """Gates, each of which makes one set of experts; `none` is the single network itself."""
    scheme: str = "separated"
    """How the experts are made."""
    network: str = "rise-tiny"
    """A registered network."""
    seed: int = Field(default=0, ge=0)
    """Decides everything that is random."""
    num_seeds: int = Field(default=3, ge=1)
    """Trainings from different random weights."""
    workers: int = Field(default=0, ge=0)
    """Processes that train and play; 0 takes one per core. Results are the same."""
    summary: str = ""
    """What the preset is for."""
    data: DataConfig = DataConfig()
    training: TrainerConfig = TrainerConfig()
    search: SearchConfig = SearchConfig()
    match: MatchConfig = MatchConfig()

    @model_validator(mode="after")
    def _gates_differ(self) -> Self:
        if len(set(self.gates)) < len(self.gates):
            raise ValueError(f"expected different gates, got {', '.join(self.gates)}")
        return self


def preset_names() -> list[str]:
    """Returns the presets, the smallest first."""
    return list(_presets())


def load_preset(name: str) -> dict[str, Any]:
    """Returns the values of a preset; raises UsageError for an unknown one."""
    presets = _presets()
    if name not in presets:
        raise unknown_name("preset", name, presets)
    values: dict[str, Any] = presets[name]
    return values


def merge(values: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values with changes that are named by dotted paths, such as `search.simulations`."""
    for path, value in changes.items():
        *sections, key = path.split(".")
        table = values
        for section in sections:
            table = table.setdefault(section, {})
            if not isinstance(table, dict):
                raise UsageError(f"expected a section in {path!r}, but {section!r} is a value")
        table[key] = value
    return values


def validate(values: Mapping[str, Any]) -> ExperimentConfig:
    """Returns the configuration; raises UsageError naming the entry that is wrong."""
    try:
        return ExperimentConfig.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            raise unknown_name("setting", path, setting_names()) from None
        raise UsageError(f"{path or 'configuration'}: {first['msg']}, got {first['input']!r}") from None


def setting_names() -> list[str]:
    """Returns the dotted paths of all settings."""
    names = []
    for name, field in ExperimentConfig.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            names += [f"{name}.{key}" for key in section.model_fields]
        else:
            names.append(name)
    return names


def _presets() -> dict[str, Any]:
    text = importlib.resources.files("moemcts.experiment").joinpath("presets.toml").read_text()
    return tomllib.loads(text)
