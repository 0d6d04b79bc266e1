"""What a run is made of; written to `config.toml` of its folder, fully resolved."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator

from moemcts.dotted import flat, leaves, lookup
from moemcts.errors import UsageError, first_fault, shortened, unknown_name
from moemcts.learn.training.config import TrainerConfig
from moemcts.naming import usual_gate
from moemcts.plugins import plugins
from moemcts.runs.arms import Arm, make_arms
from moemcts.search.config import SearchConfig
from moemcts.sections import LATER, Idle, Section

WITHOUT_EFFECT = {
    "data.folder": ("data.games", "data.reader", "data.agent", "data.against", "data.keep", "data.random_plies"),
    "data.games": ("data.agent", "data.against", "data.keep", "data.random_plies"),
    "data.validation": ("training.validation_fraction",),
    "match.openings": ("match.random_plies",),
    "games.samples": ("games.games",),
    "gauntlet.openings": ("gauntlet.random_plies",),
}
"""Settings, and those that have no effect where they are set."""
SAMPLES = 200_000
"""Decisions of the games that are played where no preset says how many."""

LARGEST = 1e15
"""The largest number that a setting may have: far below what the machine's own numbers hold."""
LARGEST_SEED = 2**32 - 1
MOST_SEEDS = 1000
"""With the largest seed, start positions still have numbers of 63 bits."""
NULL = "null"
"""What stands for no value, where there is one by default; also on the command line."""
_QUOTED = re.compile("'([^']*)'")
_SHOULD_BE = "Input should be "


class DataConfig(Section):
    """Where the training games come from."""

    folder: str = ""
    """A dataset that is there already, such as imported games, to learn from instead of playing games; of an import
    with splits, all of them are used."""
    validation: str = ""
    """A dataset to measure the held-out loss on; empty holds out a share of the games."""
    test: str = ""
    """A dataset for the tables; empty takes what is held out."""
    games: str = ""
    """A file of games, such as PGN, that is imported first, to learn from instead of playing games."""
    reader: Annotated[str, Idle(games=("",))] = ""
    """How that file is read, with options such as `pgn?min_elo=2200&validation=0.05`; by its ending where empty."""
    samples: int | None = Field(default=None, ge=100)
    """Decisions to learn from; of games that are there already, whole games drawn at random up to about so many, all
    where nothing is said."""
    agent: str = ""
    """Who plays the training games in every seat: an agent, or a folder of experts to learn from the searches of.
    Empty takes the game's default agent."""
    against: str = ""
    """Who sits in all seats but one of these games, in which `agent` does: then that one's decisions alone count."""
    keep: float = Field(default=1.0, gt=0, le=1)
    """Share of the positions that is kept: fewer of more games teach the value more."""
    random_plies: int = Field(default=0, ge=0)
    """Plies at random before the games that are played, so that those of agents that draw nothing differ."""

    @property
    def is_given(self) -> bool:
        """Whether there are games already."""
        return bool(self.folder or self.games)

    @property
    def to_play(self) -> int:
        """How many decisions are played; none where there are games already."""
        return 0 if self.is_given else self.samples or SAMPLES

    def describe(self) -> str:
        """Returns where the samples come from, in words."""
        if not self.is_given:
            return f"{self.to_play:,} samples"
        return (self.folder or self.games) + (f" ({self.samples:,} samples)" if self.samples else "")


class MatchConfig(Section):
    """How the arms are compared."""

    games: int = Field(default=100, ge=2)
    """Games per arm and training seed; every arm plays the same boards from the same seats."""
    raw_games: int = Field(default=0, ge=0)
    """Games of the arms' networks without search; 0 leaves them out."""
    field: str = ""
    """Who sits in the other seats: an agent, a folder of experts, or `single` for the single network. Empty takes the
    game's default agent, and the single network where it declares none."""
    openings: str = ""
    """A file of start positions, one per line; the game's own where empty."""
    random_plies: int | None = Field(default=None, ge=0)
    """Moves at random before the games from the game's own start positions; four by default where these are all alike,
    else none."""
    opponent_model: str = ""
    """Who the search believes to sit there; empty takes the field, in place of experts the game's default agent; `self`
    searches for every seat."""
    parallel: int = Field(default=128, ge=1)
    """Games that run at once and share batches."""
    backend: str = "torch"
    """What runs the networks: torch, onnxruntime, openvino, or auto, in place of which the quickest is written down."""
    precision: Annotated[str | None, LATER] = None
    """What networks compute in: float32 if not given, bf16, int8 of exported models, or auto, in place of which the
    quicker of the first two is written down."""
    device: Annotated[str, LATER] = "cpu"
    """Where the networks of the games run: cpu, cuda, cuda:1, ... or auto, in place of which is written down what there
    is. Processes that play share a GPU."""


class RunConfig(Section):
    """What every run has."""

    game: str
    """A registered game, with options: `name?option=value`."""
    network: str = "rise-tiny"
    """A registered network."""
    seed: int = Field(default=0, ge=0, le=LARGEST_SEED)
    """Decides everything that is random."""
    summary: str = ""
    """What the preset is for."""
    if TYPE_CHECKING:
        # Each kind of run declares them where its files have them.
        training: TrainerConfig = TrainerConfig()
        start: str = ""

    @property
    def all_networks(self) -> list[str]:
        """The networks that it trains."""
        return [self.network]

    def filled(self) -> Self:
        """Returns the settings with values in place of defaults that depend on other settings."""
        return self

    def resolved_settings(self) -> dict[str, Any]:
        """Returns all settings that have an effect, as TOML has them: `validate` returns the same settings again."""
        filled = self.filled()
        values = filled.model_dump(mode="json", exclude_none=True)
        for name, section in filled:
            if isinstance(section, BaseModel):
                values[name] |= dict.fromkeys(_taken_away(section), NULL)
        for master, idle in WITHOUT_EFFECT.items():
            if lookup(values, master):
                for path in idle:
                    section, key = path.split(".")
                    values[section].pop(key, None)
        return values


class LearningConfig(RunConfig):
    """How experts are made from games."""

    start: str = ""
    """What trainings begin with, a training, a folder of experts or `weights:NAME`, whose network is taken: experts of
    the same gate, or a single network for all phases; new weights where empty."""
    data: DataConfig = DataConfig()
    training: TrainerConfig = TrainerConfig()

    def filled(self) -> Self:
        """Returns the settings with the number of samples that is played where none is named."""
        if self.data.is_given:
            return self
        return self.model_copy(update={"data": self.data.model_copy(update={"samples": self.data.to_play})})

    def resolved_settings(self) -> dict[str, Any]:
        """Returns all settings that have a value and an effect, as TOML has them."""
        values = super().resolved_settings()
        data = values["data"]
        # Files did not have these before: where they say nothing they are left out.
        later = ("games", "reader", "against", "random_plies")
        values["data"] = {key: value for key, value in data.items() if value or key not in later}
        return {key: value for key, value in values.items() if value or key != "start"}


class TrainingConfig(LearningConfig):
    """One set of experts."""

    gate: str = "none"
    """The gate whose phases have one expert each; `none` makes a single network."""
    scheme: str = "separated"
    """How the experts are made."""
    baseline: str = ""
    """Experts to compare with: a training, a folder of experts or `weights:NAME`; empty for none."""


class BegunWith(Section):
    """What a run was begun with, before it gained more."""

    gates: int = Field(ge=0)
    """Without `none`."""
    schemes: int = Field(ge=1)


class ExperimentConfig(LearningConfig):
    """One experiment: a single network against one set of experts per gate and scheme, and per network."""

    other_networks: Annotated[list[str], LATER] = Field(default=[])
    """Beside `network`: each makes a single network and experts of its own, such as some of equal cost."""
    single_networks: Annotated[list[str], LATER] = Field(default=[])
    """Beside these: each makes a single network alone, such as a larger one that the experts are compared with."""
    gates: list[str] = Field(default=[])
    """Gates, each of which makes one set of experts; `none` is the single network itself. Empty takes the game's
    default gate, `plies` where it declares none, and the run writes it."""
    schemes: list[str] = Field(default=["separated"], min_length=1)
    """How the experts are made; each scheme makes one set of experts for each gate."""
    gate_names: Annotated[list[str], LATER] = Field(default=[])
    """What tables and folders call the gates: as they were written, where `gates` say more. The run writes both."""
    begun_with: Annotated[BegunWith | None, LATER] = None
    """With how many gates and schemes, where it has gained others since that its first arms are not called by."""
    num_seeds: int = Field(default=3, ge=1, le=MOST_SEEDS)
    """Trainings from different random weights: of `seed` and of the numbers after it."""
    workers: int = Field(default=0, ge=0)
    """Processes that train and play; 0 takes one per core. Results are the same."""
    search: SearchConfig = SearchConfig()
    match: MatchConfig = MatchConfig()

    @property
    def networks(self) -> list[str]:
        """The networks of the experts, that of the single network which all are compared with first."""
        return [self.network, *self.other_networks]

    @property
    def all_networks(self) -> list[str]:
        """The networks of the experts, and those of single networks alone."""
        return [*self.networks, *self.single_networks]

    @property
    def training_seeds(self) -> range:
        """The seed of each training."""
        return range(self.seed, self.seed + self.num_seeds)

    def filled(self) -> Self:
        """Returns the settings with the game's default gate too where no gate is named."""
        filled = super().filled()
        return filled if self.gates else filled.model_copy(update={"gates": [usual_gate(plugins().game(self.game))]})

    def arms(self) -> list[Arm]:
        """Returns what is compared."""
        begun = (self.begun_with.gates, self.begun_with.schemes) if self.begun_with else None
        return make_arms(self.networks, self.gates, self.schemes, self.gate_names, self.single_networks, begun)

    @model_validator(mode="after")
    def _arms_fit(self) -> Self:
        if self.start and (others := self.all_networks[1:]):
            raise ValueError(f"expected one network, that of {self.start}, got also {', '.join(others)}")
        lists = {"gates": self.gates, "schemes": self.schemes, "gate_names": self.gate_names}
        for kind, names in (lists | {"networks": self.all_networks}).items():
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise ValueError(f"expected different {kind}, got {twice!r} twice")
        made = [plugins().scheme(name) for name in self.schemes]
        for i, scheme in enumerate(made):
            if scheme in made[:i]:
                here = self.schemes[made.index(scheme)]
                raise ValueError(f"expected different schemes, got {here!r} and, in other words, {self.schemes[i]!r}")
        return self


Config = TypeVar("Config", bound=RunConfig)


def validate(values: Mapping[str, Any], kind: type[Config]) -> Config:
    """Returns the configuration; raises UsageError naming the entry that is wrong."""
    _check_numbers(values)
    try:
        config = kind.model_validate(_with_none(values))
        # Numbers may be written as words, such as inf.
        _check_numbers(config.model_dump())
        return config
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            # Of a section that there is not, what was to be set in it is named too: that says which one was meant.
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
            # A value may be of several kinds, each of which has a complaint of its own.
            told = [one["msg"] for one in error.errors() if one["loc"][:-1] == tuple(parents)]
            kinds = " or ".join(text.partition(",")[0].removeprefix(_SHOULD_BE) for text in told)
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
    """Returns tables of a file as what they stand for; raises UsageError naming the entry that is wrong."""
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        raise UsageError(first_fault(error)) from None


def _section(path: str, kind: type[RunConfig]) -> str:
    """Returns what a section is, with one of its settings as an example."""
    own = [name for name in setting_names(kind) if name.startswith(f"{path}.")]
    example = next((f"{name}={value}" for name in own if (value := default_of(kind, name))), None)
    return f"a setting of this section, such as {example}" if example else "a table"


def _taken_away(section: BaseModel) -> list[str]:
    """Returns the settings without a value that have one by default: left out, they would have that again."""
    fields = type(section).model_fields
    return [key for key, value in section if value is None and fields[key].default is not None]


def _with_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values with None in place of the word for it, which TOML has none of its own for."""
    found = {}
    for key, value in values.items():
        found[key] = _with_none(value) if isinstance(value, Mapping) else None if value == NULL else value
    return found


def _check_numbers(values: Mapping[str, Any]) -> None:
    for path, value in leaves(values):
        if isinstance(value, int | float) and not abs(value) <= LARGEST:
            raise UsageError(f"{path}: expected a number up to {LARGEST:.0e}, got {shortened(value)}")


def setting_names(kind: type[RunConfig]) -> list[str]:
    """Returns the dotted paths of all settings."""
    names = []
    for name, field in kind.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            names += [f"{name}.{key}" for key in section.model_fields]
        else:
            names.append(name)
    return names


def default_of(kind: type[RunConfig], path: str) -> Any:
    """Returns the value that the setting at a dotted path has where nothing is said; None where there is none."""
    fields: Any = kind.model_fields
    *sections, key = path.split(".")
    for section in sections:
        field = fields.get(section)
        if field is None or not isinstance(field.annotation, type) or not issubclass(field.annotation, BaseModel):
            return None
        fields = field.annotation.model_fields
    return fields[key].get_default(call_default_factory=True) if key in fields else None
