"""The settings of self-play, written to `config.toml` in its folder, fully resolved."""

from __future__ import annotations

import importlib.resources
import tomllib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from moemcts.errors import unknown_name
from moemcts.learn.loop.config import GamesConfig, PaceConfig, PromotionConfig, ReplayConfig, TargetsConfig
from moemcts.learn.training.config import TrainerConfig
from moemcts.naming import is_timed
from moemcts.plugins import plugins
from moemcts.runs.settings import RunConfig
from moemcts.search.config import SearchConfig
from moemcts.sections import Idle, Replaces, Section
from moemcts.work.ray_workers import LOCAL_RAY

GAME_PRESETS = "selfplay"
"""The key under which a game's presets hold its complete presets of self-play."""
_ALIKE = "expected reproducible games"


_MEASURED = Idle(games=(0,))


class GauntletConfig(Section):
    """How generations are evaluated: against fixed opponents from fixed openings, and against each other."""

    every: Annotated[int, _MEASURED] = Field(default=5, ge=1)
    """Interval between measured generations; the last one is always measured."""
    games: int = Field(default=40, ge=0)
    """Games against each opponent; 0 measures nothing."""
    opponents: list[str] = Field(default_factory=list)
    """Fixed agents, such as `uct?simulations=1000` or experts in a folder; the backend of experts is recorded with
    them."""
    previous: bool = True
    """Whether each measured generation also plays the previously measured one."""
    simulations: Annotated[int | None, _MEASURED] = Field(default=None, ge=0)
    """Simulations of the experts; those of `search` if not given, 0 for the policy alone."""
    openings: Annotated[str, _MEASURED, Replaces("random_plies")] = ""
    """A file of start positions; empty uses the game's own."""
    random_plies: Annotated[int | None, _MEASURED] = Field(default=None, ge=0)
    """Random plies before games from the game's own start positions; by default four if these are all alike, else
    none."""
    parallel: int = Field(default=128, ge=1)
    """Games that run at once in one process and share batches. If there are more games than this, processes divide
    them."""


class SelfPlayConfig(RunConfig):
    """Settings of self-play: experts that learn from their own games."""

    gate: str = "none"
    """The gate, with one expert per phase; `none` trains a single network."""
    scheme: str = "separated"
    """What each expert learns from."""
    generations: int = Field(default=20, ge=1, le=9999)
    """How many times games are played and learned from."""
    start: str = ""
    """A folder of initial experts, one per phase of the gate, or a single network for all phases; empty starts from
    random weights."""
    keep: int = Field(default=1, ge=1)
    """Interval between generations whose experts are kept when they are no longer needed; the last and the measured
    ones are always kept. Games are kept while they are in the replay window."""
    workers: Annotated[int, Field(ge=0)] | str = 1
    """Processes that play; 0 uses one per core. `ray` uses Ray actors on this machine, `ray://HEAD:PORT` those of a
    cluster. The results do not depend on it."""
    games: GamesConfig = GamesConfig()
    search: SearchConfig = SearchConfig(noise_fraction=0.25, temperature=1.0, temperature_plies=10)
    replay: ReplayConfig = ReplayConfig()
    targets: TargetsConfig = TargetsConfig()
    training: TrainerConfig = TrainerConfig(keep="last")
    learning: PaceConfig = PaceConfig()
    promotion: PromotionConfig = PromotionConfig()
    gauntlet: GauntletConfig = GauntletConfig()

    def idle(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        """Yields also settings that have no effect because of other sections."""
        for path, reason in super().idle(prefix):
            # Without a search, moves are drawn from the policy at this temperature at every ply.
            if self.games.searched or path != f"{prefix}search.temperature":
                yield path, reason
        if self.learning.steps is not None:
            yield f"{prefix}training.epochs", f"with {prefix}learning.steps={self.learning.steps}"

    @model_validator(mode="before")
    @classmethod
    def _over_own_defaults(cls, given: object) -> object:
        """Merges the given values of a section into the section's defaults for self-play, where these differ."""
        if not isinstance(given, Mapping):
            return given
        values = dict(given)
        for name, field in cls.model_fields.items():
            if isinstance(field.default, BaseModel) and isinstance(section := values.get(name), Mapping):
                own = field.default.model_dump(exclude_unset=True)
                if section.get("root") == "gumbel":
                    # This root adds noise of its own.
                    own["noise_fraction"] = 0.0
                values[name] = own | dict(section)
        return values

    @field_validator("workers", mode="before")
    @classmethod
    def _workers_are_known(cls, given: object) -> object:
        is_address = isinstance(given, str) and (given == LOCAL_RAY or given.startswith(f"{LOCAL_RAY}://"))
        if not is_address and not (isinstance(given, int) and given >= 0):
            raise ValueError(f"expected a number of processes, at least 0, or ray or ray://HEAD:PORT, got {given!r}")
        return given

    @model_validator(mode="after")
    def _is_repeatable(self) -> Self:
        if self.search.seconds is not None:
            raise ValueError(f"{_ALIKE}: limit search by simulations, not seconds")
        for name in ("opponents", "opponent_model"):
            if is_timed(reference := getattr(self.games, name)):
                raise ValueError(f"{_ALIKE}: limit games.{name} by simulations, not by the clock, got {reference!r}")
        return self

    @model_validator(mode="after")
    def _runs_new_weights(self) -> Self:
        if self.games.precision == "int8":
            raise ValueError(
                "expected games.precision float32, bf16 or auto, got 'int8': its models are exported from "
                "finished experts, and every generation has new ones"
            )
        return self

    @model_validator(mode="after")
    def _says_what_to_learn(self) -> Self:
        games = self.games
        if self.search.smart_pruning:
            raise ValueError(
                "expected visits to learn from: with smart_pruning a search ends as soon as its move is certain, "
                "and its visits say less; set search.smart_pruning=false"
            )
        is_counted = (self.search.simulations or games.fast_simulations) is not None
        if games.searched and games.full_share < 1 and not is_counted:
            raise ValueError(
                "expected games.fast_simulations or search.simulations with "
                f"games.full_share={games.full_share:g}, got neither: a limit of nodes does not say how many "
                "simulations quick searches get"
            )
        full, fast = self.search.simulations, games.fast_simulations
        if games.searched and games.full_share < 1 and full is not None and fast is not None and fast > full:
            raise ValueError(
                f"expected games.fast_simulations of at most search.simulations, {full:,}, got {fast:,}: with "
                f"games.full_share={games.full_share:g} the others are quick, and only full searches are learned from"
            )
        return self


def preset_names(game: str) -> list[str]:
    """Returns the presets of self-play: those for every game, smallest first, then those of this game."""
    return list(_presets(game))


def load_preset(game: str, name: str) -> dict[str, Any]:
    """Returns the values of a preset for a game; raises UsageError if it is unknown."""
    presets = _presets(game)
    if name not in presets:
        raise unknown_name("preset", name, presets)
    return presets[name]


def _presets(game: str) -> dict[str, dict[str, Any]]:
    text = importlib.resources.files("moemcts.runs").joinpath("selfplay.toml").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = tomllib.loads(text)
    return found | dict(plugins().game_preset(game, GAME_PRESETS))
