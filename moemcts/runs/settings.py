"""The settings of runs, written to `config.toml` in a run's folder, fully resolved."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo

from moemcts.dotted import flat, leaves
from moemcts.errors import UsageError, first_fault, shortened, unknown_name
from moemcts.learn.training.config import TrainerConfig
from moemcts.naming import default_gate
from moemcts.plugins import plugins
from moemcts.runs.arms import Arm, make_arms
from moemcts.search.config import SearchConfig
from moemcts.sections import LATER, Idle, Replaces, Section

SAMPLES = 200_000
"""Decisions to play for training if no preset gives a number."""

LARGEST = 1e15
"""The largest absolute value of a setting, far below the limits of machine numbers."""
MAX_SEED = 2**32 - 1
MAX_SEEDS = 1000
"""Chosen so that even with the largest seed, indices of start positions fit into 63 bits."""
_PLAYED = ("agent", "against", "keep", "random_plies")
"""Settings of games that are played to train on."""
NULL = "null"
"""Stands for no value where there is one by default, in files and on the command line."""
_QUOTED = re.compile("'([^']*)'")
_SHOULD_BE = "Input should be "


class DataConfig(Section):
    """Where the training games come from."""

    folder: Annotated[str, Replaces("games", "reader", *_PLAYED)] = ""
    """An existing dataset, such as imported games, to learn from instead of playing games; of an import with splits,
    all splits are used."""
    validation: Annotated[str, Replaces("training.validation_fraction")] = ""
    """A dataset for the held-out loss; empty holds out a share of the games."""
    test: str = ""
    """A dataset for the tables; empty uses the held-out samples."""
    games: Annotated[str, Replaces(*_PLAYED)] = ""
    """A file of games, such as PGN, to import and learn from instead of playing games."""
    reader: Annotated[str, Idle(games=("",))] = ""
    """The reader of that file, with options such as `pgn?min_elo=2200&validation=0.05`; empty selects it by the file's
    extension."""
    samples: int | None = Field(default=None, ge=100)
    """Decisions to learn from; of existing games, whole games drawn at random up to about this number, or all if not
    given."""
    agent: str = ""
    """Who plays the training games in every seat: an agent, or a folder of experts whose searches are learned from.
    Empty uses the game's default agent."""
    against: str = ""
    """Who sits in all seats but one of these games; `agent` has that seat, and only its decisions are learned from."""
    keep: float = Field(default=1.0, gt=0, le=1)
    """Share of the positions that is kept: for the value, fewer positions from more games are better."""
    random_plies: int = Field(default=0, ge=0)
    """Random plies at the start of games that are played, so that games of deterministic agents differ."""

    @property
    def is_given(self) -> bool:
        """Whether existing games are used."""
        return bool(self.folder or self.games)

    @property
    def to_play(self) -> int:
        """The number of decisions to play; 0 if existing games are used."""
        return 0 if self.is_given else self.samples or SAMPLES

    def describe(self) -> str:
        """Returns a description of where the samples come from."""
        if not self.is_given:
            return f"{self.to_play:,} samples"
        return (self.folder or self.games) + (f" ({self.samples:,} samples)" if self.samples else "")


class MatchConfig(Section):
    """How the arms are compared."""

    games: int = Field(default=100, ge=2)
    """Games per arm and training seed; every arm plays the same openings from the same seats."""
    raw_games: int = Field(default=0, ge=0)
    """Games of the arms' networks without search; 0 skips them."""
    field: str = ""
    """Who sits in the other seats: an agent, a folder of experts, or `single` for the single network. Empty uses the
    game's default agent, or the single network if the game declares none."""
    openings: Annotated[str, Replaces("random_plies")] = ""
    """A file of start positions, one per line; empty uses the game's own."""
    random_plies: int | None = Field(default=None, ge=0)
    """Random plies before games from the game's own start positions; by default four if these are all alike, else
    none."""
    opponent_model: str = ""
    """The opponents that the search assumes in the other seats. Empty assumes the field, or the game's default agent if
    the field consists of experts; `self` searches for every seat."""
    parallel: int = Field(default=128, ge=1)
    """Games that run at once and share batches."""
    backend: str = "torch"
    """The inference backend: torch, onnxruntime, openvino, or auto, which is replaced by the fastest."""
    precision: Annotated[str | None, LATER] = None
    """The inference precision: float32 if not given, bf16, int8 for exported models, or auto, which is replaced by the
    faster of the first two."""
    device: Annotated[str, LATER] = "cpu"
    """The device for inference in games: cpu, cuda, cuda:1, ... or auto, which is replaced by what is available.
    Processes that play share a GPU."""


class RunConfig(Section):
    """Settings of every run."""

    game: str
    """A registered game, with options: `name?option=value`."""
    network: str = "rise-tiny"
    """A registered network."""
    seed: int = Field(default=0, ge=0, le=MAX_SEED)
    """The random seed, which decides everything random."""
    summary: str = ""
    """What the preset is for."""
    if TYPE_CHECKING:
        # Subclasses declare these where they belong in the order of the file.
        training: TrainerConfig = TrainerConfig()
        start: str = ""

    @property
    def all_networks(self) -> list[str]:
        """The networks that the run trains."""
        return [self.network]

    def filled(self) -> Self:
        """Returns the settings with defaults that depend on other settings filled in."""
        return self

    def resolved_settings(self) -> dict[str, Any]:
        """Returns all settings that have an effect, ready for TOML; `validate` turns them into equal settings."""
        filled = self.filled()
        values = filled.model_dump(mode="json", exclude_none=True)
        for name, section in filled:
            if isinstance(section, BaseModel):
                values[name] |= dict.fromkeys(_set_to_none(section), NULL)
        for path in replaced(type(self), flat(values)):
            section, key = path.split(".")
            values[section].pop(key, None)
        return values


class LearningConfig(RunConfig):
    """Settings of runs that train experts on games."""

    start: str = ""
    """What trainings start from: a training, a folder of experts or `weights:NAME`, with experts of the same gate or a
    single network for all phases; it also decides `network`. Empty starts from new weights."""
    data: DataConfig = DataConfig()
    training: TrainerConfig = TrainerConfig()

    def filled(self) -> Self:
        """Returns the settings with the number of samples to play filled in."""
        if self.data.is_given:
            return self
        return self.model_copy(update={"data": self.data.model_copy(update={"samples": self.data.to_play})})

    def resolved_settings(self) -> dict[str, Any]:
        """Returns all settings that have a value and an effect, ready for TOML."""
        values = super().resolved_settings()
        data = values["data"]
        # Older files do not have these: they are left out unless they are set.
        later = ("games", "reader", "against", "random_plies")
        values["data"] = {key: value for key, value in data.items() if value or key not in later}
        return {key: value for key, value in values.items() if value or key != "start"}


class TrainingConfig(LearningConfig):
    """Settings of a run that trains one set of experts."""

    gate: str = "none"
    """The gate, with one expert per phase; `none` trains a single network."""
    scheme: str = "separated"
    """How the experts are trained."""
    baseline: str = ""
    """Experts to compare with: a training, a folder of experts or `weights:NAME`; empty for none."""


class BegunWith(Section):
    """What an experiment was begun with before it was extended."""

    gates: int = Field(ge=0)
    """Not counting `none`."""
    schemes: int = Field(ge=1)


class ExperimentConfig(LearningConfig):
    """Settings of an experiment: a single network against one set of experts per gate and scheme, for each network."""

    other_networks: Annotated[list[str], LATER] = Field(default=[])
    """Further networks, each with a single network and experts of its own, such as ones of equal cost."""
    single_networks: Annotated[list[str], LATER] = Field(default=[])
    """Further networks, each with a single network only, such as a larger one to compare the experts with."""
    gates: list[str] = Field(default=[])
    """Gates, each with one set of experts; `none` is the single network itself. Empty uses the game's default gate, or
    `plies` if it declares none; the run fills it in."""
    schemes: list[str] = Field(default=["separated"], min_length=1)
    """How the experts are trained; each scheme trains one set of experts per gate."""
    gate_names: Annotated[list[str], LATER] = Field(default=[])
    """Names of the gates in tables and folders: as originally written, if `gates` holds completed references. The run
    fills in both."""
    begun_with: Annotated[BegunWith | None, LATER] = None
    """The number of gates and schemes that the experiment was begun with, if it was extended since; the names of its
    first arms depend on them."""
    num_seeds: int = Field(default=3, ge=1, le=MAX_SEEDS)
    """Trainings with different random weights: with `seed` and the numbers that follow it."""
    workers: int = Field(default=0, ge=0)
    """Processes that train and play; 0 uses one per core. The results do not depend on it."""
    search: SearchConfig = SearchConfig()
    match: MatchConfig = MatchConfig()

    @property
    def networks(self) -> list[str]:
        """The networks of the experts, starting with that of the single network that all are compared with."""
        return [self.network, *self.other_networks]

    @property
    def all_networks(self) -> list[str]:
        """The networks of the experts, then those trained as single networks only."""
        return [*self.networks, *self.single_networks]

    @property
    def training_seeds(self) -> range:
        """The seed of each training."""
        return range(self.seed, self.seed + self.num_seeds)

    def filled(self) -> Self:
        """Returns the settings with defaults filled in, including the game's default gate."""
        filled = super().filled()
        return filled if self.gates else filled.model_copy(update={"gates": [default_gate(plugins().game(self.game))]})

    def arms(self) -> list[Arm]:
        """Returns the arms to compare."""
        begun = (self.begun_with.gates, self.begun_with.schemes) if self.begun_with else None
        return make_arms(self.networks, self.gates, self.schemes, self.gate_names, self.single_networks, begun)

    @model_validator(mode="after")
    def _arms_fit(self) -> Self:
        if self.start and (others := self.all_networks[1:]):
            raise ValueError(f"expected only the network of {self.start}, got also {', '.join(others)}")
        lists = {"gates": self.gates, "schemes": self.schemes, "gate_names": self.gate_names}
        for kind, names in (lists | {"networks": self.all_networks}).items():
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise ValueError(f"expected different {kind}, got {twice!r} twice")
        schemes = [plugins().scheme(name) for name in self.schemes]
        for i, scheme in enumerate(schemes):
            if scheme in schemes[:i]:
                first = self.schemes[schemes.index(scheme)]
                raise ValueError(
                    f"expected different schemes, got {first!r} and {self.schemes[i]!r}, which is the same one"
                )
        return self


Config = TypeVar("Config", bound=RunConfig)


def validate(values: Mapping[str, Any], kind: type[Config]) -> Config:
    """Returns the configuration; raises UsageError naming the invalid entry."""
    _check_numbers(values)
    try:
        config = kind.model_validate(_with_none(values))
        # Numbers may also be given as words, such as inf.
        _check_numbers(config.model_dump())
        return config
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            # If the section is unknown, name the setting in it too: it tells which section was meant.
            named = next(iter(flat({path: first["input"]})), path)
            table, _, own = named.rpartition(".")
            names = setting_names(kind)
            beside = [name.removeprefix(f"{table}.") for name in names if name.startswith(f"{table}.")]
            if beside:
                raise unknown_name(f"setting of {table}", own, beside) from None
            raise unknown_name("setting", named, names) from None
        if first["type"] == "literal_error" and isinstance(first["input"], str):
            raise unknown_name(path, first["input"], _QUOTED.findall(first["ctx"]["expected"])) from None
        *parents, last = first["loc"] or ("",)
        setting = ".".join(map(str, parents))
        if isinstance(last, str) and setting in setting_names(kind):
            # A value may be of several types, each with an error of its own.
            messages = [detail["msg"] for detail in error.errors() if detail["loc"][:-1] == tuple(parents)]
            kinds = " or ".join(message.partition(",")[0].removeprefix(_SHOULD_BE) for message in messages)
            raise UsageError(f"{setting}: {_SHOULD_BE}{kinds}, got {shortened(first['input'])}") from None
        if first["type"] == "model_type":
            raise UsageError(f"{path}: expected {_section(path, kind)}, got {shortened(first['input'])}") from None
        if first["type"] in ("list_type", "tuple_type"):
            example = (
                f" such as {json.dumps([first['input']])}" if isinstance(first["input"], str | int | float) else ""
            )
            raise UsageError(f"{path}: expected a list{example}, got {shortened(first['input'])}") from None
        raise UsageError(first_fault(error)) from None


Tables = TypeVar("Tables", bound=BaseModel)


def validate_tables(values: Mapping[str, Any], kind: type[Tables]) -> Tables:
    """Returns tables of a file as a model; raises UsageError naming the invalid entry."""
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        raise UsageError(first_fault(error)) from None


def _section(path: str, kind: type[RunConfig]) -> str:
    """Returns what is expected for a section, with one of its settings as an example."""
    own = [name for name in setting_names(kind) if name.startswith(f"{path}.")]
    example = next((f"{name}={value}" for name in own if (value := default_of(kind, name))), None)
    return f"a setting of this section, such as {example}" if example else "a table"


def _set_to_none(section: BaseModel) -> list[str]:
    """Returns the settings that are None but have another default, which they would get if they were left out."""
    fields = type(section).model_fields
    return [key for key, value in section if value is None and fields[key].default is not None]


def _with_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values with `NULL` replaced by None, for which TOML has no value."""
    replaced_values: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            replaced_values[key] = _with_none(value)
        else:
            replaced_values[key] = None if value == NULL else value
    return replaced_values


def _check_numbers(values: Mapping[str, Any]) -> None:
    for path, value in leaves(values):
        if isinstance(value, int | float) and not abs(value) <= LARGEST:
            raise UsageError(f"{path}: expected a number up to {LARGEST:.0e}, got {shortened(value)}")


def setting_names(kind: type[RunConfig]) -> list[str]:
    """Returns the dotted paths of all settings."""
    return list(_fields(kind))


def default_of(kind: type[RunConfig], path: str) -> Any:
    """Returns the default of the setting at a dotted path; None if there is none."""
    field = _fields(kind).get(path)
    return None if field is None else field.get_default(call_default_factory=True)


def replaced(kind: type[RunConfig], given: Mapping[str, Any]) -> dict[str, str]:
    """Returns the settings without effect beside those given, and for each the one that replaces it, by dotted path."""
    found = dict[str, str]()
    for path, field in _fields(kind).items():
        for mark in field.metadata:
            if isinstance(mark, Replaces) and given.get(path):
                section, _, _ = path.rpartition(".")
                found |= {other: path for other in mark.paths(section) if other not in found}
    return found


def _fields(kind: type[RunConfig]) -> dict[str, FieldInfo]:
    """Returns the field of each setting, by dotted path."""
    found = dict[str, FieldInfo]()
    for name, field in kind.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            found |= {f"{name}.{key}": own for key, own in section.model_fields.items()}
        else:
            found[name] = field
    return found
