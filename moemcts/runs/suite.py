"""Suites: experiments over games, gates, schemes, budgets and seeds; each game and seed is a run of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from moemcts.dotted import flat, merge
from moemcts.errors import MoemctsError, UsageError, unknown_name
from moemcts.experts import EACH, ROUTING_NAMES
from moemcts.plugins import plugins
from moemcts.runs.arms import file_label
from moemcts.runs.presets import layered, load_preset
from moemcts.runs.programs import refuse_programs
from moemcts.runs.settings import ExperimentConfig, validate, validate_tables
from moemcts.sections import Frozen
from moemcts.store import read_toml

OWN = EACH.name
"""The routing that experiments use: every position is evaluated by its own phase's expert."""
_NOT_DECIDING = ("summary", "match.parallel")


class SuiteGame(Frozen):
    """A game of a suite."""

    name: str
    """Its reference, with options."""
    gates: tuple[str, ...] = ()
    """Overrides the gates of the size."""
    routings: tuple[str, ...] = ()
    """Overrides the routings of the size."""
    settings: Mapping[str, Any] = Field(default_factory=dict)
    """Settings of its experiments, by dotted path or as tables; they override those of the size."""


class SuiteSize(Frozen):
    """A suite at one size."""

    summary: str
    games: tuple[SuiteGame, ...] = Field(min_length=1)
    gates: tuple[str, ...] = ("plies",)
    schemes: tuple[str, ...] = ("separated",)
    budgets: tuple[Annotated[int, Field(ge=1)], ...] = Field(default=(50,), min_length=1)
    """Simulations per move."""
    routings: tuple[str, ...] = (OWN,)
    """Routings to play with: how batches are split among experts; experiments use `each`. Their effect on batches is
    measured for all routings."""
    seeds: int = Field(default=1, ge=1)
    preset: str = "smoke"
    settings: Mapping[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True)
class Unit:
    """A game and seed of a suite: the work of one worker."""

    size: SuiteSize
    game: SuiteGame
    seed: int
    suite: str

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"{file_label(self.game.name)}-{self.seed}"

    @property
    def gates(self) -> tuple[str, ...]:
        """The gates of its experiment."""
        return self.game.gates or self.size.gates

    @property
    def played(self) -> list[tuple[int, str]]:
        """The pairs of budget and routing that have rows, starting with that of the experiment itself."""
        size = self.size
        own = (size.budgets[0], OWN)
        pairs = [(budget, routing) for budget in size.budgets for routing in self.game.routings or size.routings]
        return list(dict.fromkeys([own, *pairs]))

    def config(self) -> ExperimentConfig:
        """Returns the settings of its experiment; raises UsageError if they name something that does not exist."""
        return validate(self._values(), ExperimentConfig)

    def decided_by(self) -> dict[str, Any]:
        """Returns the settings of its experiment that must not change once it was begun, by dotted path."""
        return {path: value for path, value in flat(self._values()).items() if path not in _NOT_DECIDING}

    def _values(self) -> dict[str, Any]:
        preset = self.size.preset
        own = {key: value for key, value in plugins().game_preset(self.game.name, preset).items() if key != "needs"}
        values = merge({}, layered(self.game.name, load_preset(preset), own))
        return merge(
            values,
            {
                # Unquoted dotted keys are tables in TOML; they are merged into the preset's sections and do not replace
                # them.
                **flat(self.size.settings),
                **flat(self.game.settings),
                "game": self.game.name,
                "gates": list(self.gates),
                "schemes": list(self.size.schemes),
                "search.simulations": self.size.budgets[0],
                "seed": self.seed,
                "num_seeds": 1,
                "workers": 1,
            },
        )


def read_suite(file: Path, size: str, *, allow_programs: bool = False) -> list[Unit]:
    """Returns the units of a suite file at one size.

    Raises UsageError if it is invalid or if its settings would start programs and this is not allowed: the file may
    come from an untrusted source. Raises DamagedFile if it is not valid TOML.
    """
    if not file.exists():
        raise UsageError(
            f"expected a suite in {file}, found none; use benchmarks/suite.toml, which comes with the source "
            "code, or write one"
        )
    tables = read_toml(file)
    if not tables:
        raise UsageError(f"{file}: expected a table [{size}] with games, got an empty file")
    if size not in tables:
        raise unknown_name("size of a suite", size, tables)
    if not isinstance(tables[size], Mapping):
        raise UsageError(f"{file}: expected a table [{size}] with games, got {tables[size]!r}")
    try:
        suite_size = validate_tables(tables[size], SuiteSize)
    except UsageError as error:
        raise UsageError(f"{file}, [{size}]: {error}") from None
    units = [Unit(suite_size, game, seed, size) for game in suite_size.games for seed in range(suite_size.seeds)]
    names = [unit.name for unit in units]
    if len(set(names)) < len(names):
        raise UsageError(f"{file}: expected different games, got one of them twice")
    for unit in units:
        with prefix_errors(unit):
            config = unit.config()
            if not allow_programs:
                refuse_programs(config, str(file))
            for _, routing in unit.played:
                if routing not in ROUTING_NAMES:
                    raise unknown_name("routing", routing, ROUTING_NAMES)
    return units


def labels(units: Sequence[Unit]) -> str:
    """Returns a description of a suite."""
    size = units[0].size
    games = ", ".join(game.name for game in size.games)
    return f"{size.summary}: {len(size.games)} games ({games}), {size.seeds} seed{'s' * (size.seeds > 1)}"


@contextlib.contextmanager
def prefix_errors(unit: Unit) -> Iterator[None]:
    """Prefixes errors raised in the body with the unit's game."""
    try:
        yield
    except MoemctsError as error:
        kind = UsageError if isinstance(error, UsageError) else MoemctsError
        prefixed = kind(f"{unit.game.name}: {error}")
        prefixed.exit_code = error.exit_code
        raise prefixed from error
